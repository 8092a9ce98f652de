"""A pipeline that breaks a rule cannot be started."""

from dataclasses import replace

import pytest

from controller.pipeline import describe
from controller.pipeline.check import PipelineError, check
from controller.pipeline.fields import NETWORK, NEXT_HOP, Field
from controller.pipeline.tables import CLASSIFY, DELIVER, FORWARD, OVERLAY, PIPELINES, Band


def _with(table) -> object:
    tables = tuple(table if table.name == other.name else other for other in OVERLAY.tables)
    return replace(OVERLAY, tables=tables)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_the_shipped_pipelines_are_sound(pipeline) -> None:
    check(pipeline)


@pytest.mark.parametrize(
    ("table", "rule"),
    [
        (replace(DELIVER, next=("forward",)), "deliver goes to forward, which is not behind it"),
        (replace(FORWARD, next=()), "misses to deliver, which is not among its next"),
        (replace(CLASSIFY, matches=("in_port", "colour")), "names colour"),
        (replace(CLASSIFY, writes=("next_hop",)), "names next_hop"),
        (replace(CLASSIFY, bands=(Band("low", 1, 10), Band("high", 10))), "bands low and high overlap"),
        (replace(CLASSIFY, bands=(Band("high", 0x10000),)), "leaves the 16 bits"),
        (replace(DELIVER, number=1), "table numbers must rise"),
    ],
)
def test_a_broken_table_is_named(table, rule: str) -> None:
    with pytest.raises(PipelineError, match=rule):
        check(_with(table))


def test_fields_may_share_bits_only_when_their_lives_do_not_meet(monkeypatch) -> None:
    rival = Field("rival", NETWORK.register, 8, 4, "shares bits with the network")
    monkeypatch.setitem(__import__("controller.pipeline.check", fromlist=["FIELDS"]).FIELDS, "rival", rival)
    late = replace(_with(replace(DELIVER, matches=(*DELIVER.matches, "rival"))), fields=(*OVERLAY.fields, rival))
    with pytest.raises(PipelineError, match="fields network and rival share bits"):
        check(late)
    check(replace(OVERLAY, fields=(*OVERLAY.fields, rival)))  # rival is never alive


def test_a_field_that_does_not_fit_its_register_is_refused(monkeypatch) -> None:
    wide = replace(NEXT_HOP, low=20)
    monkeypatch.setitem(__import__("controller.pipeline.check", fromlist=["FIELDS"]).FIELDS, "next_hop", wide)
    with pytest.raises(PipelineError, match="does not fit reg1"):
        check(replace(OVERLAY, fields=(*OVERLAY.fields, wide)))


def test_the_page_is_up_to_date(request) -> None:
    page = request.config.rootpath / "docs" / "pipeline.md"
    assert page.read_text() == describe.document(), "run: python -m controller.pipeline.describe > docs/pipeline.md"

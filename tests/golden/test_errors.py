"""Whole lab files and all that is said about them. After a change of wording run `python tests/golden/test_errors.py`
and review the difference."""

import sys
from pathlib import Path

import pytest

from controller.model.validate import validate
from controller.northbound.labfile import LabFileError, parse
from topologies import spec

FILES = sorted((Path(__file__).parent / "errors").glob("*.yaml"))


def complaints(path: Path) -> str:
    try:
        document = parse(path.read_text(), path.name)
    except LabFileError as error:
        return f"{error}\n"
    fabric, section = document.data.get("fabric"), document.data.get("servers")
    wrong = spec.validate(fabric, section)
    servers = None if wrong else list(spec.servers(spec.build(fabric), section))
    mtu = fabric.get("mtu", spec.DEFAULT_MTU)
    problems = [*document.problems(), *wrong, *validate(document.data.get("tenants"), servers, mtu)]
    return "".join(f"{line}\n" for line in document.problems_as_text(problems))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_errors(path: Path) -> None:
    assert complaints(path) == path.with_suffix(".txt").read_text()


if __name__ == "__main__":
    for file in FILES:
        sys.stdout.write(f"{file.name}\n")
        file.with_suffix(".txt").write_text(complaints(file))

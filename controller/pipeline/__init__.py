"""The OpenFlow program's shape as data: headers, register fields, tables, and the check that they hold together."""

from controller.pipeline.check import check
from controller.pipeline.tables import PIPELINES

for _pipeline in PIPELINES:
    check(_pipeline)

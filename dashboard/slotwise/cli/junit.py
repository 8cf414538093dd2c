"""JUnit XML, as CI servers read it."""
from __future__ import annotations

import xml.etree.ElementTree as xml
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slotwise.cli.ci import Check


def write(path: Path, checks: Sequence[Check]) -> None:
    failed = sum(check.code != 0 for check in checks)
    totals = {"tests": str(len(checks)), "failures": str(failed), "errors": "0", "time": f"{sum(check.seconds for check in checks):.3f}"}
    suites = xml.Element("testsuites", {"name": "slotwise", **totals})
    suite = xml.SubElement(suites, "testsuite", {"name": "slotwise ci", **totals})
    for check in checks:
        case = xml.SubElement(suite, "testcase", {"classname": f"slotwise.{check.kind}", "name": check.name, "time": f"{check.seconds:.3f}"})
        if check.code != 0:
            xml.SubElement(case, "failure", {"message": check.said, "type": f"exit {check.code}"}).text = check.more or check.said
        else:
            xml.SubElement(case, "system-out").text = check.said
    xml.indent(suites)
    path.parent.mkdir(parents=True, exist_ok=True)
    xml.ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)

"""Prints the tests that failed, by a report of pytest (--junit-xml), in the form that pytest takes as arguments."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree


def failed(report: str) -> list[str]:
    cases = ElementTree.parse(report).getroot().iter("testcase")
    return [
        f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]


if __name__ == "__main__":
    print("\n".join(dict.fromkeys(failed(sys.argv[1]))))

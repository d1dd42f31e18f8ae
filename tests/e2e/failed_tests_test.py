"""What is asked again: the tests that failed, or could not even begin, and no others."""

from __future__ import annotations

from pathlib import Path

from e2e.failed_tests import failed

REPORT = """<testsuites><testsuite>
<testcase classname="e2e.gangs_test" name="test_a"/>
<testcase classname="e2e.gangs_test" name="test_b[x y-1]"><failure message="no"/></testcase>
<testcase classname="containers.life_test" name="test_c"><error message="no cluster"/></testcase>
<testcase classname="containers.life_test" name="test_d"><skipped/></testcase>
</testsuite></testsuites>"""


def test_names_what_failed_as_pytest_takes_it(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    assert failed(str(report)) == ["e2e/gangs_test.py::test_b[x y-1]", "containers/life_test.py::test_c"]

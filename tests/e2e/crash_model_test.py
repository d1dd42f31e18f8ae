"""The crash test's own rules: it must not accept what a broken store would show."""

from __future__ import annotations

import pytest

from e2e.crash_model import GONE, Key, content, number_of


def test_a_whole_object_has_its_number() -> None:
    assert number_of(content("a", 7)) == 7


def test_a_half_written_object_is_recognised() -> None:
    item = content("a", 7)
    item["data"]["number"] = "8"
    with pytest.raises(AssertionError, match="half-written"):
        number_of(item)


@pytest.mark.parametrize(
    ("acknowledged", "attempted", "found", "allowed"),
    [
        (5, None, 5, True),
        (5, None, GONE, False),
        (5, None, 4, False),
        (5, 6, 5, True),
        (5, 6, 6, True),
        (5, 6, GONE, False),
        (5, GONE, GONE, True),
        (GONE, 6, GONE, True),
        (GONE, None, 6, False),
    ],
)
def test_what_a_key_may_be_after_a_crash(acknowledged: int, attempted: int | None, found: int, allowed: bool) -> None:
    assert Key(acknowledged, attempted).allows(found) is allowed

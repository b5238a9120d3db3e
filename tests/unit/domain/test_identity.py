"""Additive identity of rows."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.domain.identity import RowsHash, combined_identity


def hashed(rows: list[str]) -> RowsHash:
    """Hash rows as the store does, in Python."""
    lanes = [0, 0, 0, 0]
    for row in rows:
        digest = hashlib.sha256(row.encode()).hexdigest()
        for lane in range(4):
            lanes[lane] += int(digest[16 * lane : 16 * lane + 16], 16)
    return RowsHash.of_sums(len(rows), lanes)


@given(st.lists(st.text(max_size=5), max_size=20), st.randoms(use_true_random=False))
def test_order_does_not_matter(rows: list[str], chance: object) -> None:
    shuffled = list(rows)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]  # Hypothesis types it as object
    assert hashed(rows) == hashed(shuffled)


@given(st.lists(st.text(max_size=5), max_size=20), st.integers(0, 20))
def test_parts_add_up_to_the_whole(rows: list[str], cut: int) -> None:
    assert hashed(rows[:cut]) + hashed(rows[cut:]) == hashed(rows)


def test_a_row_more_twice_or_other_is_another_identity() -> None:
    seen = {hashed(rows).identity("s") for rows in ([], ["a"], ["a", "a"], ["b"], ["a", "b"])}
    assert len(seen) == 5
    assert hashed(["a"]).identity("s") != hashed(["a"]).identity("t")


def test_sums_wrap_at_64_bits() -> None:
    assert RowsHash.of_sums(1, [2**64 + 5, 0, 0, 0]).lanes == (5, 0, 0, 0)


def test_combined_identity_depends_on_names_and_values() -> None:
    assert combined_identity({"a": "1"}) != combined_identity({"b": "1"})
    assert combined_identity({"a": "1"}) != combined_identity({"a": "2"})

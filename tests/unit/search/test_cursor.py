"""Cursors: signed, short-lived, and of one request."""

import base64
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.domain.errors import CursorExpired
from lifehelper_data.domain.search.cursor import (
    LIFETIME,
    Cursor,
    decode_cursor,
    encode_cursor,
    fingerprint,
)

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SECRET = b"s" * 32
MARK = fingerprint({"query": "책"})


def cursor(**changed: object) -> Cursor:
    values: dict[str, object] = {
        "position": 15, "release_id": 7, "fingerprint": MARK, "issued_at": NOW,
    }  # fmt: skip
    return Cursor(**{**values, **changed})  # type: ignore[arg-type] # values of the right types


@given(
    position=st.integers(0, 2**32 - 1),
    release_id=st.integers(1, 2**32 - 1),
    mark=st.binary(min_size=16, max_size=16),
    age_s=st.integers(0, 1800),
)
def test_what_was_written_is_read_back(
    position: int, release_id: int, mark: bytes, age_s: int
) -> None:
    written = Cursor(
        position=position,
        release_id=release_id,
        fingerprint=mark,
        issued_at=NOW - timedelta(seconds=age_s),
    )
    text = encode_cursor(written, SECRET)
    assert decode_cursor(text, SECRET, NOW) == written
    assert all(mark.isalnum() or mark in "-_" for mark in text)


def test_a_cursor_lives_thirty_minutes() -> None:
    text = encode_cursor(cursor(), SECRET)
    assert timedelta(minutes=30) == LIFETIME
    assert decode_cursor(text, SECRET, NOW + timedelta(minutes=30)).position == 15
    with pytest.raises(CursorExpired, match="issued at 2026-11-30 12:00:00 UTC"):
        decode_cursor(text, SECRET, NOW + timedelta(minutes=30, seconds=1))


def test_a_cursor_from_the_future_is_refused() -> None:
    text = encode_cursor(cursor(issued_at=NOW + timedelta(minutes=2)), SECRET)
    with pytest.raises(CursorExpired):
        decode_cursor(text, SECRET, NOW)


def test_another_secret_refuses() -> None:
    with pytest.raises(CursorExpired, match="not issued here"):
        decode_cursor(encode_cursor(cursor(), SECRET), b"t" * 32, NOW)


def test_every_changed_bit_is_refused() -> None:
    raw = base64.urlsafe_b64decode(encode_cursor(cursor(), SECRET) + "==")
    for bit in range(8 * len(raw)):
        changed = bytearray(raw)
        changed[bit // 8] ^= 1 << bit % 8
        text = base64.urlsafe_b64encode(bytes(changed)).decode().rstrip("=")
        with pytest.raises(CursorExpired):
            decode_cursor(text, SECRET, NOW)


def test_another_spelling_of_the_same_bytes_is_refused() -> None:
    text = encode_cursor(cursor(), SECRET)
    for spelled in (text + "=", " " + text, text + "\n", text.replace("-", "+"), text + "A"):
        if spelled != text:
            with pytest.raises(CursorExpired):
                decode_cursor(spelled, SECRET, NOW)


@pytest.mark.parametrize("size", [10_000])
def test_ten_thousand_fuzzed_cursors_are_read_or_expired(size: int) -> None:
    import random

    chance = random.Random(1)
    good = encode_cursor(cursor(), SECRET)
    kinds = ["", good, good[:-1], "가" * 9, "A" * 300, "\x00", "null", "\ud800", "=" * 8]
    read = 0
    for _ in range(size):
        text = list(chance.choice(kinds))
        for _ in range(chance.randrange(3)):
            text.insert(chance.randrange(len(text) + 1), chr(chance.randrange(1, 0x2FF)))
        try:
            decode_cursor("".join(text), SECRET, NOW)
            read += 1
        except CursorExpired as refused:
            assert "\n" not in str(refused)
    assert 0 < read < size / 2


def test_a_fingerprint_depends_on_every_value_and_not_on_their_order() -> None:
    one = fingerprint({"query": "책", "sort": "newest"})
    assert one == fingerprint({"sort": "newest", "query": "책"})
    assert one != fingerprint({"query": "책", "sort": "popular"})
    assert one != fingerprint({"query": "책 ", "sort": "newest"})
    assert len(one) == 16

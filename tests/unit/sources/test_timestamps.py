from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.domain.contract import Kind
from lifehelper_data.sources.casting import CastRules
from tests.unit.sources.cast_kit import NOW, OFFSETS_ONLY, SEOUL, of_kind, outcome

TIME = of_kind(Kind.TIMESTAMP)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05"),
        ("2026-01-02T03:04:05z", "2026-01-02T03:04:05"),
        ("2026-01-02 03:04:05+00", "2026-01-02T03:04:05"),
        ("2026-01-02 03:04:05 +00:00", "2026-01-02T03:04:05"),
        (" 2026-01-02T03:04Z ", "2026-01-02T03:04:00"),
        ("2026-01-02T03:04:05+09:00", "2026-01-01T18:04:05"),
        ("2026-01-02T03:04:05+0900", "2026-01-01T18:04:05"),
        ("2026-01-02T03:04:05+09", "2026-01-01T18:04:05"),
        ("2026-01-02T03:04:05-03:30", "2026-01-02T06:34:05"),
        ("2026-01-02T03:04:05+18:00", "2026-01-01T09:04:05"),
        ("2026-01-02T03:04:05-18:59", "2026-01-02T22:03:05"),
        ("2026-01-02T03:04:05.1Z", "2026-01-02T03:04:05.100000"),
        ("2026-01-02T03:04:05,123456Z", "2026-01-02T03:04:05.123456"),
        ("2026-01-02T03:04:05.1234569Z", "2026-01-02T03:04:05.123456"),  # cut, not rounded
        ("2026-01-02T03:04:05.999999999Z", "2026-01-02T03:04:05.999999"),
        ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00"),
        ("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00"),
    ],
)
def test_offset_forms(text: str, expected: str) -> None:
    assert outcome(TIME, text) == utc(expected)


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-30T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-01-02T24:00:00Z",
        "2026-01-02T23:60:00Z",
        "2026-01-02T23:59:61Z",
        "2026-01-02T03:04:05+19:00",
        "2026-01-02T03:04:05-19:00",
        "2026-01-02T03:04:05+09:60",
        "2026-01-02T03:04:05+9",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05.1234567890Z",
        "2026-01-02T03Z",
        "2026-01-02Z",
        "2026-01-02T",
        "2026-1-2T03:04:05Z",
        "26-01-02T03:04:05Z",
        "12026-01-02T03:04:05Z",
        "-2026-01-02T03:04:05Z",
        "20260102T030405Z",
        "2026/01/02 03:04:05Z",
        "2026-01-02T03:04:05 KST",
        "2026-01-02T03:04:05 UTC",
        "Fri, 02 Jan 2026 03:04:05 GMT",
        "1767323045",
        "infinity",
        "0044-03-15 (BC)",
        "２０２６-01-02T03:04:05Z",
        "어제",
    ],
)
@pytest.mark.parametrize("rules", [OFFSETS_ONLY, SEOUL], ids=["no timezone", "Seoul"])
def test_not_a_timestamp(text: str, rules: CastRules) -> None:
    assert outcome(TIME, text, rules) == "<not_a_timestamp>"


@pytest.mark.parametrize("text", ["2026-01-02", "2026-01-02 03:04", "2026-01-02T03:04:05.5"])
def test_time_without_offset_needs_a_declared_timezone(text: str) -> None:
    assert outcome(TIME, text) == "<naive_timestamp>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-02", "2026-01-01T15:00:00"),
        ("2026-01-02 03:04", "2026-01-01T18:04:00"),
        ("2026-01-02T03:04:05.5", "2026-01-01T18:04:05.500000"),
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05"),  # an offset wins
        ("1988-05-08 01:59:59", "1988-05-07T16:59:59"),  # +09:00, before summer time
        ("1988-05-08 03:00:00", "1988-05-07T17:00:00"),  # +10:00
        ("1988-10-09 01:59:59", "1988-10-08T15:59:59"),  # +10:00
        ("1988-10-09 02:30:00", "1988-10-08T16:30:00"),  # occurred twice: the earlier, +10:00
        ("1988-10-09 03:00:00", "1988-10-08T18:00:00"),  # +09:00
        ("1955-01-01 00:00:00", "1954-12-31T15:30:00"),  # +08:30 then
    ],
)
def test_local_time_is_read_in_the_declared_timezone(text: str, expected: str) -> None:
    assert outcome(TIME, text, SEOUL) == utc(expected)


@pytest.mark.parametrize(
    "text", ["1988-05-08 02:00:00", "1988-05-08 02:30", "1988-05-08T02:59:59.9"]
)
def test_local_time_that_never_was_is_refused(text: str) -> None:
    assert outcome(TIME, text, SEOUL) == "<nonexistent_local_time>"


def test_time_may_be_five_minutes_ahead_of_the_clock() -> None:
    due = NOW + timedelta(minutes=5)
    assert outcome(TIME, due.isoformat()) == due
    late = due + timedelta(microseconds=1)
    assert outcome(TIME, late.isoformat()) == "<in_the_future>"
    assert outcome(TIME, "2026-03-01 18:05:00", SEOUL) == due
    assert outcome(TIME, "2026-03-01 18:05:00.000001", SEOUL) == "<in_the_future>"


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59Z", "9999-12-31T23:59:59-18:00"])
def test_last_year_is_the_future(text: str) -> None:
    assert outcome(TIME, text) == "<in_the_future>"


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("0000-01-01T00:00:00Z", OFFSETS_ONLY),
        ("0000-12-31T23:59:59.999999Z", OFFSETS_ONLY),
        ("0001-01-01T00:00:00+09:00", OFFSETS_ONLY),
        ("0001-01-01", SEOUL),
    ],
)
def test_before_year_one_is_out_of_range(text: str, rules: CastRules) -> None:
    assert outcome(TIME, text, rules) == "<out_of_range>"


@given(
    at=st.datetimes(datetime(1, 1, 3), datetime(2026, 2, 27)),  # noqa: DTZ001 - made aware below
    minutes=st.integers(-18 * 60, 18 * 60),
)
def test_written_time_comes_back_from_any_offset(at: datetime, minutes: int) -> None:
    sign = "-" if minutes < 0 else "+"
    offset = f"{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    expected = at.replace(tzinfo=UTC) - timedelta(minutes=minutes)
    assert outcome(TIME, at.isoformat() + offset) == expected

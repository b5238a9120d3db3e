from datetime import UTC, datetime, timedelta

import pytest

from lifehelper_data.domain.contract import TABLES
from lifehelper_data.domain.errors import MappingError
from lifehelper_data.sources.increments import Window, window_of
from lifehelper_data.sources.postgres import DatabaseColumn
from lifehelper_data.sources.table_spec import Incremental

DAY_US = 86_400 * 1_000_000
NOON = datetime(1970, 1, 3, 12, tzinfo=UTC)  # two and a half days after the epoch


def window(kind: str = "timestamptz", zone: str | None = None) -> Window:
    return Window(column='at"', kind=kind, lookback=timedelta(hours=6), naive_timezone=zone)


def test_reading_goes_back_by_the_look_back() -> None:
    assert window().since_us(2 * DAY_US) == 2 * DAY_US - DAY_US // 4


def test_without_a_watermark_everything_is_read() -> None:
    assert window().since_us(None) is None


def test_what_no_calendar_can_name_is_everything() -> None:
    year_one = -62_135_596_800 * 1_000_000  # datetime(1, 1, 1) in microseconds
    assert window().since_us(year_one + DAY_US // 4) == year_one
    assert window().since_us(year_one + DAY_US // 4 - 1) is None
    assert window().shown(year_one) == "0001-01-01T00:00:00.000000+00:00"


@pytest.mark.parametrize(
    ("kind", "condition"),
    [
        ("timestamptz", "'1970-01-02T00:00:00.000001+00:00'::timestamptz"),
        ("timestamp", "'1970-01-02T00:00:00.000001'::timestamp"),
        ("date", "'1970-01-02T00:00:00.000001'::timestamp"),  # a date is its midnight
    ],
)
def test_rows_without_a_time_are_read_each_time(kind: str, condition: str) -> None:
    assert window(kind).where(DAY_US + 1) == f'("at""" >= {condition} OR "at""" IS NULL)'


@pytest.mark.parametrize(
    ("kind", "zone", "days"),
    [
        ("timestamptz", "Asia/Seoul", 2.5),
        ("timestamp", "Asia/Seoul", 2.5 + 9 / 24),
        ("date", "Asia/Seoul", 2.5 + 9 / 24),
        ("timestamp", None, 2.0),  # nobody on earth is further behind than twelve hours
    ],
)
def test_no_watermark_is_later_than_the_read(kind: str, zone: str | None, days: float) -> None:
    assert window(kind, zone).latest_us(NOON) == int(days * DAY_US)


def probed(**types: str) -> list[DatabaseColumn]:
    return [DatabaseColumn(name=n, type_name=t, shape="scalar") for n, t in types.items()]


def spec(column: str) -> Incremental:
    return Incremental(column=column, lookback=timedelta(hours=1))


def test_the_column_is_found_whatever_its_case() -> None:
    found = window_of(TABLES["books"], spec("updated_at"), probed(Updated_At="date"), "Asia/Seoul")
    assert (found.column, found.kind, found.lookback) == ("Updated_At", "date", timedelta(hours=1))
    assert found.naive_timezone == "Asia/Seoul"


def test_a_column_the_query_does_not_return_is_refused() -> None:
    with pytest.raises(
        MappingError,
        match=r"incremental.column: the query does not return 'changed'; it returns a, b",
    ):
        window_of(TABLES["books"], spec("changed"), probed(b="date", a="int4"), None)


@pytest.mark.parametrize("kind", ["int8", "text", "time", "_timestamptz"])
def test_a_column_that_is_no_time_is_refused(kind: str) -> None:
    with pytest.raises(MappingError, match=f"'a' is {kind}; it must be a timestamp or date"):
        window_of(TABLES["books"], spec("a"), probed(a=kind), None)

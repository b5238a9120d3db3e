from datetime import UTC, datetime, timedelta

from lifehelper_data.domain.retention import Retention, retained_releases

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
NONE = Retention(keep_last=1, keep_younger_than=timedelta(0), keep_daily_days=0)


def keep(
    created: list[tuple[int, datetime]], retention: Retention, protected: set[int] | None = None
) -> dict[int, str]:
    return retained_releases(created, now=NOW, retention=retention, protected=protected or set())


def hours_ago(*hours: float) -> list[tuple[int, datetime]]:
    return [(number, NOW - timedelta(hours=h)) for number, h in enumerate(hours, start=1)]


def test_no_releases_keep_nothing() -> None:
    assert keep([], Retention()) == {}


def test_last_n_are_kept_by_number() -> None:
    rule = Retention(keep_last=2, keep_younger_than=timedelta(0), keep_daily_days=0)
    created = hours_ago(100, 99, 98, 97)
    assert keep(created[::-1], rule) == {3: "last", 4: "last"}


def test_younger_than_is_strict() -> None:
    rule = Retention(keep_last=1, keep_younger_than=timedelta(hours=1), keep_daily_days=0)
    created = [(1, NOW - timedelta(hours=1)), (2, NOW - timedelta(minutes=59)), (3, NOW)]
    kept = keep([*created, (4, NOW)], rule)
    # 1 is exactly one hour old: not young; and not the newest of its day, which is 4
    assert kept == {2: "young", 3: "young", 4: "last"}


def test_newest_of_each_day_is_kept_back_to_the_first_day() -> None:
    rule = Retention(keep_last=1, keep_younger_than=timedelta(0), keep_daily_days=2)
    created = [
        (1, datetime(2026, 3, 7, 23, 59, tzinfo=UTC)),  # three days back: outside
        (2, datetime(2026, 3, 8, 1, 0, tzinfo=UTC)),  # an older one of its day
        (3, datetime(2026, 3, 8, 2, 0, tzinfo=UTC)),
        (4, datetime(2026, 3, 9, 2, 0, tzinfo=UTC)),
        (5, NOW),
    ]
    assert keep(created, rule) == {3: "daily", 4: "daily", 5: "last"}


def test_protected_stays_whatever_the_rule_says() -> None:
    created = [
        (1, datetime(2020, 1, 1, tzinfo=UTC)),
        (2, datetime(2020, 1, 2, tzinfo=UTC)),
        (3, NOW),
    ]
    assert keep(created, NONE, {1}) == {1: "protected", 3: "last"}


def test_reasons_are_ordered_by_number() -> None:
    created = hours_ago(0.1, 0.2, 0.3)
    assert list(keep(created, Retention())) == [1, 2, 3]

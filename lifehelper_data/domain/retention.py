"""Which releases must be kept: a pure rule."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long releases are kept.

    Attributes:
        keep_last: the newest so many.
        keep_younger_than: all younger than this (search cursors live 30 minutes).
        keep_daily_days: the newest of each UTC day, for so many days back.
    """

    keep_last: int = 10
    keep_younger_than: timedelta = timedelta(hours=1)
    keep_daily_days: int = 30


def retained_releases(
    created: Sequence[tuple[int, datetime]],
    *,
    now: datetime,
    retention: Retention,
    protected: Collection[int],
) -> dict[int, str]:
    """Decide which releases stay, and why.

    Args:
        created: (number, created_at) of every release.
        now: the current time.
        retention: the rule.
        protected: releases that stay whatever the rule says (current, tagged, pinned, named by an
            eval_run).

    Returns:
        number -> first reason that holds, ordered by number.
    """
    by_number = sorted(created)
    last = {number for number, _ in by_number[-retention.keep_last :]} if by_number else set()
    newest_of_day: dict[object, int] = {}
    for number, created_at in by_number:
        newest_of_day[created_at.date()] = number
    first_day = (now - timedelta(days=retention.keep_daily_days)).date()
    kept: dict[int, str] = {}
    for number, created_at in by_number:
        if number in protected:
            kept[number] = "protected"
        elif number in last:
            kept[number] = "last"
        elif now - created_at < retention.keep_younger_than:
            kept[number] = "young"
        elif newest_of_day[created_at.date()] == number and created_at.date() >= first_day:
            kept[number] = "daily"
    return kept

"""How old what we serve is, against its budget."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from lifehelper_data.domain.contract import HISTORY_TABLES


class Served(StrEnum):
    """What has a freshness budget."""

    PRICE_STOCK = "price_stock"
    NEW_BOOKS = "new_books"
    POPULARITY = "popularity"
    HISTORY = "history"


MEANINGS: Final[Mapping[Served, str]] = {
    Served.PRICE_STOCK: "prices and stock",
    Served.NEW_BOOKS: "new books, found by search and with their vectors",
    Served.POPULARITY: "popularity",
    Served.HISTORY: "purchases, library and reviews",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTimes:
    """What is known of the age of a release's content; None where there is nothing to know.

    Attributes:
        books_changed: newest `updated_at` of a served book.
        waiting_since: time the oldest book that waits for its index bears, or of the load that
            brought it; None if none waits.
        popularity_as_of: newest row behind popularity.
        history: newest event by history table; a table the source does not have is left out.
        loaded: last successful load by table.
    """

    books_changed: datetime | None = None
    waiting_since: datetime | None = None
    popularity_as_of: datetime | None = None
    history: Mapping[str, datetime | None]
    loaded: Mapping[str, datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """The age of one thing.

    Attributes:
        served: what it is.
        age: its age; None if the source has no such thing.
        budget: the age it may have.
        since: what the age is counted from, in words.
    """

    served: Served
    age: timedelta | None
    budget: timedelta
    since: str

    @property
    def fresh(self) -> bool:
        """Whether it is within its budget; a thing the source does not have is."""
        return self.age is None or self.age <= self.budget

    @property
    def detail(self) -> str:
        """Age, budget and what the age is counted from, in one line."""
        if self.age is None:
            return f"n/a: {self.since}"
        state = "within" if self.fresh else "over"
        return f"{in_words(self.age)} old, {state} {in_words(self.budget)}: {self.since}"


def measure_freshness(
    times: SourceTimes, budgets: Mapping[Served, timedelta], now: datetime
) -> tuple[Freshness, ...]:
    """Measure the age of everything that has a budget.

    An age counts from the newest time the source's rows bear, or, where they bear none, from the
    last successful load. New books count from the oldest that waits for its index; while none
    waits, from the last load, which would have shown one.

    Args:
        times: what is known.
        budgets: the age each may have.
        now: the time.

    Returns:
        One per `Served`, in its order. A time in the future counts as age 0.
    """
    counted: dict[Served, tuple[datetime | None, str]] = {
        Served.PRICE_STOCK: _row_or_load(times.books_changed, times, ("books",), "last change"),
        Served.NEW_BOOKS: (
            (times.waiting_since, "a new book waits for its index since then")
            if times.waiting_since is not None
            else _row_or_load(None, times, ("books",), "")
        ),
        Served.POPULARITY: _row_or_load(
            times.popularity_as_of,
            times,
            ("book_popularity", *HISTORY_TABLES),
            "newest row counted",
        ),
        Served.HISTORY: _history(times),
    }
    return tuple(
        Freshness(
            served=served,
            age=None if since is None else max(now - since, timedelta(0)),
            budget=budgets[served],
            since=words,
        )
        for served, (since, words) in ((one, counted[one]) for one in Served)
    )


def _history(times: SourceTimes) -> tuple[datetime | None, str]:
    rows = [time for time in times.history.values() if time is not None]
    return _row_or_load(max(rows, default=None), times, tuple(times.history), "newest row")


def _row_or_load(
    row: datetime | None, times: SourceTimes, tables: tuple[str, ...], what: str
) -> tuple[datetime | None, str]:
    loads = [times.loaded[name] for name in tables if name in times.loaded]
    if row is not None:
        loaded = f", last load {_stamp(max(loads))}" if loads else ""
        return row, f"{what} {_stamp(row)}{loaded}"
    if loads:
        return max(loads), f"no row bears a time, last load {_stamp(max(loads))}"
    return None, "the source has no such table"


def _stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M UTC")


def in_words(age: timedelta) -> str:
    """Return an age in its two largest units.

    >>> in_words(timedelta(seconds=59)), in_words(timedelta(minutes=5))
    ('59 s', '5 min')
    >>> in_words(timedelta(hours=25)), in_words(timedelta(days=400, hours=2))
    ('1 d 1 h', '400 d 2 h')
    """
    seconds = int(age.total_seconds())
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    pieces: list[str] = []
    for name, size in units:
        count, seconds = divmod(seconds, size)
        if count or pieces:
            pieces.append(f"{count} {name}" if count else "")
        if len(pieces) == 2:
            break
    return " ".join(piece for piece in pieces if piece) or "0 s"

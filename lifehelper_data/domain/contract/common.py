"""Columns that several tables share."""

from lifehelper_data.domain.contract.columns import Column, Kind


def book_id(meaning: str = "the book; rows of unknown books are kept") -> Column:
    """A book id column."""
    return Column(
        name="book_id", kind=Kind.INT64, nullable=False, meaning=meaning, id_space="books"
    )


def user_id() -> Column:
    """A user id column."""
    return Column(
        name="user_id", kind=Kind.INT64, nullable=False, meaning="the user", id_space="users"
    )


def time(name: str, meaning: str, *, nullable: bool = False) -> Column:
    """A UTC timestamp column."""
    return Column(name=name, kind=Kind.TIMESTAMP, nullable=nullable, meaning=meaning)


def arrived_at() -> Column:
    """The arrival time of an event row."""
    return Column(
        name="arrived_at",
        kind=Kind.TIMESTAMP,
        nullable=False,
        default="event_time",
        meaning="when the row reached the replica; the event time where the source has none",
    )


def text(name: str, meaning: str, *, nullable: bool = True) -> Column:
    """A text column."""
    return Column(name=name, kind=Kind.TEXT, nullable=nullable, meaning=meaning)

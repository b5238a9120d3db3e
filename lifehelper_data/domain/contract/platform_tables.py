"""Tables the platform adds to a release beside the source tables."""

from typing import Final

from lifehelper_data.domain.contract.columns import Column, Kind
from lifehelper_data.domain.contract.common import book_id, text, time
from lifehelper_data.domain.contract.table import Duplicates, Table

POPULARITY: Final = Table(
    name="popularity",
    meaning="sales, ratings and the 0-1 popularity value of every book",
    key=("book_id",),
    duplicates=Duplicates.LAST_WINS,
    columns=(
        book_id("key of the book"),
        Column(name="sales", kind=Kind.INT64, nullable=False, minimum=0, meaning="copies sold"),
        Column(name="rating_avg", kind=Kind.FLOAT, meaning="mean rating; null without ratings"),
        Column(
            name="rating_count",
            kind=Kind.INT64,
            nullable=False,
            minimum=0,
            meaning="number of ratings",
        ),
        time("as_of", "time the counts describe; null without any row", nullable=True),
        Column(
            name="value",
            kind=Kind.FLOAT,
            nullable=False,
            minimum=0,
            maximum=1,
            meaning="popularity, 0-1, by the method named in the release facts",
        ),
    ),
)

QUARANTINE: Final = Table(
    name="quarantine",
    meaning="rows that broke the contract, with the reason",
    key=("table_name", "key", "column_name", "value", "reason", "row"),
    duplicates=Duplicates.REPEATED_ROW,
    columns=(
        text("table_name", "contract table the row was meant for", nullable=False),
        text("key", "the row's key as the source wrote it (JSON)", nullable=False),
        text("column_name", "first bad column; null for a duplicate"),
        text("value", "the bad value as text"),
        text("reason", "bad_value:<rule> or duplicate", nullable=False),
        text("row", "the whole row as JSON", nullable=False),
    ),
)

REJECTS: Final = Table(
    name="rejects",
    meaning="lines of source files that could not be read as a row",
    key=("source_file", "path", "line"),
    duplicates=Duplicates.REPEATED_ROW,
    columns=(
        text("source_file", "name the mapping gives the file", nullable=False),
        text("path", "path relative to the mapping file", nullable=False),
        Column(
            name="line", kind=Kind.INT64, nullable=False, meaning="physical line number, from 1"
        ),
        text("reason", "what is wrong with the line", nullable=False),
        text("detail", "the reason in numbers or positions"),
        text("content", "the line, undecodable bytes escaped, cut at 4,096 characters"),
    ),
)

SOURCE_IDS: Final = Table(
    name="source_ids",
    meaning="text ids of the source and the numbers that stand for them",
    key=("table_name", "id"),
    duplicates=Duplicates.REPEATED_ROW,
    columns=(
        text("table_name", "books or users", nullable=False),
        text("source_id", "the id as the source writes it", nullable=False),
        Column(name="id", kind=Kind.INT64, nullable=False, meaning="first 53 bits of SHA-256"),
    ),
)

PLATFORM_TABLES: Final[dict[str, Table]] = {
    table.name: table for table in (POPULARITY, QUARANTINE, REJECTS, SOURCE_IDS)
}
"""Every table a release has besides the source tables, by name."""

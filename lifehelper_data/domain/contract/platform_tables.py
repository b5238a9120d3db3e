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
        text(
            "key",
            "its key as JSON, as the source wrote it (duplicate: as cast)",
            nullable=False,
        ),
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

CATALOG_TEXTS: Final = Table(
    name="catalog_texts",
    meaning="books that have a vector, with the digest of what was embedded",
    key=("book_id",),
    duplicates=Duplicates.LAST_WINS,
    columns=(
        book_id("key of the book"),
        text("text_digest", "SHA-256 of vector space, prompt and text", nullable=False),
    ),
)

PRESET_VECTORS: Final = Table(
    name="preset_vectors",
    meaning="prepared vectors of onboarding categories and tags",
    key=("kind", "name"),
    duplicates=Duplicates.LAST_WINS,
    columns=(
        Column(
            name="kind",
            kind=Kind.TEXT,
            nullable=False,
            choices=("category", "tag"),
            meaning="what the word is",
        ),
        text("name", "the word", nullable=False),
        text("text_digest", "SHA-256 of vector space, prompt and text", nullable=False),
        Column(
            name="vector",
            kind=Kind.FLOAT_LIST,
            nullable=False,
            meaning="float32, length 1, in the release's vector space",
        ),
    ),
)

SIMILARITY_CALIBRATION: Final = Table(
    name="similarity_calibration",
    meaning="where cosines of the vector space begin and end to mean something",
    key=("vector_space_id",),
    duplicates=Duplicates.LAST_WINS,
    columns=(
        text("vector_space_id", "the vector space", nullable=False),
        text("vectors_digest", "content digest of the vectors measured", nullable=False),
        Column(
            name="floor",
            kind=Kind.FLOAT,
            nullable=False,
            meaning="median cosine of random pairs of books",
        ),
        Column(
            name="ceiling",
            kind=Kind.FLOAT,
            nullable=False,
            meaning="99th percentile of the cosine of nearest neighbours",
        ),
        Column(name="random_pairs", kind=Kind.INT64, nullable=False, meaning="pairs measured"),
        Column(name="neighbours", kind=Kind.INT64, nullable=False, meaning="books measured"),
    ),
)

SEARCH_TITLES: Final = Table(
    name="search_titles",
    meaning="number of each title, normalised and without spaces, for the exact-title rule",
    key=("book_id",),
    duplicates=Duplicates.LAST_WINS,
    columns=(
        book_id("key of the book"),
        Column(
            name="title_key",
            kind=Kind.INT64,
            nullable=False,
            meaning="53-bit number of the squashed title; equal titles have equal numbers",
        ),
    ),
)

PLATFORM_TABLES: Final[dict[str, Table]] = {
    table.name: table
    for table in (
        POPULARITY,
        QUARANTINE,
        REJECTS,
        SOURCE_IDS,
        CATALOG_TEXTS,
        PRESET_VECTORS,
        SIMILARITY_CALIBRATION,
        SEARCH_TITLES,
    )
}
"""Every table a release has besides the source tables, by name."""

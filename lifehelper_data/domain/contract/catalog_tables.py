"""The catalog: books and the habit catalog, with the maps beside them."""

from typing import Final

from lifehelper_data.domain.contract.columns import Column, Kind
from lifehelper_data.domain.contract.common import book_id, text, time
from lifehelper_data.domain.contract.table import Duplicates, Table

PRICE_SUSPECT_BELOW_WON: Final = 1_000
PRICE_SUSPECT_ABOVE_WON: Final = 500_000
INT32_MAX: Final = 2_147_483_647

BOOKS: Final = Table(
    name="books",
    meaning="one row per book",
    key=("book_id",),
    duplicates=Duplicates.NEWEST_WINS,
    freshness_time="updated_at",
    columns=(
        book_id("key of the book"),
        text("title", "title, not blank", nullable=False),
        text("author", "author line as the source writes it"),
        text("publisher", "publisher"),
        Column(
            name="price",
            kind=Kind.INT32,
            minimum=0,
            maximum=INT32_MAX,
            meaning="selling price in won; null is shown and never pickable",
        ),
        Column(
            name="in_stock",
            kind=Kind.BOOL,
            nullable=False,
            default=False,
            meaning="whether the book can be bought; unknown counts as false",
        ),
        text("cover_url", "address of the cover picture"),
        text("category", "catalog class (library classification label)"),
        Column(
            name="pub_year",
            kind=Kind.INT32,
            minimum=1,
            maximum=9999,
            meaning="year of publication; unknown years are left out of year filters",
        ),
        text("description", "blurb; without it the book has no vector"),
        time("listed_at", "when the shop listed the book", nullable=True),
        time("updated_at", "when the row last changed at the source", nullable=True),
        Column(
            name="price_suspect",
            kind=Kind.BOOL,
            nullable=False,
            derived=True,
            meaning=f"price below {PRICE_SUSPECT_BELOW_WON:,} or above "
            f"{PRICE_SUSPECT_ABOVE_WON:,} won: probably an entry error, kept",
        ),
    ),
)

LIVE_BOOK_COLUMNS: Final = ("price", "in_stock", "updated_at", "price_suspect")
"""What a refresh may change in a book that is served; everything else comes with its texts."""

BOOK_POPULARITY: Final = Table(
    name="book_popularity",
    meaning="sales and ratings counted by the source; computed from history where absent",
    key=("book_id",),
    duplicates=Duplicates.LAST_WINS,
    freshness_time="as_of",
    columns=(
        book_id("key of the book"),
        Column(name="sales", kind=Kind.INT64, nullable=False, minimum=0, meaning="copies sold"),
        Column(
            name="rating_avg", kind=Kind.FLOAT, minimum=0, maximum=5, meaning="mean rating, 0-5"
        ),
        Column(
            name="rating_count",
            kind=Kind.INT64,
            nullable=False,
            default=0,
            minimum=0,
            meaning="number of ratings",
        ),
        time("as_of", "time the counts describe"),
    ),
)

CATEGORY_MAP: Final = Table(
    name="category_map",
    meaning="onboarding category -> catalog classes",
    key=("category", "class"),
    duplicates=Duplicates.LAST_WINS,
    columns=(
        text("category", "onboarding category", nullable=False),
        text("class", "catalog class", nullable=False),
        Column(
            name="strength",
            kind=Kind.TEXT,
            nullable=False,
            choices=("core", "partial"),
            meaning="core: filters and profiles use it; partial: profiles only",
        ),
    ),
)

HABIT_CATALOG: Final = Table(
    name="habit_catalog",
    meaning="protocols, breaks and diets the coach can offer",
    key=("item_id",),
    duplicates=Duplicates.LAST_WINS,
    columns=(
        text("item_id", "key of the item", nullable=False),
        Column(
            name="kind",
            kind=Kind.TEXT,
            nullable=False,
            choices=("protocol", "break", "diet"),
            meaning="what kind of habit it is",
        ),
        text("title", "title shown to the user", nullable=False),
        text("category", "topic, such as sleep", nullable=False),
        text("summary", "one sentence"),
        text("why", "reasons"),
        text("default_dose", "suggested amount"),
        Column(name="tags", kind=Kind.TEXT_LIST, meaning="search words"),
        *(text(f"framing_l{level}", f"suggested wording at level L{level}") for level in range(4)),
    ),
)

FRAME_PATTERNS: Final = Table(
    name="frame_patterns",
    meaning="avoidance wordings a habit's framing must not have",
    key=("keyword",),
    duplicates=Duplicates.LAST_WINS,
    columns=(
        text("keyword", "the avoidance word in dictionary form", nullable=False),
        text("suggestion", "how to say it positively, in Korean", nullable=False),
        Column(
            name="applies_to_levels",
            kind=Kind.TEXT_LIST,
            nullable=False,
            choices=("L0", "L1", "L2", "L3"),
            meaning="frame levels it is tried at",
        ),
    ),
)

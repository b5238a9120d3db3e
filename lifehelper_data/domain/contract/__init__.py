"""The contract: every table, its columns and rules, in one typed definition.

Loading, checks, documentation and the data dictionary all read it. To add a source table, define
a `Table` in `catalog_tables` or `user_tables` and list it in `TABLES`.
"""

from typing import Final

from lifehelper_data.domain.contract.catalog_tables import (
    BOOK_POPULARITY,
    BOOKS,
    CATEGORY_MAP,
    FRAME_PATTERNS,
    HABIT_CATALOG,
    LIVE_BOOK_COLUMNS,
    PRICE_SUSPECT_ABOVE_WON,
    PRICE_SUSPECT_BELOW_WON,
)
from lifehelper_data.domain.contract.columns import SQL_TYPES, Column, IdSpace, Kind
from lifehelper_data.domain.contract.platform_tables import (
    CATALOG_TEXTS,
    PLATFORM_TABLES,
    POPULARITY,
    PRESET_VECTORS,
    QUARANTINE,
    REJECTS,
    SEARCH_TITLES,
    SIMILARITY_CALIBRATION,
    SOURCE_IDS,
)
from lifehelper_data.domain.contract.table import Duplicates, Table
from lifehelper_data.domain.contract.user_tables import (
    MEMORIES,
    ONBOARDING,
    USER_LIBRARY,
    USER_PURCHASES,
    USER_REVIEWS,
)

CONTRACT_VERSION: Final = 1
"""Raised whenever a definition below changes what a clean row is."""

TABLES: Final[dict[str, Table]] = {
    table.name: table
    for table in (
        BOOKS,
        BOOK_POPULARITY,
        USER_PURCHASES,
        USER_LIBRARY,
        USER_REVIEWS,
        ONBOARDING,
        MEMORIES,
        HABIT_CATALOG,
        FRAME_PATTERNS,
        CATEGORY_MAP,
    )
}
"""Every table a source may map, by name, in load order."""

ALL_TABLES: Final[dict[str, Table]] = TABLES | PLATFORM_TABLES
"""Every table of a release, by name."""

REQUIRED_TABLES: Final = ("books",)
HISTORY_TABLES: Final = ("user_purchases", "user_library", "user_reviews")

__all__ = [
    "ALL_TABLES",
    "BOOKS",
    "BOOK_POPULARITY",
    "CATALOG_TEXTS",
    "CATEGORY_MAP",
    "CONTRACT_VERSION",
    "FRAME_PATTERNS",
    "HABIT_CATALOG",
    "HISTORY_TABLES",
    "LIVE_BOOK_COLUMNS",
    "MEMORIES",
    "ONBOARDING",
    "PLATFORM_TABLES",
    "POPULARITY",
    "PRESET_VECTORS",
    "PRICE_SUSPECT_ABOVE_WON",
    "PRICE_SUSPECT_BELOW_WON",
    "QUARANTINE",
    "REJECTS",
    "REQUIRED_TABLES",
    "SEARCH_TITLES",
    "SIMILARITY_CALIBRATION",
    "SOURCE_IDS",
    "SQL_TYPES",
    "TABLES",
    "USER_LIBRARY",
    "USER_PURCHASES",
    "USER_REVIEWS",
    "Column",
    "Duplicates",
    "IdSpace",
    "Kind",
    "Table",
]

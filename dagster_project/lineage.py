"""Which columns a derived table's columns come from."""

from collections.abc import Mapping
from typing import Any, Final

import dagster as dg

_PURCHASES = "user_purchases"
_REVIEWS = "user_reviews"
_Sources = tuple[tuple[str, str], ...]

LINEAGE: Final[Mapping[str, Mapping[str, _Sources]]] = {
    "popularity": {
        "book_id": (("books", "book_id"),),
        "sales": (
            (_PURCHASES, "book_id"),
            (_PURCHASES, "purchased_at"),
            ("book_popularity", "sales"),
        ),
        "rating_avg": ((_REVIEWS, "rating"), ("book_popularity", "rating_avg")),
        "rating_count": ((_REVIEWS, "rating"), ("book_popularity", "rating_count")),
        "as_of": (
            (_PURCHASES, "purchased_at"),
            (_REVIEWS, "created_at"),
            ("book_popularity", "as_of"),
        ),
        "value": (
            (_PURCHASES, "purchased_at"),
            (_REVIEWS, "rating"),
            ("book_popularity", "sales"),
        ),
    },
    "catalog_texts": {
        "book_id": (("books", "book_id"),),
        "text_digest": (("books", "title"), ("books", "description")),
    },
    "preset_vectors": {
        "kind": (("category_map", "category"), ("onboarding", "tags")),
        "name": (("category_map", "category"), ("onboarding", "tags")),
        "vector": (("category_map", "category"), ("onboarding", "tags")),
    },
    "similarity_calibration": {
        "floor": (("catalog_embeddings", "vector"),),
        "ceiling": (("catalog_embeddings", "vector"),),
    },
}
"""Derived table -> its column -> the (asset, column) pairs it is computed from."""


def column_lineage(table: str) -> dict[str, Any]:
    """The metadata entry that draws a table's column lineage; empty for a table as loaded."""
    columns = LINEAGE.get(table)
    if columns is None:
        return {}
    deps = {
        column: [dg.TableColumnDep(asset_key=asset, column_name=name) for asset, name in sources]
        for column, sources in columns.items()
    }
    return {"dagster/column_lineage": dg.TableColumnLineage(deps_by_column=deps)}

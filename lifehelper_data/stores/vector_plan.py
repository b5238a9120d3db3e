"""What a vector table lacks and what it has too much."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.stores.vector_rows import ITEM_ID, TEXT_DIGEST, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncPlan:
    """What has to be done so that a table holds what is wanted.

    Attributes:
        to_embed: int64 (n,), ascending: ids that are new or whose text changed.
        to_delete: int64 (n,), ascending: ids that are stored and not wanted.
        unchanged: how many ids stay as they are.
    """

    to_embed: Ints
    to_delete: Ints
    unchanged: int


def sync_plan(stored: pl.DataFrame, wanted: pl.DataFrame) -> SyncPlan:
    """Compare what is stored with what is wanted.

    Args:
        stored: item_id, text_digest of the table.
        wanted: item_id, text_digest as they should be; empty means that all goes.

    Raises:
        InvalidRequest: an id is wanted twice or has no digest; names it.
    """
    for problem, rows in (
        ("is wanted more than once", wanted.filter(pl.col(ITEM_ID).is_duplicated())),
        ("has no text digest", wanted.filter(pl.col(TEXT_DIGEST).is_null())),
    ):
        if rows.height:
            raise InvalidRequest(f"item {_ascending(rows)[0]} {problem}", field=ITEM_ID)
    on = [ITEM_ID, TEXT_DIGEST]
    to_embed = wanted.join(stored, on=on, how="anti")
    return SyncPlan(
        to_embed=_ascending(to_embed),
        to_delete=_ascending(stored.join(wanted, on=ITEM_ID, how="anti")),
        unchanged=wanted.height - to_embed.height,
    )


def _ascending(rows: pl.DataFrame) -> Ints:
    return rows[ITEM_ID].sort().to_numpy().astype(np.int64)

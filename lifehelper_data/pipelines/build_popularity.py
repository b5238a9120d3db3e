"""Asset `popularity`: sales, ratings and a value between 0 and 1 for every book."""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Final

import numpy as np
import polars as pl

from lifehelper_data.domain.build import BuildRecord, BuildReport
from lifehelper_data.domain.contract import POPULARITY
from lifehelper_data.domain.popularity import METHODS, PopularityInputs, decayed_sales
from lifehelper_data.domain.release import TableParts
from lifehelper_data.pipelines.build_catalog import CATALOG_FACT
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.stores.build_records import reusable_record, save_record
from lifehelper_data.stores.popularity_counts import PopularityCounts, count_popularity

ASSET: Final = "popularity"
BUILDER_VERSION: Final = 2
INPUTS: Final = ("books", "book_popularity", "user_purchases", "user_reviews")


def popularity_digest(context: BuildContext, tables: Mapping[str, TableParts]) -> str:
    """Return the digest of everything the asset depends on."""
    parts = {
        "builder": BUILDER_VERSION,
        "tunables": context.settings.popularity.model_dump(mode="json"),
        "inputs": {name: tables[name].identity for name in INPUTS},
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def build_popularity(context: BuildContext, tables: Mapping[str, TableParts]) -> BuildReport:
    """Count sales and ratings and turn them into values by the configured method.

    Sales are purchases in the last `window_days` before the newest row, not before today: the
    same rows give the same table. A source that ships `book_popularity` is taken at its word;
    `time_decayed` always reads purchases.

    Args:
        context: workspace, settings, clock and progress.
        tables: the clean tables.

    Returns:
        The record with the `popularity` table: one row per book of `books`.
    """
    started = context.seconds()
    digest = popularity_digest(context, tables)
    last = reusable_record(context.layout, ASSET, digest)
    if last is not None:
        return BuildReport(record=last, reused=True, seconds=context.seconds() - started)
    context.progress.step("counting popularity", 0, None)
    run = context.settings.run
    counts = count_popularity(
        context.layout,
        tables,
        window_days=context.settings.popularity.window_days,
        threads=run.threads,
        memory_limit=run.memory_limit,
    )
    with context.scratch() as scratch, context.part_writer(scratch, ASSET) as writer:
        writer.append(POPULARITY, popularity_rows(context, counts))
        parts = writer.write(POPULARITY)
    record = BuildRecord(
        asset=ASSET,
        input_digest=digest,
        built_at=context.clock(),
        tables={POPULARITY.name: parts},
        facts={
            "popularity_method": str(context.settings.popularity.method),
            CATALOG_FACT: tables["books"].identity,
        },
    )
    save_record(context.layout, record)
    return BuildReport(record=record, reused=False, seconds=context.seconds() - started)


def popularity_rows(context: BuildContext, counts: PopularityCounts) -> pl.DataFrame:
    """Return the `popularity` table, ordered by book_id."""
    tunables = context.settings.popularity
    inputs = PopularityInputs(
        sales=counts.sales,
        decayed_sales=decayed_sales(
            counts.age_positions,
            counts.ages_days,
            counts.age_counts,
            n_books=len(counts.book_ids),
            half_life_days=tunables.half_life_days,
        ),
        rating_sum=counts.rating_sum,
        rating_count=counts.rating_count,
        prior_ratings=tunables.prior_ratings,
    )
    return pl.DataFrame(
        {
            "book_id": counts.book_ids,
            "sales": counts.sales,
            "rating_avg": pl.Series(counts.rating_avg, dtype=pl.Float64).fill_nan(None),
            "rating_count": counts.rating_count,
            "as_of": _as_of(counts),
            "value": METHODS[tunables.method](inputs),
        }
    )


def _as_of(counts: PopularityCounts) -> pl.Series:
    kind = pl.Datetime("us", "UTC")
    if counts.as_of_by_book is None:
        times: list[datetime | None] = [counts.as_of] * len(counts.book_ids)
        return pl.Series(times, dtype=kind)
    stamps = np.where(counts.as_of_by_book < 0, np.iinfo(np.int64).min, counts.as_of_by_book)
    return pl.Series(stamps).replace(np.iinfo(np.int64).min, None).cast(kind)

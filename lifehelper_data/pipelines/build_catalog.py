"""Asset `catalog`: the books and habits whose texts are to be indexed.

Prices and stock are loaded every few minutes, texts are indexed and embedded every hour. What is
indexed in between is this record: it moves on only when something besides price and stock did.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Final

from lifehelper_data.domain.build import BuildRecord, BuildReport
from lifehelper_data.domain.release import TableParts
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.stores.build_records import reusable_record, save_record
from lifehelper_data.stores.live_books import settled_identity

ASSET: Final = "catalog"
BUILDER_VERSION: Final = 1
CATALOG_FACT: Final = "catalog_identity"
"""Fact of a derived asset: identity of the books it was made from."""

_INDEXED: Final = ("books", "habit_catalog")


def build_catalog(context: BuildContext, tables: Mapping[str, TableParts]) -> BuildReport:
    """Take over the newest texts.

    Args:
        context: workspace, settings and clock.
        tables: the clean tables.

    Returns:
        The record with `books` and `habit_catalog` as they are to be indexed. If only prices and
        stock changed, the last record stands, older prices included.
    """
    started = context.seconds()
    run = context.settings.run
    parts = {
        "builder": BUILDER_VERSION,
        "books": settled_identity(
            context.layout,
            tables["books"],
            threads=run.threads,
            memory_limit=run.memory_limit,
        ),
        "habits": tables["habit_catalog"].identity,
    }
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    last = reusable_record(context.layout, ASSET, digest)
    record = last or BuildRecord(
        asset=ASSET,
        input_digest=digest,
        built_at=context.clock(),
        tables={name: tables[name] for name in _INDEXED},
    )
    save_record(context.layout, record)
    return BuildReport(record=record, reused=last is not None, seconds=context.seconds() - started)

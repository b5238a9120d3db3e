"""What goes into a release: the outputs of one build, or the newest that belong together."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from lifehelper_data.code_version import code_hash, code_version
from lifehelper_data.domain.build import BuildRecord
from lifehelper_data.domain.contract import CONTRACT_VERSION, HABIT_CATALOG
from lifehelper_data.domain.errors import NotFound
from lifehelper_data.domain.release import ReleaseContent, TableParts
from lifehelper_data.pipelines.build_calibration import VECTORS_FACT
from lifehelper_data.pipelines.build_catalog import CATALOG_FACT
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.stores.build_records import load_record, require_record
from lifehelper_data.stores.live_books import ServedBooks, served_books, unshared_keys
from lifehelper_data.stores.releases import ReleaseStore

TABLES: Final = "tables"
CATALOG: Final = "catalog"
POPULARITY: Final = "popularity"
SEARCH_ASSETS: Final = (
    "keyword_index",
    "embeddings",
    "preset_vectors",
    "similarity_calibration",
)
_BOOKS_VECTORS: Final = "books_vectors"
_INDEXED_TABLES: Final = ("books", "habit_catalog")
_FROM_TABLES_ONLY: Final = ("source_watermarks", "text", "text_ids", "naive_timezone")


def compose_release(context: BuildContext, records: Iterable[BuildRecord]) -> ReleaseContent:
    """Put builders' outputs together.

    Args:
        context: workspace and settings.
        records: one per asset; later ones win where both made a table.
    """
    by_asset = list(records)
    facts: dict[str, object] = {
        "contract_version": CONTRACT_VERSION,
        "code_hash": code_hash(),
        "code_version": code_version(),
        "tunables": context.settings.tunables(),
        "tunables_hash": context.settings.tunables_hash(),
        "input_digests": {record.asset: record.input_digest for record in by_asset},
        "vector_space_id": None,
        "waiting": dict.fromkeys(_INDEXED_TABLES, 0),
        "leaving": dict.fromkeys(_INDEXED_TABLES, 0),
    }
    for record in by_asset:
        facts |= record.facts
    return ReleaseContent(
        tables={name: parts for record in by_asset for name, parts in record.tables.items()},
        artifacts={name: a for record in by_asset for name, a in record.artifacts.items()},
        files=tuple(file for record in by_asset for file in record.files),
        table_counts={
            name: counts for record in by_asset for name, counts in record.table_counts.items()
        },
        facts=facts,
    )


def compose_newest(context: BuildContext, store: ReleaseStore) -> ReleaseContent:
    """Put the newest outputs that belong together into one content.

    Index, vectors and popularity must come from one catalog; while some of them are still being
    rebuilt, those of the release in service are taken. The books are those of that catalog with the
    prices and stock of the newest load; books the load brought since wait for their texts to be
    indexed. Everything else is the newest.

    Raises:
        NotFound: an asset was never built here, or there is no complete set yet.
    """
    tables = require_record(context.layout, TABLES)
    derived = _newest_set(context)
    content = (
        compose_release(context, [tables, *derived])
        if derived is not None
        else _on_release(store, tables)
    )
    served = _served_books(context, content.tables["books"], tables.tables["books"])
    habits_waiting, habits_leaving = unshared_keys(
        context.layout,
        HABIT_CATALOG,
        indexed=content.tables["habit_catalog"],
        newest=tables.tables["habit_catalog"],
    )
    return replace(
        content,
        tables={**content.tables, "books": served.table},
        facts={
            **content.facts,
            "waiting": {"books": served.waiting, "habit_catalog": habits_waiting},
            "leaving": {"books": served.leaving, "habit_catalog": habits_leaving},
            "books_waiting_since": _waiting_since(store, served),
        },
    )


def indexed_tables(context: BuildContext) -> dict[str, TableParts]:
    """Return the newest clean tables, with the catalog's books and habits in place of theirs.

    Raises:
        NotFound: the tables or the catalog were never built here.
    """
    tables = require_record(context.layout, TABLES).tables
    return {**tables, **require_record(context.layout, CATALOG).tables}


def _newest_set(context: BuildContext) -> list[BuildRecord] | None:
    """Return the catalog and what was made from it; None if some of it is of another catalog."""
    names = (POPULARITY, *(SEARCH_ASSETS if context.settings.run.search_assets else ()))
    catalog = require_record(context.layout, CATALOG)
    records = {name: load_record(context.layout, name) for name in names}
    found = {name: record for name, record in records.items() if record is not None}
    if len(found) < len(names) or not _belong_together(catalog, found):
        return None
    return [catalog, *(require_record(context.layout, name) for name in names)]


def _belong_together(catalog: BuildRecord, derived: Mapping[str, BuildRecord]) -> bool:
    books = catalog.tables["books"].identity
    of_catalog = [
        record for name, record in derived.items() if name in {POPULARITY, *SEARCH_ASSETS[:2]}
    ]
    if any(record.facts.get(CATALOG_FACT) != books for record in of_catalog):
        return False
    scale, embeddings = derived.get(SEARCH_ASSETS[3]), derived.get(SEARCH_ASSETS[1])
    if scale is None or embeddings is None:
        return True
    return scale.facts.get(VECTORS_FACT) == embeddings.artifacts[_BOOKS_VECTORS].identity


def _on_release(store: ReleaseStore, tables: BuildRecord) -> ReleaseContent:
    """Return the content of the release in service with the newest load in it."""
    current = store.current_number()
    base = store.latest() if current is None else store.load(current)
    if base is None:
        raise NotFound(
            "index, vectors and popularity do not belong to one catalog yet, and there is no "
            "earlier release to fall back on; materialise all assets, or run `lifehelper build`"
        )
    newer = {name: t for name, t in tables.tables.items() if name not in _INDEXED_TABLES}
    facts = {name: fact for name, fact in tables.facts.items() if name in _FROM_TABLES_ONLY}
    return ReleaseContent(
        tables={**base.content.tables, **newer},
        artifacts=base.content.artifacts,
        files=tables.files,
        table_counts=tables.table_counts,
        facts={**base.content.facts, **facts},
    )


def _waiting_since(store: ReleaseStore, served: ServedBooks) -> str | None:
    """Return since when the oldest waiting book waits.

    That is the time it bears, else when the release was published that first told of one; None if
    none waits, or if the release being made is the first.
    """
    current = store.current_number()
    if served.waiting_since is not None or not served.waiting or current is None:
        return served.waiting_since.isoformat() if served.waiting_since else None
    before = store.load(current)
    waiting = before.content.facts.get("waiting")
    if not isinstance(waiting, dict) or not waiting.get("books"):
        return None
    known = before.content.facts.get("books_waiting_since")
    return str(known) if known else before.created_at.isoformat()


def _served_books(context: BuildContext, indexed: TableParts, newest: TableParts) -> ServedBooks:
    run = context.settings.run
    with context.scratch() as scratch, context.part_writer(scratch, CATALOG) as writer:
        return served_books(
            context.layout,
            writer,
            indexed=indexed,
            newest=newest,
            threads=run.threads,
            memory_limit=run.memory_limit,
        )

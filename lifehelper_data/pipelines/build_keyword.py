"""Asset `keyword_index`: postings of titles, authors and descriptions; exact-title numbers."""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import polars as pl

from lifehelper_data.domain.build import BuildRecord, BuildReport
from lifehelper_data.domain.contract import SEARCH_TITLES
from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.domain.ids import text_id
from lifehelper_data.domain.release import Artifact, ArtifactFile, ArtifactKind, TableParts
from lifehelper_data.domain.search.bm25 import Bm25, Formula
from lifehelper_data.domain.search.exact_title import title_key
from lifehelper_data.models.korean import KoreanAnalyser
from lifehelper_data.pipelines.build_catalog import CATALOG_FACT
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.stores.build_records import load_record, reusable_record, save_record
from lifehelper_data.stores.keyword_build import build_keyword_index
from lifehelper_data.stores.keyword_index import KeywordIndex
from lifehelper_data.stores.part_check import file_sha256
from lifehelper_data.stores.table_reader import iter_rows, read_rows

ASSET: Final = "keyword_index"
BOOKS: Final = "books_keyword"
HABITS: Final = "habits_keyword"
BUILDER_VERSION: Final = 2
_BOOK_COLUMNS: Final = ("book_id", "title", "author", "description")


def build_keyword(context: BuildContext, tables: Mapping[str, TableParts]) -> BuildReport:
    """Index the words of books and of the habit catalog.

    Only texts that changed are analysed again; the Korean analyser is not loaded if none did.

    Args:
        context: workspace, settings, clock and progress.
        tables: the clean tables.

    Returns:
        The record with the artifacts `books_keyword` and `habits_keyword` and the table
        `search_titles`.
    """
    started = context.seconds()
    analyser = KoreanAnalyser()
    digest = _input_digest(context, tables, analyser)
    last = reusable_record(context.layout, ASSET, digest)
    if last is not None:
        return BuildReport(record=last, reused=True, seconds=context.seconds() - started)
    bm25 = Bm25(formula=Formula(context.settings.search.bm25_formula))
    artifacts: dict[str, Artifact] = {}
    analysed = 0
    for name, documents, total in (
        (BOOKS, iter_rows(context.layout, tables["books"], _BOOK_COLUMNS), tables["books"].rows),
        (HABITS, _habits(context, tables), tables["habit_catalog"].rows),
    ):
        artifacts[name], changed = _index(
            context, name, documents, analyser=analyser, bm25=bm25, total=total
        )
        analysed += changed
    with context.scratch() as scratch, context.part_writer(scratch, ASSET) as writer:
        for frame in iter_rows(context.layout, tables["books"], ("book_id", "title")):
            writer.append(SEARCH_TITLES, _title_keys(frame))
        titles = writer.write(SEARCH_TITLES)
    record = BuildRecord(
        asset=ASSET,
        input_digest=digest,
        built_at=context.clock(),
        tables={SEARCH_TITLES.name: titles},
        artifacts=artifacts,
        facts={
            "analysis_version": analyser.version,
            "texts_analysed": analysed,
            CATALOG_FACT: tables["books"].identity,
        },
    )
    save_record(context.layout, record)
    return BuildReport(record=record, reused=False, seconds=context.seconds() - started)


def _input_digest(
    context: BuildContext, tables: Mapping[str, TableParts], analyser: KoreanAnalyser
) -> str:
    parts = {
        "builder": BUILDER_VERSION,
        "analyser": analyser.version,
        "formula": context.settings.search.bm25_formula,
        "books": tables["books"].identity,
        "habits": tables["habit_catalog"].identity,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _index(
    context: BuildContext,
    name: str,
    documents: Iterable[pl.DataFrame],
    *,
    analyser: KoreanAnalyser,
    bm25: Bm25,
    total: int,
) -> tuple[Artifact, int]:
    report = build_keyword_index(
        context.layout.keyword / name,
        documents,
        analyser,
        previous=_previous(context, name),
        bm25=bm25,
        progress=context.progress,
        total=total,
    )
    files = tuple(_stored(context.layout.root, path) for path in sorted(report.folder.iterdir()))
    artifact = Artifact(
        name=name,
        kind=ArtifactKind.KEYWORD_INDEX,
        path=report.folder.relative_to(context.layout.root).as_posix(),
        identity=report.identity,
        rows=report.rows,
        files=files,
        facts={"analysis_version": analyser.version, **_plain(bm25)},
    )
    return artifact, report.analysed


def _previous(context: BuildContext, name: str) -> KeywordIndex | None:
    last = load_record(context.layout, ASSET)
    if last is None or name not in last.artifacts:
        return None
    try:
        return KeywordIndex.open(context.layout.root / last.artifacts[name].path)
    except Unavailable:
        return None  # damaged or gone: everything is analysed again


def _stored(root: Path, path: Path) -> ArtifactFile:
    return ArtifactFile(
        path=path.relative_to(root).as_posix(),
        bytes_sha256=file_sha256(path),
        size_bytes=path.stat().st_size,
    )


def _habits(context: BuildContext, tables: Mapping[str, TableParts]) -> Iterator[pl.DataFrame]:
    """The habit catalog in the shape of books: number, title, tags, summary and reasons."""
    frame = read_rows(
        context.layout, tables["habit_catalog"], ("item_id", "title", "tags", "summary", "why")
    )
    yield (
        frame.select(
            pl.col("item_id").map_elements(text_id, return_dtype=pl.Int64).alias("book_id"),
            "title",
            pl.col("tags").list.join(" ").alias("author"),
            pl.concat_str("summary", "why", separator=" ", ignore_nulls=True).alias("description"),
        ).sort("book_id")
    )


def _title_keys(frame: pl.DataFrame) -> pl.DataFrame:
    keys = [title_key(title) for title in frame["title"].to_list()]
    return pl.DataFrame({"book_id": frame["book_id"], "title_key": pl.Series(keys, dtype=pl.Int64)})


def _plain(bm25: Bm25) -> dict[str, object]:
    return {
        name: str(value) if isinstance(value, Formula) else value
        for name, value in dataclasses.asdict(bm25).items()
    }

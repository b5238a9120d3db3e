"""Asset `embeddings`: vectors of book and habit texts."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from lifehelper_data.domain.build import BuildRecord, BuildReport
from lifehelper_data.domain.contract import CATALOG_TEXTS
from lifehelper_data.domain.embedding_text import (
    TEXT_VERSION,
    book_text,
    habit_text,
    text_digest,
)
from lifehelper_data.domain.ids import text_id
from lifehelper_data.domain.ports import Progress
from lifehelper_data.domain.release import Artifact, TableParts
from lifehelper_data.models.encoder import Encoder, VectorSpace
from lifehelper_data.models.from_settings import configured_space, encoder_settings
from lifehelper_data.pipelines.build_catalog import CATALOG_FACT
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.pipelines.lazy_encoder import LazyEncoder
from lifehelper_data.stores.build_records import reusable_record, save_record
from lifehelper_data.stores.table_reader import iter_rows, read_rows
from lifehelper_data.stores.vector_artifact import vectors_artifact, vectors_problem
from lifehelper_data.stores.vector_plan import sync_plan
from lifehelper_data.stores.vectors import VectorTable

ASSET: Final = "embeddings"
BOOKS: Final = "books_vectors"
HABITS: Final = "habits_vectors"
BUILDER_VERSION: Final = 2
UPSERT_ROWS: Final = 256
"""Vectors written at a time: what an interrupted build loses at the most."""

_LANCE_NAMES: Final = {BOOKS: "books", HABITS: "habits"}
_Texts = Callable[[], Iterator[tuple[int, str]]]


@dataclass(frozen=True, slots=True)
class _Onward:
    """Shows the progress of one chunk as part of the whole."""

    shown: Progress
    label: str
    before: int
    total: int

    def step(self, label: str, done: int, total: int | None) -> None:
        """Report `done` texts of the chunk."""
        del label, total
        self.shown.step(self.label, self.before + done, self.total)


def build_embeddings(context: BuildContext, tables: Mapping[str, TableParts]) -> BuildReport:
    """Embed what changed.

    A text is embedded again only if its digest (vector space, prompt, text) changed; books without
    a description have no vector; vectors of books that are gone are deleted. Vectors are written
    every `UPSERT_ROWS` texts, so that an interrupted build goes on where it stopped.

    Args:
        context: workspace, settings, clock and progress.
        tables: the clean tables.

    Returns:
        The record with the artifacts `books_vectors` and `habits_vectors` and the table
        `catalog_texts`.

    Raises:
        InvalidRequest: the configured model cannot be used; says why.
        Unavailable: the model cannot be loaded, or the vector store cannot be written.
    """
    started = context.seconds()
    space = configured_space(encoder_settings(context.settings))
    digest = _input_digest(context, tables, space)
    last = reusable_record(context.layout, ASSET, digest)
    if last is not None and not any(
        vectors_problem(context.layout, artifact) for artifact in last.artifacts.values()
    ):
        return BuildReport(record=last, reused=True, seconds=context.seconds() - started)
    encoder = LazyEncoder(context)
    embedded: dict[str, int] = {}
    artifacts: dict[str, Artifact] = {}
    texts: dict[str, _Texts] = {
        BOOKS: lambda: _book_texts(context, tables["books"]),
        HABITS: lambda: _habit_texts(context, tables["habit_catalog"]),
    }
    wanted: dict[str, pl.DataFrame] = {}
    for name, source in texts.items():
        wanted[name] = _wanted(source(), space)
        artifacts[name], embedded[name] = _sync(
            context, name, space=space, wanted=wanted[name], texts=source, encoder=encoder
        )
    with context.scratch() as scratch, context.part_writer(scratch, ASSET) as writer:
        writer.append(CATALOG_TEXTS, wanted[BOOKS].rename({"item_id": "book_id"}))
        catalog_texts = writer.write(CATALOG_TEXTS)
    record = BuildRecord(
        asset=ASSET,
        input_digest=digest,
        built_at=context.clock(),
        tables={CATALOG_TEXTS.name: catalog_texts},
        artifacts=artifacts,
        facts={
            "vector_space_id": space.vector_space_id,
            "vector_dim": space.dim,
            "encoder_model": context.settings.encoder.model,
            "texts_embedded": embedded,
            "encoder_precision": encoder.precision,
            CATALOG_FACT: tables["books"].identity,
        },
    )
    save_record(context.layout, record)
    return BuildReport(record=record, reused=False, seconds=context.seconds() - started)


def _input_digest(
    context: BuildContext, tables: Mapping[str, TableParts], space: VectorSpace
) -> str:
    parts = {
        "builder": BUILDER_VERSION,
        "text": TEXT_VERSION,
        "space": space.vector_space_id,
        "index_from_rows": context.settings.vectors.index_from_rows,
        "inputs": {name: tables[name].identity for name in ("books", "habit_catalog")},
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _book_texts(context: BuildContext, books: TableParts) -> Iterator[tuple[int, str]]:
    for frame in iter_rows(context.layout, books, ("book_id", "title", "description")):
        for book_id, title, description in frame.iter_rows():
            if description is not None:
                yield book_id, book_text(title, description)


def _habit_texts(context: BuildContext, habits: TableParts) -> Iterator[tuple[int, str]]:
    frame = read_rows(context.layout, habits, ("item_id", "title", "summary"))
    for item_id, title, summary in frame.iter_rows():
        yield text_id(item_id), habit_text(title, summary)


def _wanted(texts: Iterable[tuple[int, str]], space: VectorSpace) -> pl.DataFrame:
    ids: list[int] = []
    digests: list[str] = []
    for item_id, text in texts:
        ids.append(item_id)
        digests.append(text_digest(space.vector_space_id, "document", text))
    return pl.DataFrame(
        {"item_id": ids, "text_digest": digests},
        schema={"item_id": pl.Int64, "text_digest": pl.String},
    ).sort("item_id")


def _sync(
    context: BuildContext,
    name: str,
    *,
    space: VectorSpace,
    wanted: pl.DataFrame,
    texts: _Texts,
    encoder: LazyEncoder,
) -> tuple[Artifact, int]:
    """Bring one Lance table to the wanted texts and publish a version of it."""
    lance_name = _LANCE_NAMES[name]
    table = VectorTable.open_or_create(context.layout, lance_name, space.vector_space_id, space.dim)
    with table.writing():
        plan = sync_plan(table.digests(), wanted)
        if len(plan.to_delete):
            table.delete(plan.to_delete)
        if len(plan.to_embed):
            missing = wanted.filter(pl.col("item_id").is_in(plan.to_embed.tolist()))
            _embed(
                context, table, texts, dict(missing.iter_rows()), encoder.get(len(plan.to_embed))
            )
        version = table.publish(index_from_rows=context.settings.vectors.index_from_rows)
    return vectors_artifact(context.layout, name, version), len(plan.to_embed)


def _embed(
    context: BuildContext,
    table: VectorTable,
    texts: _Texts,
    digests: Mapping[int, str],
    encoder: Encoder,
) -> None:
    """Embed the texts that `digests` names, and write them as they come."""
    todo = [(item_id, text) for item_id, text in texts() if item_id in digests]
    todo.sort(key=lambda item: (len(item[1]), item[0]))  # like lengths share a batch
    label = f"embedding {table.name}"
    context.progress.step(label, 0, len(todo))
    for start in range(0, len(todo), UPSERT_ROWS):
        chunk = todo[start : start + UPSERT_ROWS]
        progress = _Onward(context.progress, label, start, len(todo))
        vectors = encoder.encode_documents([text for _, text in chunk], progress)
        ids = np.array([item_id for item_id, _ in chunk], dtype=np.int64)
        table.upsert(ids, [digests[item_id] for item_id, _ in chunk], vectors)
        context.progress.step(label, start + len(chunk), len(todo))

"""Asset `preset_vectors`: prepared vectors of onboarding categories and tags."""

import hashlib
import json
from collections.abc import Mapping
from typing import Final

import polars as pl

from lifehelper_data.domain.build import BuildRecord, BuildReport
from lifehelper_data.domain.contract import PRESET_VECTORS
from lifehelper_data.domain.embedding_text import text_digest
from lifehelper_data.domain.release import TableParts
from lifehelper_data.models.from_settings import configured_space, encoder_settings
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.pipelines.lazy_encoder import LazyEncoder
from lifehelper_data.stores.build_records import (
    load_record,
    missing_parts,
    reusable_record,
    save_record,
)
from lifehelper_data.stores.table_reader import read_rows

ASSET: Final = "preset_vectors"
BUILDER_VERSION: Final = 1

Words = list[tuple[str, str]]
"""(kind, name), sorted."""


def build_presets(context: BuildContext, tables: Mapping[str, TableParts]) -> BuildReport:
    """Embed every onboarding category and tag that a user may have chosen.

    Words are embedded under the query prompt: a taste is what somebody asks for.

    Args:
        context: workspace, settings, clock and progress.
        tables: the clean tables.

    Returns:
        The record with the table `preset_vectors`.
    """
    started = context.seconds()
    space = configured_space(encoder_settings(context.settings)).vector_space_id
    words = _words(context, tables)
    digests = [text_digest(space, "query", name) for _, name in words]
    digest = hashlib.sha256(json.dumps([BUILDER_VERSION, words, digests]).encode()).hexdigest()
    last = reusable_record(context.layout, ASSET, digest)
    if last is not None:
        return BuildReport(record=last, reused=True, seconds=context.seconds() - started)
    vectors = _known(context)
    new = {d: name for d, (_, name) in zip(digests, words, strict=True) if d not in vectors}
    if new:
        encoded = LazyEncoder(context).get(len(new)).encode_queries(list(new.values()))
        vectors |= {key: row.tolist() for key, row in zip(new, encoded, strict=True)}
    with context.scratch() as scratch, context.part_writer(scratch, ASSET) as writer:
        writer.append(
            PRESET_VECTORS,
            pl.DataFrame(
                {
                    "kind": [kind for kind, _ in words],
                    "name": [name for _, name in words],
                    "text_digest": digests,
                    "vector": [vectors[key] for key in digests],
                },
                schema={
                    "kind": pl.String,
                    "name": pl.String,
                    "text_digest": pl.String,
                    "vector": pl.List(pl.Float32),
                },
            ),
        )
        written = writer.write(PRESET_VECTORS)
    record = BuildRecord(
        asset=ASSET,
        input_digest=digest,
        built_at=context.clock(),
        tables={PRESET_VECTORS.name: written},
    )
    save_record(context.layout, record)
    return BuildReport(record=record, reused=False, seconds=context.seconds() - started)


def _words(context: BuildContext, tables: Mapping[str, TableParts]) -> Words:
    categories: set[str] = set(
        read_rows(context.layout, tables["category_map"], ("category",))["category"].to_list()
    )
    chosen = read_rows(context.layout, tables["onboarding"], ("categories", "tags"))
    categories |= set(chosen["categories"].explode().drop_nulls().to_list())
    tags = set(chosen["tags"].explode().drop_nulls().to_list())
    return sorted([*(("category", c) for c in categories), *(("tag", t) for t in tags)])


def _known(context: BuildContext) -> dict[str, list[float]]:
    """Vectors of the last output by text digest; they are not computed again."""
    last = load_record(context.layout, ASSET)
    if last is None or missing_parts(context.layout, last):
        return {}
    table = last.tables[PRESET_VECTORS.name]
    return dict(read_rows(context.layout, table, ("text_digest", "vector")).iter_rows())

"""Asset `similarity_calibration`: where cosines of the vector space begin and end to count."""

import hashlib
import json
from typing import Final

import polars as pl

from lifehelper_data.domain.build import BuildRecord, BuildReport
from lifehelper_data.domain.calibration import measure_scale
from lifehelper_data.domain.contract import SIMILARITY_CALIBRATION
from lifehelper_data.domain.release import Artifact
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.stores.build_records import reusable_record, save_record
from lifehelper_data.stores.vector_artifact import open_vectors

ASSET: Final = "similarity_calibration"
BUILDER_VERSION: Final = 2
VECTORS_FACT: Final = "calibrated_vectors"
"""Fact that says which vectors the scale was measured on."""


def build_calibration(context: BuildContext, books: Artifact) -> BuildReport:
    """Measure floor and ceiling of the cosines between books.

    Args:
        context: workspace, settings, clock and progress.
        books: the artifact `books_vectors`.

    Returns:
        The record with the table `similarity_calibration`: one row, or none with fewer than two
        vectors.
    """
    started = context.seconds()
    tunables = context.settings.vectors
    parts = [BUILDER_VERSION, books.identity, tunables.model_dump(mode="json")]
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    last = reusable_record(context.layout, ASSET, digest)
    if last is not None:
        return BuildReport(record=last, reused=True, seconds=context.seconds() - started)
    context.progress.step("measuring the similarity scale", 0, None)
    scale = measure_scale(
        open_vectors(context.layout, books).vectors,
        random_pairs=tunables.calibration_pairs,
        neighbours=tunables.calibration_neighbours,
        seed=tunables.seed,
    )
    with context.scratch() as scratch, context.part_writer(scratch, ASSET) as writer:
        if scale is not None:
            row = {
                "vector_space_id": str(books.facts["vector_space_id"]),
                "vectors_digest": books.identity,
                "floor": scale.floor,
                "ceiling": scale.ceiling,
                "random_pairs": scale.random_pairs,
                "neighbours": scale.neighbours,
            }
            writer.append(SIMILARITY_CALIBRATION, pl.DataFrame([row]))
        written = writer.write(SIMILARITY_CALIBRATION)
    record = BuildRecord(
        asset=ASSET,
        input_digest=digest,
        built_at=context.clock(),
        tables={SIMILARITY_CALIBRATION.name: written},
        facts={VECTORS_FACT: books.identity},
    )
    save_record(context.layout, record)
    return BuildReport(record=record, reused=False, seconds=context.seconds() - started)

"""What search stands on: keyword indexes, vectors, prepared vectors, the similarity scale."""

from collections.abc import Iterator

import dagster as dg

from dagster_project.automation import WHEN_INPUTS_CHANGE
from dagster_project.metadata import artifact_metadata, column_schema, table_metadata
from dagster_project.resources import WorkspaceResource
from lifehelper_data.pipelines.build_calibration import build_calibration
from lifehelper_data.pipelines.build_embeddings import build_embeddings
from lifehelper_data.pipelines.build_keyword import build_keyword
from lifehelper_data.pipelines.build_presets import build_presets
from lifehelper_data.pipelines.compose import indexed_tables
from lifehelper_data.stores.build_records import require_record

KEYWORD = {"keyword_index": "books_keyword", "habit_keyword_index": "habits_keyword"}
VECTORS = {"catalog_embeddings": "books_vectors", "habit_embeddings": "habits_vectors"}
MEANINGS = {
    "keyword_index": "Postings of titles, authors and descriptions of books.",
    "habit_keyword_index": "Postings of the habit catalog.",
    "catalog_embeddings": "One vector for every book with a description; only what changed.",
    "habit_embeddings": "One vector for every habit; only what changed.",
}


def _specs(names: dict[str, str], kind: str) -> list[dg.AssetSpec]:
    return [
        dg.AssetSpec(
            name,
            deps=["catalog_texts"],
            group_name="habits" if name.startswith("habit") else "search",
            description=MEANINGS[name],
            kinds={kind},
            owners=["team:ml"],
            automation_condition=WHEN_INPUTS_CHANGE,
        )
        for name in names
    ]


@dg.multi_asset(name="keyword_indexes", specs=_specs(KEYWORD, "numpy"))
def keyword_indexes(workspace: WorkspaceResource) -> Iterator[dg.MaterializeResult[None]]:
    """Analyse the texts that changed and index all."""
    with workspace.building() as context:
        report = build_keyword(context, indexed_tables(context))
    for asset, artifact in KEYWORD.items():
        yield dg.MaterializeResult(
            asset_key=asset,
            metadata=artifact_metadata(report, artifact),
            data_version=dg.DataVersion(report.record.artifacts[artifact].identity),
        )


@dg.multi_asset(name="embeddings", specs=_specs(VECTORS, "lancedb"))
def embeddings(workspace: WorkspaceResource) -> Iterator[dg.MaterializeResult[None]]:
    """Embed the texts that changed and publish a version of the vectors."""
    with workspace.building() as context:
        report = build_embeddings(context, indexed_tables(context))
    for asset, artifact in VECTORS.items():
        yield dg.MaterializeResult(
            asset_key=asset,
            metadata=artifact_metadata(report, artifact),
            data_version=dg.DataVersion(report.record.artifacts[artifact].identity),
        )


@dg.asset(
    deps=["category_map", "onboarding"],
    group_name="search",
    kinds={"parquet"},
    owners=["team:ml"],
    metadata=column_schema("preset_vectors"),
    automation_condition=WHEN_INPUTS_CHANGE,
)
def preset_vectors(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """Prepared vectors of onboarding categories and tags."""
    with workspace.building() as context:
        report = build_presets(context, require_record(context.layout, "tables").tables)
    return dg.MaterializeResult(
        metadata=table_metadata(context.layout, report, "preset_vectors"),
        data_version=dg.DataVersion(report.record.input_digest),
    )


@dg.asset(
    deps=["catalog_embeddings"],
    group_name="search",
    kinds={"numpy"},
    owners=["team:ml"],
    metadata=column_schema("similarity_calibration"),
    automation_condition=WHEN_INPUTS_CHANGE,
)
def similarity_calibration(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """Where cosines of the vector space begin and end to mean something."""
    with workspace.building() as context:
        books = require_record(context.layout, "embeddings").artifacts["books_vectors"]
        report = build_calibration(context, books)
    return dg.MaterializeResult(
        metadata=table_metadata(context.layout, report, "similarity_calibration"),
        data_version=dg.DataVersion(report.record.input_digest),
    )

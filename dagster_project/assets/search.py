"""What search stands on: keyword index, vectors, prepared vectors, the similarity scale."""

import dagster as dg

from dagster_project.metadata import artifact_metadata, table_metadata
from dagster_project.resources import WorkspaceResource
from lifehelper_data.pipelines.build_calibration import build_calibration
from lifehelper_data.pipelines.build_embeddings import build_embeddings
from lifehelper_data.pipelines.build_keyword import build_keyword
from lifehelper_data.pipelines.build_presets import build_presets
from lifehelper_data.stores.build_records import require_record

SEARCH_ASSETS = ("keyword_index", "embeddings", "preset_vectors", "similarity_calibration")


@dg.asset(
    deps=["books", "habit_catalog"], group_name="search", kinds={"numpy"}, owners=["team:data"]
)
def keyword_index(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """Postings of titles, authors and descriptions of books, and of the habit catalog."""
    with workspace.building() as context:
        clean = require_record(context.layout, "tables").tables
        record = build_keyword(context, clean).record
    return dg.MaterializeResult(
        metadata=artifact_metadata(record), data_version=dg.DataVersion(record.input_digest)
    )


@dg.asset(
    deps=["books", "habit_catalog"], group_name="search", kinds={"lancedb"}, owners=["team:data"]
)
def embeddings(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """One vector for every book with a description, and for every habit; only what changed."""
    with workspace.building() as context:
        clean = require_record(context.layout, "tables").tables
        record = build_embeddings(context, clean).record
    return dg.MaterializeResult(
        metadata=artifact_metadata(record), data_version=dg.DataVersion(record.input_digest)
    )


@dg.asset(
    deps=["category_map", "onboarding"],
    group_name="search",
    kinds={"parquet"},
    owners=["team:data"],
)
def preset_vectors(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """Prepared vectors of onboarding categories and tags."""
    with workspace.building() as context:
        clean = require_record(context.layout, "tables").tables
        record = build_presets(context, clean).record
    return dg.MaterializeResult(
        metadata=table_metadata(record, "preset_vectors"),
        data_version=dg.DataVersion(record.input_digest),
    )


@dg.asset(deps=[embeddings], group_name="search", kinds={"numpy"}, owners=["team:data"])
def similarity_calibration(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """Where cosines of the vector space begin and end to mean something."""
    with workspace.building() as context:
        books = require_record(context.layout, "embeddings").artifacts["books_vectors"]
        record = build_calibration(context, books).record
    return dg.MaterializeResult(
        metadata=table_metadata(record, "similarity_calibration"),
        data_version=dg.DataVersion(record.input_digest),
    )

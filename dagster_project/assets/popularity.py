"""Popularity of every book."""

import dagster as dg

from dagster_project.metadata import table_metadata
from dagster_project.resources import WorkspaceResource
from lifehelper_data.pipelines.build_popularity import INPUTS, build_popularity
from lifehelper_data.stores.build_records import require_record


@dg.asset(
    deps=list(INPUTS), group_name="derived", kinds={"duckdb", "parquet"}, owners=["team:data"]
)
def popularity(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """Sales, ratings and a value between 0 and 1 for every book."""
    with workspace.building() as context:
        clean = require_record(context.layout, "tables")
        record = build_popularity(context, clean.tables).record
    return dg.MaterializeResult(
        metadata=table_metadata(record, "popularity"),
        data_version=dg.DataVersion(record.tables["popularity"].identity),
    )

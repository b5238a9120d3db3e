"""The texts that are to be indexed."""

import dagster as dg

from dagster_project.automation import ONCE
from dagster_project.metadata import build_metadata
from dagster_project.resources import WorkspaceResource
from lifehelper_data.pipelines.build_catalog import build_catalog
from lifehelper_data.stores.build_records import require_record


@dg.asset(
    deps=["books", "habit_catalog"],
    group_name="catalog",
    kinds={"duckdb", "parquet"},
    owners=["team:data"],
    automation_condition=ONCE,
)
def catalog_texts(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """Books and habits whose texts may be served; prices and stock do not move it."""
    with workspace.building() as context:
        report = build_catalog(context, require_record(context.layout, "tables").tables)
    return dg.MaterializeResult(
        metadata=build_metadata(report) | {"books": report.record.tables["books"].rows},
        data_version=dg.DataVersion(report.record.input_digest),
    )

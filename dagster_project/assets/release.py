"""The release that readers see."""

import dagster as dg

from dagster_project.assets.search import SEARCH_ASSETS
from dagster_project.assets.tables import CLEAN_TABLES
from dagster_project.metadata import release_metadata
from dagster_project.resources import WorkspaceResource
from lifehelper_data.pipelines.build_release import compose_release, publish_release
from lifehelper_data.stores.build_records import require_record

RELEASED = ("tables", "popularity", *SEARCH_ASSETS)


@dg.asset(
    deps=[*(table.name for table in CLEAN_TABLES), "popularity", *SEARCH_ASSETS],
    group_name="release",
    kinds={"duckdb"},
    owners=["team:data"],
)
def release(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """All tables, published together, checked and put in service."""
    with workspace.building() as context:
        records = [require_record(context.layout, name) for name in RELEASED]
        report = publish_release(context, workspace.store(), compose_release(context, records))
    return dg.MaterializeResult(
        metadata=release_metadata(report), data_version=dg.DataVersion(report.release.identity)
    )

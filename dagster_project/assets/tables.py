"""Source tables, clean and counted."""

from collections.abc import Iterator

import dagster as dg

from dagster_project.automation import CLEAN_TABLES, policy
from dagster_project.metadata import column_schema, table_metadata
from dagster_project.resources import WorkspaceResource
from lifehelper_data.domain.contract import HISTORY_TABLES
from lifehelper_data.pipelines.build_tables import build_tables

REFRESHED = ("books", *HISTORY_TABLES)

SOURCE = dg.AssetSpec(
    "source",
    group_name="source",
    kinds={"csv", "postgres"},
    owners=["team:shop"],
    description="The shop's files or database, read through a mapping file; never written.",
)


class LoadConfig(dg.Config):
    """How to load.

    Attributes:
        full_read: read tables with `incremental` in full; finds deletions and late rows.
    """

    full_read: bool = False


@dg.multi_asset(
    name="tables",
    specs=[
        dg.AssetSpec(
            table.name,
            deps=["source"],
            group_name="clean_tables",
            description=table.meaning,
            kinds={"duckdb", "parquet"},
            owners=["team:data"],
            metadata=column_schema(table.name),
            freshness_policy=policy(300) if table.name in REFRESHED else None,
        )
        for table in CLEAN_TABLES
    ],
)
def tables(
    workspace: WorkspaceResource, config: LoadConfig
) -> Iterator[dg.MaterializeResult[None]]:
    """The shop's rows become contract tables; each is kept, repeated or in quarantine."""
    before = workspace.watermarks()
    with workspace.building() as context:
        report = build_tables(context, workspace.mapping_file(), full_read=config.full_read)
    for table in CLEAN_TABLES:
        yield dg.MaterializeResult(
            asset_key=table.name,
            metadata=table_metadata(context.layout, report, table.name, before),
            data_version=dg.DataVersion(report.record.tables[table.name].identity),
        )

"""Source tables, clean and counted."""

from collections.abc import Iterator

import dagster as dg

from dagster_project.metadata import table_metadata
from dagster_project.resources import WorkspaceResource
from lifehelper_data.domain.contract import PLATFORM_TABLES, TABLES
from lifehelper_data.pipelines.build_tables import build_tables

CLEAN_TABLES = [*TABLES.values(), *(PLATFORM_TABLES[n] for n in ("quarantine", "rejects"))]


@dg.multi_asset(
    name="tables",
    specs=[
        dg.AssetSpec(
            table.name,
            group_name="source",
            description=table.meaning,
            kinds={"duckdb", "parquet"},
            owners=["team:data"],
        )
        for table in CLEAN_TABLES
    ],
)
def tables(workspace: WorkspaceResource) -> Iterator[dg.MaterializeResult[None]]:
    """Files of the shop become contract tables; every row is kept, repeated or in quarantine."""
    with workspace.building() as context:
        record = build_tables(context, workspace.mapping_file()).record
    for table in CLEAN_TABLES:
        yield dg.MaterializeResult(
            asset_key=table.name,
            metadata=table_metadata(record, table.name),
            data_version=dg.DataVersion(record.tables[table.name].identity),
        )

"""Popularity of every book."""

import dagster as dg

from dagster_project.automation import WHEN_CATALOG_CHANGES, policy
from dagster_project.metadata import column_schema, table_metadata
from dagster_project.resources import WorkspaceResource
from lifehelper_data.pipelines.build_popularity import build_popularity
from lifehelper_data.pipelines.compose import indexed_tables


@dg.asset(
    deps=["catalog_texts", "book_popularity", "user_purchases", "user_reviews"],
    group_name="catalog",
    kinds={"duckdb", "parquet"},
    owners=["team:data"],
    metadata=column_schema("popularity"),
    automation_condition=WHEN_CATALOG_CHANGES,
    freshness_policy=policy(86_400),
)
def popularity(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """Sales, ratings and a value between 0 and 1 for every book."""
    with workspace.building() as context:
        report = build_popularity(context, indexed_tables(context))
    return dg.MaterializeResult(
        metadata=table_metadata(context.layout, report, "popularity"),
        data_version=dg.DataVersion(report.record.tables["popularity"].identity),
    )

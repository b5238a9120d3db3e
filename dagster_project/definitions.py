"""Everything Dagster loads."""

from typing import Final

import dagster as dg

from dagster_project import automation, checks, sensors
from dagster_project.assets import catalog, popularity, release, search, tables
from dagster_project.resources import WorkspaceResource

ASSETS: Final[list[dg.AssetsDefinition | dg.AssetSpec]] = [
    tables.SOURCE,
    tables.tables,
    catalog.catalog_texts,
    popularity.popularity,
    search.keyword_indexes,
    search.embeddings,
    search.preset_vectors,
    search.similarity_calibration,
    release.staged_release,
    release.promoted_release,
    release.report,
]


@dg.definitions
def definitions() -> dg.Definitions:
    """Assets, checks, jobs, schedules and sensors of one workspace (LIFEHELPER_WORKSPACE)."""
    return dg.Definitions(
        assets=ASSETS,
        asset_checks=[checks.freshness],
        jobs=automation.JOBS,
        schedules=automation.SCHEDULES,
        sensors=[automation.AUTOMATION_SENSOR, sensors.source_changed, sensors.failure_webhook],
        resources={"workspace": WorkspaceResource(path=dg.EnvVar("LIFEHELPER_WORKSPACE"))},
        executor=dg.in_process_executor,
    )

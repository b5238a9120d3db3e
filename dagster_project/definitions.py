"""Everything Dagster loads."""

import dagster as dg

from dagster_project.assets import popularity, release, search, tables
from dagster_project.resources import WorkspaceResource


@dg.definitions
def definitions() -> dg.Definitions:
    """Assets, jobs and resources of one workspace (LIFEHELPER_WORKSPACE)."""
    return dg.Definitions(
        assets=[
            tables.tables,
            popularity.popularity,
            search.keyword_index,
            search.embeddings,
            search.preset_vectors,
            search.similarity_calibration,
            release.release,
        ],
        jobs=[dg.define_asset_job("build_all", selection="*")],
        resources={"workspace": WorkspaceResource(path=dg.EnvVar("LIFEHELPER_WORKSPACE"))},
        executor=dg.in_process_executor,
    )

"""From outputs to what readers see: staged, checked, promoted, shown."""

from collections.abc import Iterator

import dagster as dg

from dagster_project.assets.search import KEYWORD, VECTORS
from dagster_project.automation import CLEAN_TABLES, WHEN_INPUTS_CHANGE, WHEN_STAGED
from dagster_project.checks import RELEASE_CHECKS
from dagster_project.metadata import check_result, release_metadata, staged_metadata
from dagster_project.resources import WorkspaceResource
from lifehelper_data.evaluation.report.page import report_file, write_report
from lifehelper_data.pipelines.build_release import promote_staged, stage_release
from lifehelper_data.pipelines.compose import compose_newest
from lifehelper_data.runtime.workspace import Workspace

CATALOG_ASSETS = ("catalog_texts", "popularity", "preset_vectors", "similarity_calibration")


@dg.asset(
    deps=[*(table.name for table in CLEAN_TABLES), *CATALOG_ASSETS, *KEYWORD, *VECTORS],
    group_name="release",
    kinds={"duckdb"},
    owners=["team:data"],
    automation_condition=WHEN_INPUTS_CHANGE,
    check_specs=RELEASE_CHECKS,
)
def staged_release(
    workspace: WorkspaceResource,
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """The newest outputs that belong together, published beside the release in service."""
    store = workspace.store()
    with workspace.building() as context:
        staged = stage_release(context, store, compose_newest(context, store))
    yield dg.MaterializeResult(
        metadata=staged_metadata(staged), data_version=dg.DataVersion(str(staged.release.number))
    )
    for check in staged.checks:
        yield check_result("staged_release", check)


@dg.asset(
    deps=["staged_release"],
    group_name="release",
    kinds={"duckdb"},
    owners=["team:data"],
    automation_condition=WHEN_STAGED,
)
def promoted_release(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """The release that readers open, once the blocking checks hold."""
    with workspace.building() as context:
        report = promote_staged(context, workspace.store())
    return dg.MaterializeResult(
        metadata=release_metadata(report), data_version=dg.DataVersion(str(report.release.number))
    )


@dg.asset(
    deps=["promoted_release"],
    group_name="release",
    kinds={"html"},
    owners=["team:data"],
    automation_condition=WHEN_INPUTS_CHANGE,
)
def report(workspace: WorkspaceResource) -> dg.MaterializeResult[None]:
    """A page on the release in service: what came in, what was refused, plots, searches."""
    with Workspace.open(workspace.layout.root) as opened:
        page = write_report(opened, report_file(workspace.layout.root))
        number = opened.release.number
    return dg.MaterializeResult(
        metadata={"page": dg.MetadataValue.path(str(page)), "release": number},
        data_version=dg.DataVersion(str(number)),
    )

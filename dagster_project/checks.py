"""Asset checks: those of a staged release, and the freshness of what is in service."""

from collections.abc import Iterator
from typing import Final

import dagster as dg

from dagster_project.resources import WorkspaceResource
from lifehelper_data.domain.freshness import MEANINGS, Served
from lifehelper_data.pipelines.checks import BLOCKING, CHECKS
from lifehelper_data.pipelines.freshness import current_freshness

IN_SERVICE: Final = "promoted_release"
"""Where ages are shown: on what readers see, measured after every promotion too. Beside the asset
an age is about, each run of it would measure the release before its own."""

RELEASE_CHECKS: Final = [
    dg.AssetCheckSpec(
        name,
        asset="staged_release",
        blocking=name in BLOCKING,
        description=(check.__doc__ or "").strip().split("\n")[0],
    )
    for name, check in CHECKS.items()
]


@dg.multi_asset_check(
    name="freshness",
    specs=[
        dg.AssetCheckSpec(
            f"fresh_{served}",
            asset=IN_SERVICE,
            description=f"The age of {MEANINGS[served]} is within its budget.",
        )
        for served in Served
    ],
)
def freshness(workspace: WorkspaceResource) -> Iterator[dg.AssetCheckResult]:
    """Ages of what is in service. A breach warns; reading goes on."""
    for measured in current_freshness(workspace.context(), workspace.store()):
        age_s = -1.0 if measured.age is None else measured.age.total_seconds()
        yield dg.AssetCheckResult(
            asset_key=IN_SERVICE,
            check_name=f"fresh_{measured.served}",
            passed=measured.fresh,
            severity=dg.AssetCheckSeverity.WARN,
            description=measured.detail,
            metadata={"age_s": age_s, "budget_s": measured.budget.total_seconds()},
        )

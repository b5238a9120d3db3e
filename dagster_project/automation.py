"""When things run. Loads have schedules; what is derived runs when what it reads changed.

A condition looks at data versions: a load that finds nothing new gives its tables the versions
they had, and nothing downstream runs.
"""

from datetime import timedelta
from typing import Final

import dagster as dg

from lifehelper_data.domain.contract import PLATFORM_TABLES, TABLES

TIMEZONE: Final = "Asia/Seoul"
RETRIES: Final = {"dagster/max_retries": "2", "dagster/retry_strategy": "FROM_FAILURE"}
"""A failed run is started again from the steps that failed, up to twice."""

CLEAN_TABLES: Final = [*TABLES.values(), PLATFORM_TABLES["quarantine"], PLATFORM_TABLES["rejects"]]
"""What a load makes, in order."""

_IDLE: Final = (
    ~dg.AutomationCondition.any_deps_missing()
    & ~dg.AutomationCondition.any_deps_in_progress()
    & ~dg.AutomationCondition.in_progress()
)

_HANDLED: Final = dg.AutomationCondition.newly_requested() | dg.AutomationCondition.newly_updated()
"""Not the first evaluation, as `since_last_handled` has it: what is missing then is wanted, too."""

WHEN_INPUTS_CHANGE: Final = (
    (
        dg.AutomationCondition.any_deps_match(dg.AutomationCondition.data_version_changed())
        | dg.AutomationCondition.newly_missing()
    ).since(_HANDLED)
    & _IDLE
).with_label("when the data version of an input changes")

ONCE: Final = (dg.AutomationCondition.missing().newly_true().since(_HANDLED) & _IDLE).with_label(
    "once, as soon as its inputs are there; then on its schedule"
)

WHEN_CATALOG_CHANGES: Final = (
    (
        dg.AutomationCondition.any_deps_match(dg.AutomationCondition.data_version_changed()).allow(
            dg.AssetSelection.assets("catalog_texts")
        )
        | dg.AutomationCondition.missing().newly_true()
    ).since(_HANDLED)
    & _IDLE
).with_label("when books come or go; else on its schedule")

WHEN_STAGED: Final = (
    WHEN_INPUTS_CHANGE & dg.AutomationCondition.all_deps_blocking_checks_passed()
).with_label("when another release is staged and its blocking checks hold")

_LOADED: Final = dg.AssetSelection.assets(*(table.name for table in CLEAN_TABLES)).without_checks()

load_tables = dg.define_asset_job(
    "load_tables",
    selection=_LOADED,
    description="Read what is new at the source: prices, stock, history, books.",
    tags=RETRIES,
)
index_catalog = dg.define_asset_job(
    "index_catalog",
    selection=dg.AssetSelection.assets("catalog_texts"),
    description="Take over new and changed texts; index, vectors and popularity follow.",
    tags=RETRIES,
)
count_popularity = dg.define_asset_job(
    "count_popularity",
    selection=dg.AssetSelection.assets("popularity").without_checks(),
    description="Count sales again.",
    tags=RETRIES,
)
full_read = dg.define_asset_job(
    "full_read",
    selection=_LOADED,
    config={"ops": {"tables": {"config": {"full_read": True}}}},
    description="Read the whole source: finds rows that were deleted or came too late.",
    tags=RETRIES,
)
build_all = dg.define_asset_job(
    "build_all",
    selection=(dg.AssetSelection.all() - dg.AssetSelection.all_asset_checks())
    | dg.AssetSelection.checks_for_assets("staged_release"),
    description="Everything once, as `lifehelper build` does.",
    tags=RETRIES,
)
check_freshness = dg.define_asset_job(
    "check_freshness",
    selection=dg.AssetSelection.all_asset_checks()
    - dg.AssetSelection.checks_for_assets("staged_release"),
    description="Hold the age of what is in service against its budgets.",
)

JOBS: Final = [load_tables, index_catalog, count_popularity, full_read, build_all, check_freshness]


def _schedule(
    name: str, job: dg.JobDefinition | object, cron: str, description: str
) -> dg.ScheduleDefinition:
    return dg.ScheduleDefinition(
        name=name,
        job=job,  # type: ignore[arg-type] # jobs are unresolved until the definitions are
        cron_schedule=cron,
        execution_timezone=TIMEZONE,
        description=description,
        default_status=dg.DefaultScheduleStatus.RUNNING,
    )


SCHEDULES: Final = [
    _schedule("every_5_minutes", load_tables, "*/5 * * * *", "Prices, stock and history."),
    _schedule("hourly_catalog", index_catalog, "10 * * * *", "New books with their vectors."),
    _schedule("daily_popularity", count_popularity, "30 4 * * *", "Popularity of every book."),
    _schedule("nightly_full_read", full_read, "15 3 * * *", "Deletions and late rows."),
    _schedule("freshness_checks", check_freshness, "2-59/5 * * * *", "Budgets of freshness."),
]

AUTOMATION_SENSOR: Final = dg.AutomationConditionSensorDefinition(
    "downstream_of_changes",
    target=dg.AssetSelection.all(),
    run_tags=RETRIES,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Starts what is derived when what it reads changed.",
)


def policy(budget_s: float) -> dg.FreshnessPolicy:
    """Warn once an asset has not been materialised for its budget, fail at twice that."""
    return dg.FreshnessPolicy.time_window(
        fail_window=timedelta(seconds=2 * budget_s), warn_window=timedelta(seconds=budget_s)
    )

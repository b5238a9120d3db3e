"""What starts a run from outside the clock, and who hears of a failed one."""

import dagster as dg

from dagster_project.automation import load_tables
from dagster_project.resources import WorkspaceResource
from dagster_project.webhook import failure_document, post_json
from lifehelper_data.pipelines.source_fingerprint import source_fingerprint


@dg.sensor(
    job=load_tables,
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Loads as soon as a file of the source, or its mapping, was changed.",
)
def source_changed(
    context: dg.SensorEvaluationContext, workspace: WorkspaceResource
) -> dg.SensorResult | dg.SkipReason:
    found = source_fingerprint(workspace.mapping_file())
    if found.digest is None:
        return dg.SkipReason("the source is a database; its schedules read it")
    if found.digest == context.cursor:
        return dg.SkipReason(f"{found.files} files, none changed")
    seen = dg.AssetObservation("source", metadata={"files": found.files, "bytes": found.size_bytes})
    return dg.SensorResult(
        run_requests=[dg.RunRequest(run_key=found.digest)],
        cursor=found.digest,
        asset_events=[seen],
    )


@dg.run_failure_sensor(
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Posts a JSON document to `alerts.webhook_url` for every failed run.",
)
def failure_webhook(
    context: dg.RunFailureSensorContext, workspace: WorkspaceResource
) -> dg.SkipReason | None:
    alerts = workspace.settings.alerts
    if alerts.webhook_url is None:
        return dg.SkipReason("alerts.webhook_url is not set")
    post_json(alerts.webhook_url, failure_document(context), timeout_s=alerts.timeout_s)
    return None

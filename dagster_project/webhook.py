"""The failure hook: one JSON document by POST."""

import json
import urllib.error
import urllib.request
from urllib.parse import urlsplit

import dagster as dg

from lifehelper_data.domain.errors import Unavailable


def failure_document(context: dg.RunFailureSensorContext) -> dict[str, object]:
    """Which run failed, in which steps, and why, in the first line of each error."""
    run = context.dagster_run
    steps = {}
    for event in context.get_step_failure_events():
        error = event.step_failure_data.error
        cause = error.cause if error is not None and error.cause is not None else error
        steps[event.step_key or ""] = "" if cause is None else cause.message.strip().split("\n")[0]
    return {
        "event": "run_failed",
        "run_id": run.run_id,
        "job": run.job_name,
        "message": context.failure_event.message,
        "steps": steps,
        "retry_of": run.parent_run_id,
    }


def post_json(url: str, document: dict[str, object], *, timeout_s: float) -> None:
    """Send a document.

    Raises:
        Unavailable: nobody there takes it; the message names the host, not the address, which may
            hold a secret.
    """
    body = json.dumps(document, ensure_ascii=False).encode()
    request = urllib.request.Request(  # noqa: S310 # settings allow http and https only
        url, data=body, headers={"Content-Type": "application/json"}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=timeout_s):  # noqa: S310 # as above
            return
    except (urllib.error.URLError, TimeoutError) as error:
        host = urlsplit(url).hostname
        raise Unavailable(
            f"webhook at {host!r} did not take the failure of a run ({error}); check "
            "alerts.webhook_url"
        ) from error

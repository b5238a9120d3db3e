"""`lifehelper dagster`: the web UI with everything that is scheduled."""

import os
import subprocess
import sys
from importlib.util import find_spec
from typing import Annotated, Final

import typer

from lifehelper_data.cli.options import DEFAULT_WORKSPACE, WorkspaceOption, existing_layout
from lifehelper_data.cli.output import err
from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.stores.layout import Layout

MODULE: Final = "dagster_project.definitions"
_CONFIG: Final = """\
# Where runs, schedules and sensors of this workspace are kept. Yours to change.
nux:
  enabled: false
telemetry:
  enabled: false
run_retries:
  enabled: true
concurrency:
  runs:
    max_concurrent_runs: 2
retention:
  schedule:
    purge_after_days: 30
  sensor:
    purge_after_days:
      skipped: 7
"""


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("dagster")(dagster)


def dagster(
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port of the web UI.")] = 3000,
    host: Annotated[str, typer.Option(help="Address the web UI listens on.")] = "127.0.0.1",
) -> None:
    """Open the web UI: asset graph, checks, schedules, sensors, runs. Schedules run while it does.

    Its home is the folder `dagster` of the workspace; telemetry is off.
    """
    if find_spec("dagster") is None or find_spec("dagster_webserver") is None:
        raise Unavailable("dagster is not installed; run `make install`")
    layout = existing_layout(workspace)
    err.print(f"http://{host}:{port} (workspace {layout.root}; Ctrl-C ends it)", markup=False)
    command = [sys.executable, "-m", "dagster", "dev", "-m", MODULE, "-h", host, "-p", str(port)]
    done = subprocess.run(command, env=dagster_environment(layout), check=False)  # noqa: S603 # ours
    raise typer.Exit(done.returncode)


def dagster_environment(layout: Layout) -> dict[str, str]:
    """Prepare Dagster's home in a workspace; return the environment that uses it."""
    from lifehelper_data.stores.atomic import write_text

    home = layout.dagster_home
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "dagster.yaml").exists():
        write_text(home / "dagster.yaml", _CONFIG)
    return os.environ | {
        "DAGSTER_HOME": str(home),
        "DAGSTER_DISABLE_TELEMETRY": "1",
        "LIFEHELPER_WORKSPACE": str(layout.root),
    }

"""`lifehelper report`: the page of a release."""

from pathlib import Path
from typing import Annotated

import typer

from lifehelper_data.cli.options import (
    DEFAULT_WORKSPACE,
    JsonOption,
    ReleaseOption,
    WorkspaceOption,
)
from lifehelper_data.cli.output import err, out, print_json


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("report")(report)


def report(
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    release: ReleaseOption = "current",
    to: Annotated[
        Path | None,
        typer.Option("--out", help="File to write; default: in the workspace's folder report."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the page of a release: one HTML file that opens without a network."""
    from lifehelper_data.cli.progress import RichProgress
    from lifehelper_data.evaluation.report.page import report_file, write_report
    from lifehelper_data.runtime.workspace import Workspace

    with Workspace.open(workspace, release) as opened, RichProgress(err) as progress:
        number = opened.release.number
        default = report_file(opened.path, None if release == "current" else number)
        progress.step("writing the report", 0, None)
        written = write_report(opened, to or default)
    if as_json:
        print_json(
            {"release": number, "report": str(written), "size_bytes": written.stat().st_size}
        )
    else:
        out.print(str(written), markup=False)

"""`lifehelper sql`: one read-only query on a pinned release."""

from pathlib import Path
from typing import Annotated

import typer

from lifehelper_data.cli.options import (
    DEFAULT_WORKSPACE,
    JsonOption,
    ReleaseOption,
    WorkspaceOption,
)
from lifehelper_data.cli.output import out, print_json, print_table

SHOWN_ROWS = 100


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("sql")(sql)


def sql(
    query: Annotated[str, typer.Argument(help="One SELECT, such as: from books limit 5")],
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    release: ReleaseOption = "current",
    to: Annotated[
        Path | None,
        typer.Option("--out", help="Write all rows to a .parquet, .csv or .jsonl file."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Query a release. On a screen the first 100 rows are shown; --out and --json give all."""
    from lifehelper_data.runtime.workspace import Workspace

    with Workspace.open(workspace, release) as opened:
        result = opened.sql(query)
        if to is not None:
            count = result.write(to)
            if as_json:
                print_json({"release": opened.release.number, "rows": count, "out": str(to)})
            else:
                out.print(f"wrote {count:,} rows to {to}", markup=False)
            return
        if as_json:
            print_json({"release": opened.release.number, **result.to_dict()})
            return
        rows, more = result.head(SHOWN_ROWS)
        print_table("", result.columns, rows)
        if more:
            out.print(f"first {SHOWN_ROWS} rows; --out FILE writes all", markup=False)

"""`lifehelper init` and `lifehelper build`."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lifehelper_data.cli.options import (
    DEFAULT_WORKSPACE,
    ConfigOption,
    JsonOption,
    WaitOption,
    WorkspaceOption,
    existing_layout,
    workspace_settings,
)
from lifehelper_data.cli.output import err, out, print_json
from lifehelper_data.domain.errors import InvalidRequest, LifehelperError
from lifehelper_data.stores.layout import Layout

if TYPE_CHECKING:
    from lifehelper_data.pipelines.build import WholeBuild

_CONFIG = """\
# Configuration of this workspace. `lifehelper schema config` lists every setting.
# Each can also come from the environment: LIFEHELPER__POPULARITY__WINDOW_DAYS=30
source = {source}

[popularity]
# method = "log_sales"   # share_of_max, time_decayed, bayesian_rating
# window_days = 90
"""


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("init")(init)
    app.command("build")(build)


def init(
    folder: Annotated[Path, typer.Argument(help="Where to create it.")] = DEFAULT_WORKSPACE,
    source: Annotated[
        Path | None, typer.Option("--source", "-s", help="Mapping file of the shop's files.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Create a workspace. An existing one is left as it is."""
    from lifehelper_data.sources.mapping import load_mapping
    from lifehelper_data.stores.atomic import write_text

    if source is not None:
        load_mapping(source)
    layout = Layout(folder.expanduser().resolve())
    if layout.root.exists() and not layout.root.is_dir():
        raise InvalidRequest(
            f"{str(folder)!r} is a file; name a folder for the workspace", field="folder"
        )
    existed = layout.config_file.exists()
    layout.create()
    if not existed:
        line = f'"{source.resolve()}"' if source else '""  # path of a mapping file'
        write_text(layout.config_file, _CONFIG.format(source=line))
    if as_json:
        print_json({"workspace": str(layout.root), "created": not existed})
    elif existed:
        kept = "; its source stays the configured one" if source else ""
        out.print(f"workspace {layout.root} exists and was left as it is{kept}", markup=False)
    else:
        out.print(f"created workspace {layout.root}", markup=False)
        out.print(f"next: lifehelper build --workspace {folder}", markup=False)


def build(
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    source: Annotated[
        Path | None, typer.Option("--source", "-s", help="Mapping file; default: the workspace's.")
    ] = None,
    config: ConfigOption = None,
    stage: Annotated[bool, typer.Option("--stage", help="Publish and promote nothing.")] = False,
    full_read: Annotated[
        bool,
        typer.Option(
            "--full-read", help="Read tables with `incremental` in full: finds deletions."
        ),
    ] = False,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of the table engine.")] = None,
    lock_wait: WaitOption = None,
    as_json: JsonOption = False,
) -> None:
    """Load the source, build every asset and publish a release."""
    from lifehelper_data.cli.build_view import build_json, show_build
    from lifehelper_data.cli.progress import RichProgress
    from lifehelper_data.pipelines.build import build_all
    from lifehelper_data.pipelines.context import BuildContext
    from lifehelper_data.runtime.workspace import utc_now
    from lifehelper_data.stores.releases import ReleaseStore

    layout = existing_layout(workspace)
    settings = workspace_settings(
        layout, config, {"run.threads": threads, "run.lock_wait_s": lock_wait}
    )
    mapping = source or _configured_source(layout, settings.source)
    with RichProgress(err) as progress:
        context = BuildContext(layout=layout, settings=settings, clock=utc_now, progress=progress)
        done = build_all(
            context,
            ReleaseStore(layout, utc_now, time.sleep),
            mapping,
            stage_only=stage,
            full_read=full_read,
            on_wait=lambda owner, waited: err.print(
                f"waiting for {owner} to finish publishing ({waited:.0f} s)", markup=False
            ),
        )
        page = None
        if done.release.published and done.release.promoted:
            progress.step("writing the report", 0, None)
            page = _written_report(layout, done)
    if as_json:
        print_json(build_json(done) | {"report": str(page) if page else None})
    else:
        show_build(done, layout)
        if page:
            out.print(f"what is in it: {page}", markup=False)


def _written_report(layout: Layout, done: "WholeBuild") -> Path | None:
    """Write the page of a release just promoted; a failure is one line on stderr, and None."""
    from lifehelper_data.evaluation.report.page import report_file, write_report
    from lifehelper_data.runtime.workspace import Workspace

    try:
        with Workspace.open(layout.root, done.release.release.number) as opened:
            return write_report(opened, report_file(layout.root), checks=done.release.checks)
    except (LifehelperError, OSError) as error:
        reason = " ".join(str(error).split())
        err.print(f"the release is in service, its report was not written: {reason}", markup=False)
        return None


def _configured_source(layout: Layout, source: str | None) -> Path:
    if not source:
        raise InvalidRequest(
            f"no source: give --source, or set source in {layout.config_file.name}", field="source"
        )
    return layout.root / source  # an absolute path stays itself

"""`lifehelper doctor`: versions, disk, locks, releases, and what to do about what is wrong."""

import importlib.metadata
import shutil
import sys
from dataclasses import asdict, dataclass
from typing import Final

import typer

from lifehelper_data.cli.options import DEFAULT_WORKSPACE, JsonOption, WorkspaceOption
from lifehelper_data.cli.output import print_json, print_table
from lifehelper_data.domain.errors import EXIT_REFUSED, LifehelperError
from lifehelper_data.stores.layout import Layout

PACKAGES: Final = (
    "duckdb", "polars", "pyarrow", "lancedb", "torch", "sentence-transformers", "rank-bm25",
    "dagster", "jupyterlab",
)  # fmt: skip
LOW_DISK_BYTES: Final = 2 * 1024**3


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing doctor looked at; `remedy` is set where it is wrong."""

    what: str
    state: str
    remedy: str | None = None


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("doctor")(doctor)


def doctor(workspace: WorkspaceOption = DEFAULT_WORKSPACE, as_json: JsonOption = False) -> None:
    """Look at the installation and the workspace; exit 1 if something needs mending."""
    layout = Layout(workspace.expanduser().resolve())
    findings = [*_installation(), *_disk(layout), *_workspace(layout)]
    wrong = [finding for finding in findings if finding.remedy]
    if as_json:
        print_json({"ok": not wrong, "findings": [asdict(finding) for finding in findings]})
    else:
        print_table(
            "",
            ("", "what", "state", "remedy"),
            (("!" if f.remedy else "ok", f.what, f.state, f.remedy) for f in findings),
        )
    if wrong:
        raise typer.Exit(EXIT_REFUSED)


def _installation() -> list[Finding]:
    found = [Finding("python", sys.version.split()[0])]
    for package in PACKAGES:
        try:
            found.append(Finding(package, importlib.metadata.version(package)))
        except importlib.metadata.PackageNotFoundError:
            found.append(Finding(package, "not installed", "run `make install`"))
    return found


def _disk(layout: Layout) -> list[Finding]:
    place = layout.root if layout.root.exists() else layout.root.parent
    if not place.exists():
        return []
    free = shutil.disk_usage(place).free
    low = free < LOW_DISK_BYTES
    return [Finding("disk", f"{free / 1024**3:.1f} GiB free", "free some space" if low else None)]


def _workspace(layout: Layout) -> list[Finding]:
    from lifehelper_data.runtime.workspace import open_store
    from lifehelper_data.stores.current import equals_current
    from lifehelper_data.stores.locks import describe_holder
    from lifehelper_data.stores.part_check import size_problems

    if not layout.releases.is_dir():
        return [Finding("workspace", f"none at {layout.root}", "run `lifehelper init`")]
    found = [
        Finding("workspace", str(layout.root)),
        Finding("writer lock", describe_holder(layout) or "free"),
    ]
    store = open_store(layout.root)
    try:
        current = store.current_number()
        if current is None:
            return [*found, Finding("release", "none in service", "run `lifehelper build`")]
        release = store.load(current)
    except LifehelperError as error:
        return [*found, Finding("release", "cannot be read", str(error))]
    problems = list(size_problems(layout.root, release.content))
    found.append(
        Finding(
            "release",
            f"{current}, published {release.created_at:%Y-%m-%d %H:%M} UTC"
            + (f"; {problems[0]}" if problems else ""),
            "run `lifehelper build`; `lifehelper release verify` lists all" if problems else None,
        )
    )
    same = equals_current(layout, current)
    found.append(
        Finding(
            "current.duckdb",
            f"release {current}" if same else "is not the release in service",
            None if same else f"run `lifehelper release promote {current}`",
        )
    )
    return found

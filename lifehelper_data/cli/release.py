"""`lifehelper release …`: list, show, compare, promote, keep and check releases."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from lifehelper_data.cli.options import (
    DEFAULT_WORKSPACE,
    JsonOption,
    ReleaseArgument,
    WaitOption,
    WorkspaceOption,
    existing_layout,
    workspace_settings,
)
from lifehelper_data.cli.output import err, out, print_json
from lifehelper_data.domain.errors import InvalidRequest, VerifyFailed

if TYPE_CHECKING:
    from pathlib import Path

    from lifehelper_data.stores.locks import HeldLock
    from lifehelper_data.stores.releases import ReleaseStore

app = typer.Typer(help="Published releases of a workspace.", no_args_is_help=True)


def _store(workspace: "Path") -> "ReleaseStore":
    from lifehelper_data.runtime.workspace import utc_now
    from lifehelper_data.stores.releases import ReleaseStore

    return ReleaseStore(existing_layout(workspace), utc_now, time.sleep)


@contextmanager
def _writing(store: "ReleaseStore", wait_s: float | None) -> Iterator["HeldLock"]:
    def waiting(owner: str, waited_s: float) -> None:
        err.print(f"waiting for {owner} ({waited_s:.0f} s)", markup=False)

    with store.writer_lock().hold(wait_s, waiting) as lock:
        yield lock


@app.command("list")
def list_releases(
    workspace: WorkspaceOption = DEFAULT_WORKSPACE, as_json: JsonOption = False
) -> None:
    """List all releases, oldest first."""
    from lifehelper_data.cli.release_view import releases_json, show_releases
    from lifehelper_data.stores.tags import read_tags

    store = _store(workspace)
    releases, current, tags = store.list(), store.current_number(), read_tags(store.layout)
    if as_json:
        print_json(releases_json(releases, current, tags))
    else:
        show_releases(releases, current, tags)


@app.command()
def show(
    release: ReleaseArgument = "current",
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    as_json: JsonOption = False,
) -> None:
    """Show what a release holds: facts, tables, files."""
    from lifehelper_data.cli.release_view import release_json, show_release

    store = _store(workspace)
    loaded = store.load(store.resolve(release))
    if as_json:
        print_json(release_json(loaded))
    else:
        show_release(loaded)


@app.command()
def diff(
    before: ReleaseArgument,
    after: ReleaseArgument,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    sample: Annotated[int, typer.Option(min=0, help="Changed rows to list per table.")] = 5,
    as_json: JsonOption = False,
) -> None:
    """Compare two releases: identities first, then rows of the tables that differ."""
    from lifehelper_data.cli.release_view import diff_json, show_diff
    from lifehelper_data.stores.diff import diff_releases

    store = _store(workspace)
    found = diff_releases(store, store.resolve(before), store.resolve(after), sample_rows=sample)
    if as_json:
        print_json(diff_json(found))
    else:
        show_diff(found)


@app.command()
def promote(
    release: ReleaseArgument,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    lock_wait: WaitOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a release and put it in service. Its blocking checks must hold."""
    from lifehelper_data.pipelines.checks import require_checks
    from lifehelper_data.stores.promotion import promote as put_in_service

    store = _store(workspace)
    number = store.resolve(release)
    with store.open(number) as reader:
        require_checks(reader)
    with _writing(store, lock_wait) as lock:
        put_in_service(store, number, lock)
    _said({"release": number, "in_service": True}, f"release {number} is in service", as_json)


@app.command()
def rollback(
    to: Annotated[
        str | None, typer.Option("--to", help="A release that was in service before.")
    ] = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    lock_wait: WaitOption = None,
    as_json: JsonOption = False,
) -> None:
    """Go back to the release that was in service before."""
    from lifehelper_data.stores.promotion import rollback as go_back

    store = _store(workspace)
    with _writing(store, lock_wait) as lock:
        back = go_back(store, lock, None if to is None else store.resolve(to))
    _said(
        {"release": back.number, "in_service": True},
        f"release {back.number} is in service again; a build with changed data replaces it",
        as_json,
    )


@app.command()
def tag(
    release: Annotated[str, typer.Argument(help="'current' or a number; with --delete: the tag.")],
    name: Annotated[str | None, typer.Argument(help="The tag.")] = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    force: Annotated[bool, typer.Option("--force", help="Move a tag that exists.")] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Take the tag away.")] = False,
    lock_wait: WaitOption = None,
    as_json: JsonOption = False,
) -> None:
    """Name a release. A tagged release is kept for ever."""
    from lifehelper_data.stores.tags import tag_release, untag_release

    store = _store(workspace)
    if not delete and name is None:
        raise InvalidRequest("a tag needs a name: lifehelper release tag 42 NAME", field="name")
    with _writing(store, lock_wait) as lock:
        if delete:
            number = untag_release(store.layout, name or release, lock)
            text = f"release {number} is no longer tagged {name or release}"
        else:
            number = store.resolve(release)
            tag_release(store.layout, number, str(name), lock, force=force)
            text = f"release {number} is tagged {name}"
    _said({"release": number, "tag": name or release, "deleted": delete}, text, as_json)


@app.command()
def relocate(
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    lock_wait: WaitOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make releases point to this folder again after the workspace was moved."""
    from lifehelper_data.stores.relocate import relocate as move

    store = _store(workspace)
    with _writing(store, lock_wait) as lock:
        moved = move(store, lock)
    _said(
        {"relocated": list(moved), "workspace": str(store.layout.root)},
        f"{len(moved)} releases now point to {store.layout.root}",
        as_json,
    )


@app.command()
def gc(
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    lock_wait: WaitOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete releases that retention no longer keeps, and parts that none of the others names."""
    from lifehelper_data.cli.release_view import gc_json, show_gc
    from lifehelper_data.stores.gc import plan_gc, run_gc

    store = _store(workspace)
    rule = workspace_settings(store.layout).retention.rule()
    if dry_run:
        report = plan_gc(store, retention=rule)
    else:
        with _writing(store, lock_wait) as lock:
            report = run_gc(store, lock, retention=rule)
    if as_json:
        print_json(gc_json(report))
    else:
        show_gc(report)


@app.command()
def verify(
    release: ReleaseArgument = "current",
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    as_json: JsonOption = False,
) -> None:
    """Read every byte of a release and compare it with what was published."""
    from lifehelper_data.cli.progress import RichProgress
    from lifehelper_data.cli.release_view import verify_json
    from lifehelper_data.stores.verify import verify as check

    store = _store(workspace)
    number = store.resolve(release)
    with RichProgress(err) as progress:
        report = check(store, number, progress)
    if as_json:
        print_json(verify_json(report))
    elif report.ok:
        out.print(
            f"release {number}: {report.checked_parts} parts, {report.checked_bytes:,} bytes, "
            "all as published",
            markup=False,
        )
    for problem in report.problems if not as_json else ():
        err.print(f"{problem}: {problem.remedy}", markup=False)
    if not report.ok and not as_json:
        raise VerifyFailed(f"release {number}: {len(report.problems)} problems")
    if not report.ok:
        raise typer.Exit(VerifyFailed.exit_code)


def _said(document: dict[str, object], text: str, as_json: bool) -> None:
    if as_json:
        print_json(document)
    else:
        out.print(text, markup=False)

"""Helpers for tests of the Dagster project: a shop, its workspace, a daemon driven by hand."""

import shutil
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.asset_daemon_cursor import AssetDaemonCursor
from dagster._utils.warnings import BetaWarning

from dagster_project.automation import RETRIES
from dagster_project.definitions import definitions
from lifehelper_data.domain.build import BuildRecord
from lifehelper_data.domain.release import Release
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.runtime.workspace import Workspace
from lifehelper_data.settings import load_settings
from lifehelper_data.stores.build_records import require_record, save_record
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.releases import ReleaseStore
from lifehelper_data.stores.relocate import relocate
from tests.integration.build_kit import NOW, TinyShop
from tests.integration.release_kit import ManualClock
from tests.integration.search_kit import WordEncoder, encoding_with

BOOKS_HEADER = "book_id,title,price,in_stock,category,description"
TICK = timedelta(seconds=30)
SOURCE = "../shop/source.toml"

DERIVED = {
    "catalog_texts",
    "keyword_index",
    "habit_keyword_index",
    "catalog_embeddings",
    "habit_embeddings",
    "preset_vectors",
    "similarity_calibration",
    "popularity",
}
"""What is made from the clean tables, before the release."""
RELEASED = [{"staged_release"}, {"promoted_release"}, {"report"}]
"""What the daemon asks for, in order, when only the release is to move."""


def book_line(book_id: int, description: str = "") -> str:
    """Return the line of one book in books.csv."""
    return f"{book_id},책 {book_id},{9000 + 100 * book_id},true,소설,{description}"


def described_shop(folder: Path) -> TinyShop:
    """Write a tiny shop of 12 books; the first four have a description."""
    shop = TinyShop.create(folder, books=12, users=10)
    words = ["바다 여행", "숲의 겨울", "별과 우주", "작은 부엌"]
    lines = [book_line(i, words[i - 1] if i <= len(words) else "") for i in range(1, 13)]
    shop.write("books.csv", BOOKS_HEADER, lines)
    return shop


@cache
def project() -> dg.Definitions:
    """Return everything Dagster loads, resolved once."""
    return definitions()


@dataclass(frozen=True)
class Cockpit:
    """A shop, its workspace and a Dagster instance; time is driven by hand.

    Open with `open_cockpit`.
    """

    folder: Path
    instance: dg.DagsterInstance
    clock: ManualClock = field(default_factory=lambda: ManualClock(NOW))
    encoder: WordEncoder = field(default_factory=WordEncoder)

    @property
    def shop(self) -> TinyShop:
        """The source."""
        return TinyShop(self.folder / "shop")

    @property
    def workspace(self) -> Path:
        """What is built."""
        return self.folder / "workspace"

    @property
    def layout(self) -> Layout:
        """The workspace's paths."""
        return Layout(self.workspace.resolve())

    @property
    def store(self) -> ReleaseStore:
        """The workspace's releases."""
        return ReleaseStore(self.layout, self.clock, time.sleep)

    @property
    def current(self) -> Release:
        """The release in service."""
        number = self.store.current_number()
        assert number is not None
        return self.store.load(number)

    def context(self, run: str | None = None) -> BuildContext:
        """The surroundings of a build, as the workspace resource gives them."""
        layout = Layout(self.workspace.resolve(), run=run)
        settings = load_settings(layout.config_file, {})
        return BuildContext(layout=layout, settings=settings, clock=self.clock)

    def record(self, asset: str, run: str | None = None) -> BuildRecord:
        """Return the last output of an asset."""
        return require_record(Layout(self.workspace.resolve(), run=run), asset)

    def put_record(self, record: BuildRecord) -> None:
        """Plant an output."""
        save_record(self.layout, record)

    def open(self) -> Workspace:
        """Open the release in service."""
        return Workspace.open(self.workspace, clock=self.clock)

    def prices(self) -> dict[int, int | None]:
        """Return the served price of every book."""
        with self.open() as opened:
            rows = opened.table("books").select("book_id", "price").sort("book_id")
            return dict(rows.iter_rows())

    def run_job(self, name: str, *, must_succeed: bool = True) -> dg.ExecuteInProcessResult:
        """Run one of the project's jobs in this process."""
        job = project().resolve_job_def(name)
        return job.execute_in_process(instance=self.instance, raise_on_error=must_succeed)

    def run_assets(self, *assets: str, must_succeed: bool = True) -> dg.ExecuteInProcessResult:
        """Run some assets, with their checks, in one run, as the daemon does."""
        job = project().resolve_implicit_global_asset_job_def()
        return job.execute_in_process(
            instance=self.instance,
            asset_selection=[dg.AssetKey(name) for name in assets],
            tags=RETRIES,
            raise_on_error=must_succeed,
        )


@contextmanager
def open_cockpit(
    folder: Path,
    clock: ManualClock | None = None,
    *,
    remembers: bool = False,
    settings: Sequence[str] = (),
) -> Iterator[Cockpit]:
    """Open what lies in a folder (`shop`, `workspace`, `dagster`), as a Dagster process would.

    Args:
        folder: holds the shop already; the rest is made.
        clock: the time.
        remembers: keep what ran on disk, in `dagster`; else in memory, which is faster.
        settings: further lines of `lifehelper.toml`.
    """
    workspace, home = folder / "workspace", folder / "dagster"
    workspace.mkdir(exist_ok=True)
    home.mkdir(exist_ok=True)
    lines = [f'source = "{SOURCE}"', *settings]
    (workspace / "lifehelper.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    now = clock or ManualClock(NOW)
    with pytest.MonkeyPatch.context() as patch, _instance(home, remembers) as instance:
        patch.setenv("LIFEHELPER_WORKSPACE", str(workspace))
        patch.setattr("dagster_project.resources.utc_now", now)
        opened = Cockpit(folder=folder, instance=instance, clock=now)
        with encoding_with(opened.encoder):
            yield opened


def _instance(home: Path, remembers: bool) -> AbstractContextManager[dg.DagsterInstance]:
    if remembers:
        return dg.instance_for_test(temp_dir=str(home))
    return dg.DagsterInstance.ephemeral(tempdir=str(home))


@dataclass
class Daemon:
    """Evaluates automation conditions and runs what they ask for, one tick after the other."""

    cockpit: Cockpit
    cursor: AssetDaemonCursor | None = None

    def tick(self, *, must_succeed: bool = True) -> set[str]:
        """Evaluate once, run what was requested in one run; return it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BetaWarning)  # of a selection the evaluation makes
            result = dg.evaluate_automation_conditions(
                project(),
                self.cockpit.instance,
                evaluation_time=self.cockpit.clock(),
                cursor=self.cursor,
            )
        self.cursor = result.cursor
        requested = {r.key.to_user_string() for r in result.results if not r.true_subset.is_empty}
        if requested:
            self.cockpit.run_assets(*sorted(requested), must_succeed=must_succeed)
        self.cockpit.clock.advance(TICK.total_seconds())
        return requested

    def until_quiet(self, most: int = 12, *, must_succeed: bool = True) -> list[set[str]]:
        """Tick until two ticks in a row ask for nothing; return what was asked for, in order."""
        asked: list[set[str]] = []
        quiet = 0
        for _ in range(most):
            requested = self.tick(must_succeed=must_succeed)
            quiet = 0 if requested else quiet + 1
            if requested:
                asked.append(requested)
            if quiet == 2:
                return asked
        raise AssertionError(f"not quiet after {most} ticks: {asked}")


@dataclass(frozen=True)
class Started:
    """A described shop that was started by the daemon, to be copied by every test."""

    folder: Path
    cursor: AssetDaemonCursor | None
    asked: list[set[str]]
    clock: ManualClock


_STARTED: dict[Path, Started] = {}


def started_cockpit(factory: pytest.TempPathFactory) -> Started:
    """Start a shop as a new installation does: one load, then the daemon. Once a test run."""
    run = factory.getbasetemp()
    if run not in _STARTED:
        folder = factory.mktemp("started-cockpit")
        described_shop(folder / "shop")
        clock = ManualClock(NOW)
        with open_cockpit(folder, clock, remembers=True) as cockpit:
            cockpit.run_job("load_tables")
            daemon = Daemon(cockpit)
            asked = daemon.until_quiet()
        _STARTED[run] = Started(folder, daemon.cursor, asked, clock)
    return _STARTED[run]


@contextmanager
def running(
    started: Started, folder: Path, *, remembers: bool = True
) -> Iterator[tuple[Cockpit, Daemon]]:
    """Open a copy of a started shop, at the time it was left.

    Its daemon needs what ran before (`remembers`); single runs do not, and are faster without.
    Nothing is drawn: neither plots nor the report.
    """
    shutil.copytree(started.folder, folder, dirs_exist_ok=True)
    clock = ManualClock(started.clock())
    with (
        open_cockpit(folder, clock, remembers=remembers) as cockpit,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr("dagster_project.assets.release.write_report", _brief_report)
        patch.setattr("dagster_project.metadata.table_plot", lambda _layout, _table: None)
        with cockpit.store.writer_lock().hold(0) as lock:
            relocate(cockpit.store, lock)
        yield cockpit, Daemon(cockpit, started.cursor)


def _brief_report(opened: Workspace, target: Path) -> Path:
    """Say which release the report would be of."""
    target.parent.mkdir(exist_ok=True)
    target.write_text(f"release {opened.release.number}", encoding="utf-8")
    return target


def repriced(started: Started, folder: Path) -> Started:
    """Return a copy of a started shop where a new price of book 7 was loaded: a release is due."""
    with running(started, folder) as (cockpit, _):
        cockpit.shop.replace("books.csv", book_line(7), book_line(7).replace("9700", "7700"))
        cockpit.run_job("load_tables")
        return Started(folder, started.cursor, [], cockpit.clock)

"""Deleting what no retained release needs.

Release files go first and parts after them, so a crash leaves parts that nobody names (the next
run deletes them) and never a release without its parts. If any release file cannot be read,
nothing is deleted: its parts are unknown. What eval runs name stays; delete a run's folder to let
its release go.
"""

import re
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.domain.release import Release
from lifehelper_data.domain.retention import Retention, retained_releases
from lifehelper_data.stores.build_records import recorded_outputs
from lifehelper_data.stores.current import read_pointer, repair_current, sidecar_file
from lifehelper_data.stores.eval_runs import releases_of_runs
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.locks import HeldLock
from lifehelper_data.stores.part_check import all_parts
from lifehelper_data.stores.pins import pin_guard, pinned_releases
from lifehelper_data.stores.promotion import rollback_target
from lifehelper_data.stores.releases import ReleaseStore
from lifehelper_data.stores.sessions import oldest_live_session_start
from lifehelper_data.stores.tags import read_tags

PART_GRACE: Final = timedelta(hours=1)
"""No part, and no scratch file, younger than this is deleted."""
RUN_GRACE: Final = timedelta(days=2)
"""What the steps of a scheduled run made is kept so long for the steps after them, and retries."""
SESSION_MARGIN: Final = timedelta(seconds=10)
"""Clocks and file systems may disagree by so much about when a build began."""
_HALF_WRITTEN: Final = re.compile(r"\..*\.tmp")


@dataclass(frozen=True, slots=True, kw_only=True)
class GcReport:
    """What gc did, or would do.

    Attributes:
        dry_run: whether nothing was deleted.
        kept: why each remaining release stays, by number: current, previous, tag <name>, eval run
            <id>, pinned, in use, last, young or daily.
        deleted_releases: numbers, ascending.
        deleted_parts: paths relative to the workspace, sorted.
        deleted_scratch: scratch files left by crashes, relative to the workspace, sorted.
        bytes_freed: size of everything deleted.
    """

    dry_run: bool
    kept: dict[int, str]
    deleted_releases: tuple[int, ...] = ()
    deleted_parts: tuple[str, ...] = ()
    deleted_scratch: tuple[str, ...] = ()
    bytes_freed: int = 0


@dataclass(slots=True)
class _Bin:
    """Deletes files, or only counts them."""

    root: Path
    dry_run: bool
    bytes_freed: int = 0
    paths: list[str] = field(default_factory=list)

    def drop(self, path: Path) -> None:
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            return
        if not self.dry_run:
            path.unlink(missing_ok=True)
        self.bytes_freed += size
        self.paths.append(path.relative_to(self.root).as_posix())


def plan_gc(
    store: ReleaseStore,
    *,
    retention: Retention,
    protected_extra: Collection[int] = (),
    part_grace: timedelta = PART_GRACE,
) -> GcReport:
    """Say what `run_gc` would delete now. Needs no lock."""
    return _collect(store, retention, protected_extra, part_grace, dry_run=True)


def run_gc(
    store: ReleaseStore,
    lock: HeldLock,
    *,
    retention: Retention,
    protected_extra: Collection[int] = (),
    part_grace: timedelta = PART_GRACE,
) -> GcReport:
    """Delete the releases, parts and scratch files that nothing needs.

    Args:
        store: the releases.
        lock: the writer lock, held.
        retention: how long releases are kept.
        protected_extra: further releases in use; those that eval runs name stay anyhow.
        part_grace: no part and no scratch file younger than this is deleted.

    Raises:
        Unavailable: a release file or the head of an eval run cannot be read; nothing was deleted.
        LockLost: the lock was taken over.
    """
    repair_current(store.layout, lock)
    with lock.fenced():
        report = _collect(store, retention, protected_extra, part_grace, dry_run=False)
        freed = _collect_vectors(store, report.kept)
    return replace(report, bytes_freed=report.bytes_freed + freed)


def _collect_vectors(store: ReleaseStore, kept: Collection[int]) -> int:
    """Delete vector versions that no kept release names; returns the bytes freed."""
    if not store.layout.vectors.is_dir():
        return 0
    from lifehelper_data.stores.vector_artifact import vectors_of, vectors_tag
    from lifehelper_data.stores.vector_gc import gc_vectors

    tags = {
        vectors_tag(artifact)
        for number in kept
        for artifact in vectors_of(store.load(number).content.artifacts)
    }
    for record in recorded_outputs(store.layout):
        tags.update(vectors_tag(artifact) for artifact in vectors_of(record.artifacts))
    return gc_vectors(store.layout, tags, now=store.clock())


def _collect(
    store: ReleaseStore,
    retention: Retention,
    protected_extra: Collection[int],
    part_grace: timedelta,
    *,
    dry_run: bool,
) -> GcReport:
    layout, now = store.layout, store.clock()
    layout.pins.mkdir(parents=True, exist_ok=True)
    releases = _load_all(store)
    release_bin = _Bin(layout.root, dry_run)
    with pin_guard(layout, shared=False):
        protected = _protected(store, now, protected_extra)
        kept = retained_releases(
            [(release.number, release.created_at) for release in releases],
            now=now,
            retention=retention,
            protected=protected,
        )
        dropped = [release.number for release in releases if release.number not in kept]
        for number in dropped:
            release_bin.drop(layout.release_file(number))
            release_bin.drop(sidecar_file(layout, number))
    # sessions before records: a step that ends in between has left its record
    before = _deletable_before(layout, now, part_grace)
    named = {
        part.path
        for release in releases
        if release.number in kept
        for part in all_parts(release.content)
    }
    for record in recorded_outputs(layout):
        named.update(part.path for table in record.tables.values() for part in table.parts)
        named.update(file.path for a in record.artifacts.values() for file in a.files)
    part_bin, scratch_bin = _Bin(layout.root, dry_run), _Bin(layout.root, dry_run)
    for path in (*_files(layout.parts), *_files(layout.keyword)):
        if path.relative_to(layout.root).as_posix() not in named and _older(path, before):
            part_bin.drop(path)
    for path in _scratch(layout):
        if _older(path, before):
            scratch_bin.drop(path)
    for path in _files(layout.runs):
        if _older(path, now - RUN_GRACE):
            scratch_bin.drop(path)
    return GcReport(
        dry_run=dry_run,
        kept={number: protected.get(number, reason) for number, reason in kept.items()},
        deleted_releases=tuple(dropped),
        deleted_parts=tuple(sorted(part_bin.paths)),
        deleted_scratch=tuple(sorted(scratch_bin.paths)),
        bytes_freed=release_bin.bytes_freed + part_bin.bytes_freed + scratch_bin.bytes_freed,
    )


def _load_all(store: ReleaseStore) -> list[Release]:
    releases: list[Release] = []
    for number in store.numbers():
        try:
            releases.append(store.load(number))
        except Unavailable as error:
            raise Unavailable(f"nothing was deleted: {error}", field=error.field) from error
    return releases


def _protected(store: ReleaseStore, now: datetime, extra: Collection[int]) -> dict[int, str]:
    """Return the releases that stay whatever the rule says, with the first reason that holds."""
    reasons: dict[int, str] = {}
    pointer = read_pointer(store.layout)
    if pointer is not None:
        reasons[pointer.number] = "current"
    previous = rollback_target(store)
    if previous is not None:
        reasons.setdefault(previous, "previous")
    for name, number in read_tags(store.layout).items():
        reasons.setdefault(number, f"tag {name}")
    for number, run_id in sorted(releases_of_runs(store.layout).items()):
        reasons.setdefault(number, f"eval run {run_id}")
    for number in sorted(pinned_releases(store.layout, now)):
        reasons.setdefault(number, "pinned")
    for number in sorted(extra):
        reasons.setdefault(number, "in use")
    return reasons


def _deletable_before(layout: Layout, now: datetime, grace: timedelta) -> datetime:
    """Return the time that a file must be older than to be deleted."""
    session = oldest_live_session_start(layout, now)
    limit = now - grace
    return limit if session is None else min(limit, session - SESSION_MARGIN)


def _older(path: Path, before: datetime) -> bool:
    """Whether a file was last changed before a time; a file that is gone was not."""
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, tz=UTC) < before
    except FileNotFoundError:
        return False


def _files(folder: Path) -> Iterator[Path]:
    """Yield the regular files under a folder, sorted; links are not followed."""
    for path in sorted(folder.rglob("*")):
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            continue
        if stat.S_ISREG(mode):
            yield path


def _scratch(layout: Layout) -> Iterator[Path]:
    """Yield what a crash may leave behind: half-written files and checksums of no release."""
    yield from _files(layout.tmp)
    for folder in (
        layout.root,
        layout.releases,
        layout.pins,
        layout.builds,
        layout.builds / "sessions",
    ):
        yield from sorted(folder.glob(".*.tmp"))
    for path in _files(layout.eval):
        if any(_HALF_WRITTEN.fullmatch(part) for part in path.relative_to(layout.eval).parts):
            yield path
    for path in sorted(layout.releases.glob("*.sha256")):
        if path.stem.isdecimal() and not layout.release_file(int(path.stem)).exists():
            yield path

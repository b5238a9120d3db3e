"""Deleting vector versions that no retained release names.

Lance 0.40 refuses to delete old versions when one of them has a tag, so the tags move out of the
way first: `restore` makes a new version of a tagged one without copying data, the tag is set on
it, and then everything older goes. Whatever happens in between, each tag names its content.
"""

import shutil
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from lifehelper_data.domain.errors import WorkspaceLocked
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.vector_files import (
    HEAD_TAG,
    KEEP_EVERY_VERSION,
    VectorFiles,
    is_tag,
)
from lifehelper_data.stores.vector_index import drop_index, unindexed_rows

TAG_GRACE: Final = timedelta(hours=1)
"""No tag published within it is deleted: the release that will name it may be on its way."""
IDLE_GRACE: Final = timedelta(days=7)
"""A table without any tag is kept so long after its last write: an interrupted run resumes."""
_SLACKS_S: Final = (0.1, 1.0, 5.0)
_REMOVED: Final = ".removed-"


def gc_vectors(
    layout: Layout,
    keep_tags: Iterable[tuple[str, str, str]],
    *,
    now: datetime,
    tag_grace: timedelta = TAG_GRACE,
    idle_grace: timedelta = IDLE_GRACE,
) -> int:
    """Delete tags, versions, cached arrays and tables that nobody needs.

    A reader that has a kept tag open goes on reading; one with mapped arrays does so even if its
    tag goes. A table that is being written is left for the next time.

    Args:
        layout: the workspace.
        keep_tags: (name, vector_space_id, tag) of every retained release.
        now: the time.
        tag_grace: tags published within it stay.
        idle_grace: a table that was never published stays so long after its last write.

    Returns:
        Bytes freed.

    Raises:
        Unavailable: a table that has kept tags is damaged; names it.
    """
    kept = set(keep_tags)
    freed = 0
    for path in sorted(layout.vectors.glob(f"{_REMOVED}*")):  # a killed gc was removing it
        freed += _remove_folder(path)
    for files in VectorFiles.found(layout):
        here = (files.name, files.vector_space_id)
        tags = {tag for name, space, tag in kept if (name, space) == here}
        try:
            with files.locked(wait=False):
                before = _size(files)
                _collect(files, tags, now, tag_grace, idle_grace)
                freed += before - _size(files)
        except WorkspaceLocked:
            continue
    return freed


def settle_head(files: VectorFiles, table: Any) -> None:
    """Bring back the newest content if gc was killed while it rearranged versions.

    Args:
        files: where the table lies; its lock is held.
        table: Lance's table, at its newest version then and afterwards.
    """
    with files.readable():
        if HEAD_TAG in table.tags.list():
            table.restore(HEAD_TAG)
            table.tags.delete(HEAD_TAG)


def _collect(
    files: VectorFiles,
    kept: set[str],
    now: datetime,
    tag_grace: timedelta,
    idle_grace: timedelta,
) -> None:
    kept = kept | {
        path.stem for path in files.snapshots.glob("c-*.json") if _modified(path) > now - tag_grace
    }
    if not files.exists():
        if not kept:
            _remove_table(files)
        return
    if not kept:
        published = any(files.snapshots.glob("c-*.json"))
        last_write = max(_modified(path) for path in (files.table / "_versions").iterdir())
        if last_write <= now - (tag_grace if published else idle_grace):
            _remove_table(files)
            return
    table = files.open_table()
    settle_head(files, table)
    with files.readable():
        for tag in sorted(table.tags.list()):
            if is_tag(tag) and tag not in kept:
                table.tags.delete(tag)
    for path in sorted(files.snapshots.glob("*")):
        tag = path.name.split(".")[0]
        abandoned = path.suffix == ".tmp" and _modified(path) <= now - tag_grace
        if abandoned or (is_tag(tag) and tag not in kept):
            path.unlink(missing_ok=True)
    for slack_s in _SLACKS_S:
        if not _garbage(files, table) or _prune(files, table, slack_s):
            return


def _garbage(files: VectorFiles, table: Any) -> bool:
    """Whether there are versions that are neither tagged nor the newest."""
    with files.readable():
        tagged = {int(tag["version"]) for tag in table.tags.list().values()}
        versions = {int(version["version"]) for version in table.list_versions()}
        return bool(versions - tagged - {int(table.version)})


def _prune(files: VectorFiles, table: Any, slack_s: float) -> bool:
    """Move all tags to new versions and delete the older ones.

    Lance reckons the age of a version from its own clock when it is asked, so a pause keeps the
    old versions apart from the new.

    Returns:
        Whether Lance did it; if not, a slower machine needs more slack.
    """
    with files.readable():
        if unindexed_rows(files, table, int(table.count_rows())):
            drop_index(files, table)  # else `optimize` works on an index that nobody will use
        table.optimize(cleanup_older_than=KEEP_EVERY_VERSION)  # else compaction delays the next
        head = int(table.version)
        table.tags.create(HEAD_TAG, head)
        began = time.monotonic()
        time.sleep(2 * slack_s)
        for tag in sorted(set(table.tags.list()) - {HEAD_TAG}):
            table.restore(tag)
            table.tags.update(tag, int(table.version))
        table.restore(HEAD_TAG)
        table.tags.delete(HEAD_TAG)
    age = timedelta(seconds=time.monotonic() - began)
    try:
        # delete_unverified: files of killed writes go as well; nobody else writes, we hold the lock
        table.optimize(cleanup_older_than=age, delete_unverified=True)
    except RuntimeError as error:
        if "tagged version" in str(error):
            return False
        raise files.unusable(error) from error
    return True


def _remove_table(files: VectorFiles) -> None:
    """Remove a table and its arrays; the facts and arrays go first, so that nobody opens them."""
    for folder in (files.snapshots, files.table):
        if folder.exists():
            gone = folder.with_name(f"{_REMOVED}{folder.name}")
            shutil.rmtree(gone, ignore_errors=True)
            folder.rename(gone)
            shutil.rmtree(gone)


def _remove_folder(folder: Path) -> int:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    shutil.rmtree(folder)
    return size


def _size(files: VectorFiles) -> int:
    return sum(
        path.stat().st_size
        for folder in (files.table, files.snapshots)
        for path in folder.rglob("*")
        if path.is_file()
    )


def _modified(path: Path) -> datetime:
    """Return when a file was last changed; a reader's temporary file may be gone: long ago."""
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, tz=UTC)
    except FileNotFoundError:
        return datetime.fromtimestamp(0, tz=UTC)

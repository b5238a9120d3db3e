"""After a workspace folder was moved: point every release at its new place."""

from lifehelper_data.domain.errors import VerifyFailed
from lifehelper_data.domain.ports import NoProgress, Progress
from lifehelper_data.domain.release import Release
from lifehelper_data.stores.current import place_release_file, repair_current, temporary_file
from lifehelper_data.stores.locks import HeldLock
from lifehelper_data.stores.part_check import size_problems
from lifehelper_data.stores.release_file import discard, rewrite_release_file
from lifehelper_data.stores.release_read import read_release_and_root
from lifehelper_data.stores.releases import ReleaseStore


def relocate(
    store: ReleaseStore, lock: HeldLock, progress: Progress | None = None
) -> tuple[int, ...]:
    """Rewrite the release files whose views point into another folder. Identities stay.

    Each file is replaced whole, so an interrupted run is finished by the next.

    Args:
        store: the releases, in their new place.
        lock: the writer lock, held.
        progress: shown releases done of releases to do.

    Returns:
        The releases that were rewritten, ascending.

    Raises:
        VerifyFailed: a part did not come along; nothing was changed.
        Unavailable: a release file cannot be read; nothing was changed.
    """
    shown = progress or NoProgress()
    layout = store.layout
    moved: list[Release] = []
    for number in store.numbers():
        release, root = read_release_and_root(layout.release_file(number))
        if root == layout.root:
            continue
        problems = list(size_problems(layout.root, release.content))
        if problems:
            raise VerifyFailed(
                f"nothing was relocated: release {number} lacks {len(problems)} parts, first "
                f"{problems[0]}; copy the whole workspace, or move "
                f"releases/{layout.release_file(number).name} away",
                field=problems[0].path,
            )
        moved.append(release)
    for done, release in enumerate(moved):
        shown.step("relocate releases", done, len(moved))
        temporary = temporary_file(layout)
        try:
            rewrite_release_file(
                layout.release_file(release.number),
                temporary,
                release.content,
                root=layout.root,
                promoted_at=release.promoted_at,
            )
            place_release_file(layout, release.number, temporary, lock)
        finally:
            discard(temporary)
    shown.step("relocate releases", len(moved), len(moved))
    repair_current(layout, lock)
    return tuple(release.number for release in moved)

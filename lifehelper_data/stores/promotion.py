"""Putting a release in service, and going back.

Order of a promotion: the release's own file says promoted (first time only), `current.json` is
renamed (from here on it is in service), `current.duckdb` follows. A crash before the second step
leaves the old release in service; after it, `repair_current` finishes the copy.
"""

from lifehelper_data.domain.errors import CheckFailed, NotFound, VerifyFailed
from lifehelper_data.domain.release import Release
from lifehelper_data.stores.current import (
    CurrentPointer,
    place_release_file,
    read_pointer,
    repair_current,
    temporary_file,
    write_pointer,
)
from lifehelper_data.stores.locks import HeldLock
from lifehelper_data.stores.part_check import size_problems
from lifehelper_data.stores.release_file import discard, rewrite_release_file
from lifehelper_data.stores.releases import ReleaseStore


def promote(store: ReleaseStore, number: int, lock: HeldLock) -> Release:
    """Put a release in service. Promoting the one in service changes nothing.

    Raises:
        NotFound: there is no such release.
        VerifyFailed: a part of it is missing or of another size.
        LockLost: the lock was taken over; what was in service still is.
    """
    layout = store.layout
    release = store.load(number)
    _require_parts(store, release)
    pointer = read_pointer(layout)
    if pointer is not None and pointer.number == number:
        repair_current(layout, lock)
        return release
    now = store.clock()
    if release.promoted_at is None:
        temporary = temporary_file(layout)
        try:
            rewrite_release_file(
                layout.release_file(number),
                temporary,
                release.content,
                root=layout.root,
                promoted_at=now,
            )
            place_release_file(layout, number, temporary, lock)
        finally:
            discard(temporary)
    first = CurrentPointer(number=number, promoted_at=now.isoformat(), history=(number,))
    write_pointer(layout, first if pointer is None else pointer.promoted(number, now), lock)
    repair_current(layout, lock)
    return store.load(number)


def rollback_target(store: ReleaseStore) -> int | None:
    """Return the release that `rollback` would go back to: the one in service before."""
    pointer = read_pointer(store.layout)
    existing = set(store.numbers())
    before = [n for n in pointer.before if n in existing] if pointer is not None else []
    return before[-1] if before else None


def rollback(store: ReleaseStore, lock: HeldLock, to: int | None = None) -> Release:
    """Go back to the release that was in service before, or to a named promoted one.

    A second rollback goes one further back. A promotion after a rollback forgets what was rolled
    back, so that rolling back once more does not return to it.

    Args:
        store: the releases.
        lock: the writer lock, held.
        to: a release that was promoted before; None for the previous one.

    Raises:
        NotFound: there is nothing to go back to, or no such release.
        CheckFailed: `to` was never promoted.
        VerifyFailed: a part of it is missing or of another size.
    """
    pointer = read_pointer(store.layout)
    number = rollback_target(store) if to is None else to
    if pointer is None or number is None:
        raise NotFound("there is no release to go back to; see `lifehelper release list`")
    release = store.load(number)
    if release.promoted_at is None:
        raise CheckFailed(
            f"release {number} was never promoted; use `lifehelper release promote {number}`"
        )
    _require_parts(store, release)
    now = store.clock()
    if number in pointer.history:
        target = CurrentPointer(number=number, promoted_at=now.isoformat(), history=pointer.history)
    else:
        target = pointer.promoted(number, now)
    write_pointer(store.layout, target, lock)
    repair_current(store.layout, lock)
    return release


def _require_parts(store: ReleaseStore, release: Release) -> None:
    problems = list(size_problems(store.layout.root, release.content))
    if problems:
        raise VerifyFailed(
            f"release {release.number} is not complete: {len(problems)} parts are not as "
            f"published, first {problems[0]}; {problems[0].remedy}",
            field=problems[0].path,
        )

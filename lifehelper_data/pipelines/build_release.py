"""Asset `release`: builders' outputs become one published release, promoted if its checks hold."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lifehelper_data.domain.build import BuildRecord
from lifehelper_data.domain.checks import CheckResult
from lifehelper_data.domain.release import Release, ReleaseContent, ReleaseState
from lifehelper_data.pipelines.checks import require_checks, run_checks
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.stores.build_records import require_record, save_record
from lifehelper_data.stores.current import read_pointer
from lifehelper_data.stores.promotion import promote
from lifehelper_data.stores.releases import ReleaseStore

OnWait = Callable[[str, float], None]

STAGED: Final = "staged_release"

_DECIDING_FACTS = (
    "tunables_hash",
    "code_hash",
    "source_watermarks",
    "text",
    "waiting",
    "leaving",
)
"""Facts that make a release another one although its tables are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseReport:
    """What became of a composed release.

    Attributes:
        release: the release that holds this content.
        published: whether it is new.
        promoted: whether it was put in service by this call.
        in_service: whether it is in service now.
        checks: its checks; empty when nothing was new.
        notes: what a reader should know, one line each.
    """

    release: Release
    published: bool
    promoted: bool
    in_service: bool
    checks: tuple[CheckResult, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedRelease:
    """A release that lies ready, checked.

    Attributes:
        release: the release that holds the content.
        published: whether it is new.
        checks: its checks, in order.
    """

    release: Release
    published: bool
    checks: tuple[CheckResult, ...]


def stage_release(
    context: BuildContext,
    store: ReleaseStore,
    content: ReleaseContent,
    *,
    on_wait: OnWait | None = None,
) -> StagedRelease:
    """Publish a release without putting it in service, and run its checks.

    Nothing is published if the release in service, or the newest one, already says the same.

    Args:
        context: workspace, settings, clock and progress.
        store: the releases.
        content: what it holds.
        on_wait: told while another process publishes.

    Returns:
        The release and its checks, whether they hold or not. It is kept as the output of
        `staged_release`, which `promote_staged` takes up.

    Raises:
        WorkspaceLocked: another process publishes and `run.lock_wait_s` is over.
    """
    release, published = _published(context, store, content, on_wait)
    context.progress.step("checking", 0, None)
    with store.open(release.number) as reader:
        checks = tuple(run_checks(reader))
    record = BuildRecord(
        asset=STAGED,
        input_digest=release.identity,
        built_at=context.clock(),
        facts={"number": release.number},
    )
    save_record(context.layout, record)
    return StagedRelease(release=release, published=published, checks=checks)


def promote_staged(
    context: BuildContext, store: ReleaseStore, *, on_wait: OnWait | None = None
) -> ReleaseReport:
    """Put the release that was staged last (by this run, within one) in service.

    Raises:
        NotFound: nothing was staged here, or it is gone.
        CheckFailed: a blocking check says no; it stays staged.
    """
    number = int(str(require_record(context.layout, STAGED).facts["number"]))
    return _promoted(context, store, store.load(number), published=False, on_wait=on_wait)


def publish_release(
    context: BuildContext,
    store: ReleaseStore,
    content: ReleaseContent,
    *,
    stage_only: bool = False,
    on_wait: OnWait | None = None,
) -> ReleaseReport:
    """Publish a release, check it, and put it in service.

    Nothing is published if the release in service, or the newest one, already says the same. A
    release is not put in service over a newer one that another build promoted meanwhile, nor if
    it was rolled back and nothing has changed since.

    Args:
        context: workspace, settings, progress.
        store: the releases.
        content: what it holds.
        stage_only: publish and check, promote nothing.
        on_wait: told while another process publishes.

    Raises:
        WorkspaceLocked: another process publishes and `run.lock_wait_s` is over.
        CheckFailed: a blocking check says no; the release stays staged.
    """
    release, published = _published(context, store, content, on_wait)
    if stage_only and (published or release.state is ReleaseState.STAGED):
        return ReleaseReport(
            release=release, published=published, promoted=False, in_service=False,
            checks=_checked(context, store, release),
            notes=(f"staged; `lifehelper release promote {release.number}` puts it in service",),
        )  # fmt: skip
    return _promoted(context, store, release, published=published, on_wait=on_wait)


def _promoted(
    context: BuildContext,
    store: ReleaseStore,
    release: Release,
    *,
    published: bool,
    on_wait: OnWait | None,
) -> ReleaseReport:
    """Put a release in service unless it is, was rolled back, or a later one is."""
    if release.number == store.current_number():
        return ReleaseReport(
            release=release, published=published, promoted=False, in_service=True,
            notes=("nothing changed: nothing was published",),
        )  # fmt: skip
    if release.state is ReleaseState.PROMOTED and not _cut_short(store, release):
        return ReleaseReport(
            release=release, published=published, promoted=False, in_service=False,
            notes=(
                f"nothing changed since release {release.number}, which was in service and is not "
                f"any more; `lifehelper release promote {release.number}` puts it back",
            ),
        )  # fmt: skip
    checks = _checked(context, store, release)
    with store.writer_lock().hold(context.settings.run.lock_wait_s, on_wait or _no_wait) as lock:
        current = store.current_number()
        if current is not None and current > release.number:
            return ReleaseReport(
                release=release, published=published, promoted=False, in_service=False,
                checks=checks,
                notes=(f"release {current}, published later, is in service already",),
            )  # fmt: skip
        release = promote(store, release.number, lock)
    return ReleaseReport(
        release=release, published=published, promoted=True, in_service=True, checks=checks,
        notes=("promoted on its checks alone: there is no evaluation gate yet",),
    )  # fmt: skip


def _cut_short(store: ReleaseStore, release: Release) -> bool:
    """Whether a promotion died after it marked the release and before it put it in service."""
    pointer = read_pointer(store.layout)
    if pointer is None or release.promoted_at is None:
        return pointer is None
    return datetime.fromisoformat(pointer.promoted_at) < release.promoted_at


def _checked(
    context: BuildContext, store: ReleaseStore, release: Release
) -> tuple[CheckResult, ...]:
    context.progress.step("checking", 0, None)
    with store.open(release.number) as reader:
        return require_checks(reader)


def _published(
    context: BuildContext, store: ReleaseStore, content: ReleaseContent, on_wait: OnWait | None
) -> tuple[Release, bool]:
    with store.writer_lock().hold(context.settings.run.lock_wait_s, on_wait or _no_wait) as lock:
        current = store.current_number()
        numbers = store.numbers()
        for number in dict.fromkeys([current, numbers[-1] if numbers else None]):
            if number is not None and number in numbers:
                release = store.load(number)
                if _says_the_same(release.content, content):
                    return release, False
        return store.publish(content, lock), True


def _says_the_same(old: ReleaseContent, new: ReleaseContent) -> bool:
    return old.identity == new.identity and all(
        old.facts.get(name) == new.facts.get(name) for name in _DECIDING_FACTS
    )


def _no_wait(_owner: str, _waited_s: float) -> None:
    """Say nothing."""

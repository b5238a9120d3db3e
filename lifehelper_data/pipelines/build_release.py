"""Asset `release`: builders' outputs become one published release, promoted if its checks hold."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lifehelper_data.code_version import code_hash, code_version
from lifehelper_data.domain.build import BuildRecord
from lifehelper_data.domain.checks import CheckResult
from lifehelper_data.domain.contract import CONTRACT_VERSION
from lifehelper_data.domain.release import Release, ReleaseContent, ReleaseState
from lifehelper_data.pipelines.checks import require_checks
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.stores.promotion import promote
from lifehelper_data.stores.releases import ReleaseStore

OnWait = Callable[[str, float], None]

_DECIDING_FACTS = ("tunables_hash", "code_hash", "source_watermarks", "text")
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


def compose_release(context: BuildContext, records: Iterable[BuildRecord]) -> ReleaseContent:
    """Put builders' outputs together.

    Args:
        context: workspace and settings.
        records: one per asset; later ones win where both made a table.
    """
    by_asset = list(records)
    facts: dict[str, object] = {
        "contract_version": CONTRACT_VERSION,
        "code_hash": code_hash(),
        "code_version": code_version(),
        "tunables": context.settings.tunables(),
        "tunables_hash": context.settings.tunables_hash(),
        "input_digests": {record.asset: record.input_digest for record in by_asset},
        "vector_space_id": None,
    }
    for record in by_asset:
        facts |= record.facts
    return ReleaseContent(
        tables={name: parts for record in by_asset for name, parts in record.tables.items()},
        artifacts={name: a for record in by_asset for name, a in record.artifacts.items()},
        files=tuple(file for record in by_asset for file in record.files),
        table_counts={
            name: counts for record in by_asset for name, counts in record.table_counts.items()
        },
        facts=facts,
    )


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
    current = store.current_number()
    if not published and release.number == current:
        return ReleaseReport(
            release=release, published=False, promoted=False, in_service=True,
            notes=("nothing changed: nothing was published",),
        )  # fmt: skip
    if not published and release.state is ReleaseState.PROMOTED:
        return ReleaseReport(
            release=release, published=False, promoted=False, in_service=False,
            notes=(
                f"nothing changed since release {release.number}, which was rolled back; put it in "
                f"service with `lifehelper release promote {release.number}`",
            ),
        )  # fmt: skip
    context.progress.step("checking", 0, None)
    with store.open(release.number) as reader:
        checks = require_checks(reader)
    if stage_only:
        return ReleaseReport(
            release=release, published=published, promoted=False, in_service=False, checks=checks,
            notes=(f"staged; `lifehelper release promote {release.number}` puts it in service",),
        )  # fmt: skip
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

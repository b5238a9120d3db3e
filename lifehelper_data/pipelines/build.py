"""The whole build: every asset in order, then the release."""

from dataclasses import dataclass
from pathlib import Path

from lifehelper_data.domain.build import BuildReport
from lifehelper_data.pipelines.build_popularity import build_popularity
from lifehelper_data.pipelines.build_release import (
    OnWait,
    ReleaseReport,
    compose_release,
    publish_release,
)
from lifehelper_data.pipelines.build_tables import build_tables
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.stores.releases import ReleaseStore
from lifehelper_data.stores.sessions import build_session


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeBuild:
    """What a whole build did.

    Attributes:
        assets: one report per asset, in build order.
        release: what became of the release.
        seconds: wall time.
    """

    assets: tuple[BuildReport, ...]
    release: ReleaseReport
    seconds: float


def build_all(
    context: BuildContext,
    store: ReleaseStore,
    source: Path,
    *,
    stage_only: bool = False,
    on_wait: OnWait | None = None,
) -> WholeBuild:
    """Build every asset from a mapping file and publish the release.

    Raises:
        LifehelperError: as the builders and `publish_release` do; what was in service stays.
    """
    started = context.seconds()
    context.layout.create()
    with build_session(context.layout, context.clock):
        tables = build_tables(context, source)
        popularity = build_popularity(context, tables.record.tables)
        content = compose_release(context, (tables.record, popularity.record))
        release = publish_release(context, store, content, stage_only=stage_only, on_wait=on_wait)
    return WholeBuild(
        assets=(tables, popularity), release=release, seconds=context.seconds() - started
    )

"""The whole build: every asset in order, then the release."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lifehelper_data.domain.build import BuildReport
from lifehelper_data.domain.release import TableParts
from lifehelper_data.pipelines.build_catalog import build_catalog
from lifehelper_data.pipelines.build_popularity import build_popularity
from lifehelper_data.pipelines.build_release import OnWait, ReleaseReport, publish_release
from lifehelper_data.pipelines.build_tables import build_tables
from lifehelper_data.pipelines.compose import compose_release
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.stores.releases import ReleaseStore
from lifehelper_data.stores.sessions import build_session


def build_search_assets(
    context: BuildContext, tables: Mapping[str, TableParts]
) -> list[BuildReport]:
    """Build everything that search needs: keyword index, vectors, prepared vectors, scale."""
    from lifehelper_data.pipelines.build_calibration import build_calibration
    from lifehelper_data.pipelines.build_embeddings import BOOKS, build_embeddings
    from lifehelper_data.pipelines.build_keyword import build_keyword
    from lifehelper_data.pipelines.build_presets import build_presets

    keyword = build_keyword(context, tables)
    embeddings = build_embeddings(context, tables)
    return [
        keyword,
        embeddings,
        build_presets(context, tables),
        build_calibration(context, embeddings.record.artifacts[BOOKS]),
    ]


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
    full_read: bool = False,
    on_wait: OnWait | None = None,
) -> WholeBuild:
    """Build every asset from a mapping file and publish the release.

    Args:
        context: workspace, settings, clock and progress.
        store: the releases.
        source: the mapping file.
        stage_only: publish and check, promote nothing.
        full_read: read tables with `incremental` in full.
        on_wait: told while another process publishes.

    Raises:
        LifehelperError: as the builders and `publish_release` do; what was in service stays.
    """
    started = context.seconds()
    context.layout.create()
    with build_session(context.layout, context.clock):
        tables = build_tables(context, source, full_read=full_read)
        clean = tables.record.tables
        catalog = build_catalog(context, clean)
        indexed = {**clean, **catalog.record.tables}
        derived = [build_popularity(context, indexed)]
        if context.settings.run.search_assets:
            derived += build_search_assets(context, indexed)
        assets = [tables, *derived]
        content = compose_release(context, [asset.record for asset in assets])
        release = publish_release(context, store, content, stage_only=stage_only, on_wait=on_wait)
    return WholeBuild(assets=tuple(assets), release=release, seconds=context.seconds() - started)

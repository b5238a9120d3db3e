"""Everything the page shows, measured once."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from lifehelper_data.domain.checks import CheckResult
from lifehelper_data.domain.freshness import Freshness
from lifehelper_data.domain.release import Release
from lifehelper_data.evaluation.data_quality import DataQuality, measure_data_quality
from lifehelper_data.evaluation.report.samples import SampleAnswer, ask, choose_queries
from lifehelper_data.pipelines.checks import run_checks
from lifehelper_data.pipelines.freshness import freshness_when_published
from lifehelper_data.runtime.workspace import Workspace, open_store, release_settings
from lifehelper_data.settings import Settings, load_settings
from lifehelper_data.stores.layout import Layout

SHOWN_ROWS: Final = 50
KEYWORD_INDEX: Final = "books_keyword"
TABLES_ONLY: Final = "the release holds tables only, neither keyword index nor vectors"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContent:
    """What the sections of the page read.

    Attributes:
        release: the release.
        settings: the tunables it was built with.
        quality: its data quality.
        checks: its checks.
        freshness: how old its content was when it was published, against the budgets.
        calibration: the similarity scale, one row, or none.
        quarantine: up to 50 rows, taken in turn from every table and reason.
        rejects: up to 50 lines, taken in turn from every file and reason.
        dictionary: the data dictionary.
        searches: the sample searches, or why the release cannot be searched.
    """

    release: Release
    settings: Settings
    quality: DataQuality
    checks: Sequence[CheckResult]
    freshness: Sequence[Freshness]
    calibration: pl.DataFrame
    quarantine: pl.DataFrame
    rejects: pl.DataFrame
    dictionary: pl.DataFrame
    searches: Sequence[SampleAnswer] | str

    @property
    def facts(self) -> Mapping[str, object]:
        """Facts of the release by name."""
        return self.release.content.facts

    def rows(self, table: str) -> int:
        """Rows of a table; 0 if the release does not have it."""
        parts = self.release.content.tables.get(table)
        return parts.rows if parts else 0


def measure_page(workspace: Workspace, checks: Sequence[CheckResult] | None = None) -> PageContent:
    """Measure everything the page shows.

    Args:
        workspace: the pinned release.
        checks: its checks, if they were just made; None makes them.

    Raises:
        Unavailable: the release cannot be read.
    """
    quality = measure_data_quality(workspace)
    configured = load_settings(Layout(workspace.path).config_file, os.environ)
    with open_store(workspace.path).open(workspace.release.number) as reader:
        checks = run_checks(reader) if checks is None else checks
        freshness = freshness_when_published(reader, configured)
    searches: Sequence[SampleAnswer] | str = TABLES_ONLY
    if KEYWORD_INDEX in workspace.release.content.artifacts:
        searches = ask(workspace, choose_queries(workspace.table("books"), quality.popularity))
    return PageContent(
        release=workspace.release,
        settings=release_settings(workspace.release),
        quality=quality,
        checks=checks,
        freshness=freshness,
        calibration=_table_or_none(workspace, "similarity_calibration"),
        quarantine=in_turn(workspace.table("quarantine"), ("table_name", "reason"), SHOWN_ROWS),
        rejects=in_turn(workspace.table("rejects"), ("source_file", "reason"), SHOWN_ROWS),
        dictionary=workspace.dictionary(),
        searches=searches,
    )


def in_turn(frame: pl.DataFrame, by: Sequence[str], most: int) -> pl.DataFrame:
    """Return up to `most` rows such that every group gives its first before any its second.

    Args:
        frame: rows; their order decides which are a group's first.
        by: columns that make the groups.
        most: how many rows.

    Returns:
        The rows chosen, grouped together, groups in order of first appearance.
    """
    numbered = frame.with_row_index("_place").with_columns(
        pl.int_range(pl.len()).over(by).alias("_turn"),
        pl.col("_place").min().over(by).alias("_group"),
    )
    return (
        numbered.sort("_turn", "_place")
        .head(most)
        .sort("_group", "_place")
        .drop("_place", "_turn", "_group")
    )


def _table_or_none(workspace: Workspace, name: str) -> pl.DataFrame:
    return workspace.table(name) if name in workspace.tables else pl.DataFrame()

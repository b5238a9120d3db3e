"""What the web UI shows beside a materialisation."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from dagster_project.lineage import column_lineage
from lifehelper_data.domain.build import BuildReport
from lifehelper_data.domain.checks import CheckResult
from lifehelper_data.domain.contract import ALL_TABLES, SQL_TYPES
from lifehelper_data.evaluation.asset_views import preview_markdown, table_plot
from lifehelper_data.pipelines.build_release import ReleaseReport, StagedRelease
from lifehelper_data.stores.layout import Layout

Metadata = dict[str, Any]


def column_schema(name: str) -> Metadata:
    """The columns of a contract table, with their meanings."""
    columns = [
        dg.TableColumn(
            name=column.name,
            type=SQL_TYPES[column.kind],
            description=column.meaning,
            constraints=dg.TableColumnConstraints(nullable=column.nullable),
        )
        for column in ALL_TABLES[name].columns
    ]
    return {"dagster/column_schema": dg.TableSchema(columns=columns)}


def build_metadata(report: BuildReport) -> Metadata:
    """How long a builder took and how much it made; a reused output took no work."""
    shown: Metadata = {
        "seconds": round(report.seconds, 3),
        "reused": report.reused,
        "bytes": report.size_bytes,
    }
    if not report.reused and report.seconds > 0:
        shown["rows_per_second"] = round(report.rows / report.seconds)
    return shown


def table_metadata(
    layout: Layout,
    report: BuildReport,
    name: str,
    watermarks_before: Mapping[str, str | None] | None = None,
) -> Metadata:
    """Rows, identity, size, counts of the load, watermarks, a preview and a plot of one table."""
    record = report.record
    table = record.tables[name]
    shown = build_metadata(report) | {
        "dagster/row_count": table.rows,
        "identity": table.identity,
        "bytes": sum(part.size_bytes for part in table.parts),
        **column_lineage(name),
    }
    counts = record.table_counts.get(name)
    if counts is not None:
        shown |= {
            "rows_in": counts.returned,
            "rows_kept": counts.kept,
            "rows_repeated": counts.repeated,
            "rows_duplicate": counts.duplicates,
            "rows_quarantined": counts.quarantined,
            "rows_orphan": counts.orphans,
        }
    now = record.facts.get("source_watermarks")
    if watermarks_before is not None and isinstance(now, dict) and now.get(name):
        shown |= {
            "watermark_before": watermarks_before.get(name) or "none",
            "watermark_after": now[name],
        }
    return shown if report.reused else shown | _views(layout, report, name)


def _views(layout: Layout, report: BuildReport, name: str) -> Metadata:
    table = report.record.tables[name]
    if not table.rows:
        return {}
    shown: Metadata = {"preview": dg.MetadataValue.md(preview_markdown(layout, table))}
    plot = table_plot(layout, table)
    if plot is not None:
        shown["plot"] = dg.MetadataValue.md(plot)
    return shown


def artifact_metadata(report: BuildReport, name: str) -> Metadata:
    """Items, identity, bytes and facts of one artifact of an asset, and what the builder noted."""
    artifact = report.record.artifacts[name]
    facts = {**artifact.facts, **report.record.facts}
    return build_metadata(report) | {
        "dagster/row_count": artifact.rows,
        "identity": artifact.identity,
        "bytes": artifact.size_bytes,
        **{key: _shown(fact) for key, fact in facts.items()},
    }


def staged_metadata(staged: StagedRelease) -> Metadata:
    """Number and identity of a staged release, and what waits for its texts to be indexed."""
    content = staged.release.content
    waiting = content.facts.get("waiting")
    return {
        "release": staged.release.number,
        "identity": staged.release.identity,
        "published": staged.published,
        "books": content.tables["books"].rows,
        "books_waiting": waiting["books"] if isinstance(waiting, dict) else 0,
        "checks_held": sum(check.passed for check in staged.checks),
        "checks": len(staged.checks),
        "rows": sum(table.rows for table in content.tables.values()),
    }


def release_metadata(report: ReleaseReport) -> Metadata:
    """Number and identity of a release, and whether it is in service."""
    return {
        "release": report.release.number,
        "identity": report.release.identity,
        "promoted": report.promoted,
        "in_service": report.in_service,
        "notes": "; ".join(report.notes),
    }


def check_result(asset: str, check: CheckResult) -> dg.AssetCheckResult:
    """A check of a release, as Dagster shows it; one that blocks is an error, others warn."""
    blocks = dg.AssetCheckSeverity.ERROR if check.blocking else dg.AssetCheckSeverity.WARN
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=check.name,
        passed=check.passed,
        severity=blocks,
        description=check.detail,
    )


def _shown(fact: object) -> object:
    return fact if isinstance(fact, int | float | str | bool) else str(fact)

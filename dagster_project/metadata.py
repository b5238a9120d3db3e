"""What the web UI shows beside a materialisation."""

from lifehelper_data.domain.build import BuildRecord
from lifehelper_data.pipelines.build_release import ReleaseReport


def table_metadata(record: BuildRecord, name: str) -> dict[str, int | str]:
    """Rows, identity and size of one table, with the counts of its load."""
    table = record.tables[name]
    shown: dict[str, int | str] = {
        "dagster/row_count": table.rows,
        "identity": table.identity,
        "bytes": sum(part.size_bytes for part in table.parts),
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
    return shown


def artifact_metadata(record: BuildRecord) -> dict[str, int | str]:
    """Items, identity and bytes of every artifact of an asset, and what the builder noted."""
    shown: dict[str, int | str] = {}
    for name, artifact in record.artifacts.items():
        shown[f"{name} items"] = artifact.rows
        shown[f"{name} identity"] = artifact.identity
        shown[f"{name} bytes"] = sum(file.size_bytes for file in artifact.files)
    return shown | {name: str(fact) for name, fact in record.facts.items()}


def release_metadata(report: ReleaseReport) -> dict[str, int | str]:
    """Number, identity and checks of a release."""
    return {
        "release": report.release.number,
        "identity": report.release.identity,
        "published": "yes" if report.published else "no: nothing changed",
        "in_service": "yes" if report.in_service else "no",
        **{f"check {check.name}": check.detail for check in report.checks},
    }

"""How a build is shown."""

from lifehelper_data.cli.output import out, print_table
from lifehelper_data.domain.build import BuildReport
from lifehelper_data.domain.counts import FileCounts, TableCounts
from lifehelper_data.pipelines.build import WholeBuild
from lifehelper_data.stores.layout import Layout


def build_json(done: WholeBuild) -> dict[str, object]:
    """Return a build as one JSON-ready document."""
    release = done.release
    return {
        "release": release.release.number,
        "identity": release.release.identity,
        "published": release.published,
        "promoted": release.promoted,
        "in_service": release.in_service,
        "seconds": round(done.seconds, 3),
        "assets": [_asset_json(report) for report in done.assets],
        "files": [_file_json(f) for f in release.release.content.files],
        "tables": [_table_json(c) for c in release.release.content.table_counts.values()],
        "checks": [
            {"name": c.name, "passed": c.passed, "blocking": c.blocking, "detail": c.detail}
            for c in release.checks
        ],
        "notes": list(release.notes),
    }


def show_build(done: WholeBuild, layout: Layout) -> None:
    """Print a build for people."""
    content = done.release.release.content
    print_table(
        "files",
        ("file", "lines", "rows", "rejected", "reasons"),
        ((f.path, f.lines, f.rows, f.rejected, _pairs(f.reasons)) for f in content.files),
        right=(1, 2, 3),
    )
    print_table(
        "tables",
        (
            "table", "returned", "kept", "repeated", "duplicates", "quarantined", "bad columns",
            "orphans", "ignored columns",
        ),
        (
            (
                c.table, c.returned, c.kept, c.repeated, c.duplicates, c.quarantined,
                _pairs(c.bad_columns), c.orphans, ", ".join(c.ignored_columns) or None,
            )
            for c in content.table_counts.values()
        ),
        right=(1, 2, 3, 4, 5, 7),
    )  # fmt: skip
    print_table(
        "assets",
        ("asset", "made", "bytes", "seconds", "rows/s", "reused"),
        (
            (
                a.record.asset, _pairs(a.made), a.size_bytes, f"{a.seconds:.2f}",
                f"{a.rows / a.seconds:,.0f}" if a.seconds and not a.reused else None, a.reused,
            )
            for a in done.assets
        ),
        right=(2, 3, 4),
    )  # fmt: skip
    if done.release.checks:
        print_table(
            "checks",
            ("check", "passed", "blocking", "detail"),
            ((c.name, c.passed, c.blocking, c.detail) for c in done.release.checks),
        )
    release = done.release.release
    state = "in service" if done.release.in_service else str(release.state)
    out.print(
        f"release {release.number} ({state}), identity {release.identity[:12]}, "
        f"{done.seconds:.1f} s",
        markup=False,
    )
    for note in done.release.notes:
        out.print(note, markup=False)
    if done.release.in_service:
        out.print(f"any DuckDB client can open {layout.current_database}", markup=False)


def _pairs(counts: object) -> str | None:
    if not isinstance(counts, dict) or not counts:
        return None
    return ", ".join(f"{name} {n:,}" for name, n in counts.items())


def _asset_json(report: BuildReport) -> dict[str, object]:
    return {
        "asset": report.record.asset,
        "reused": report.reused,
        "rows": report.rows,
        "size_bytes": report.size_bytes,
        "seconds": round(report.seconds, 3),
        "tables": {
            name: {"rows": t.rows, "identity": t.identity, "parts": len(t.parts)}
            for name, t in report.record.tables.items()
        },
    }


def _file_json(counts: FileCounts) -> dict[str, object]:
    return {
        "source_file": counts.source_file,
        "path": counts.path,
        "lines": counts.lines,
        "rows": counts.rows,
        "rejected": counts.rejected,
        "reasons": dict(counts.reasons),
    }


def _table_json(counts: TableCounts) -> dict[str, object]:
    return {
        "table": counts.table,
        "returned": counts.returned,
        "kept": counts.kept,
        "repeated": counts.repeated,
        "duplicates": counts.duplicates,
        "quarantined": counts.quarantined,
        "bad_columns": dict(counts.bad_columns),
        "orphans": counts.orphans,
        "ignored_columns": list(counts.ignored_columns),
    }

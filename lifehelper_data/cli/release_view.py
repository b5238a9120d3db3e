"""How releases, differences and clean-ups are shown."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from lifehelper_data.cli.output import out, print_table
from lifehelper_data.domain.release import Release
from lifehelper_data.stores.diff import ReleaseDiff
from lifehelper_data.stores.gc import GcReport
from lifehelper_data.stores.verify import VerifyReport


def releases_json(
    releases: Sequence[Release], current: int | None, tags: Mapping[str, int]
) -> dict[str, object]:
    """Return the list of releases, JSON-ready."""
    return {
        "current": current,
        "tags": dict(tags),
        "releases": [_head(release) for release in releases],
    }


def show_releases(
    releases: Sequence[Release], current: int | None, tags: Mapping[str, int]
) -> None:
    """Print the list of releases."""
    if not releases:
        out.print("no release yet; run `lifehelper build`", markup=False)
        return
    print_table(
        "",
        ("release", "state", "in service", "published (UTC)", "identity", "books", "tags"),
        (
            (
                str(r.number), r.state, "←" if r.number == current else None, r.created_at,
                r.identity[:12], r.content.tables["books"].rows,
                ", ".join(t for t, n in tags.items() if n == r.number) or None,
            )
            for r in releases
        ),
        right=(0, 5),
    )  # fmt: skip


def release_json(release: Release) -> dict[str, object]:
    """Return one release, JSON-ready."""
    content = release.content
    return {
        **_head(release),
        "facts": dict(content.facts),
        "tables": {
            name: {
                "rows": table.rows,
                "identity": table.identity,
                "parts": [asdict(part) for part in table.parts],
            }
            for name, table in content.tables.items()
        },
        "files": [asdict(file) for file in content.files],
        "table_counts": {name: asdict(counts) for name, counts in content.table_counts.items()},
    }


def show_release(release: Release) -> None:
    """Print one release."""
    content = release.content
    out.print(
        f"release {release.number} ({release.state}), published "
        f"{release.created_at:%Y-%m-%d %H:%M:%S} UTC, identity {release.identity}",
        markup=False,
    )
    print_table(
        "tables",
        ("table", "rows", "parts", "bytes", "identity"),
        (
            (n, t.rows, len(t.parts), sum(p.size_bytes for p in t.parts), t.identity[:12])
            for n, t in content.tables.items()
        ),
        right=(1, 2, 3),
    )
    print_table("facts", ("fact", "value"), sorted(content.facts.items()))


def diff_json(diff: ReleaseDiff) -> dict[str, object]:
    """Return a difference, JSON-ready."""
    return {**asdict(diff), "equal": diff.equal}


def show_diff(diff: ReleaseDiff) -> None:
    """Print a difference."""
    if diff.equal:
        out.print(f"releases {diff.before} and {diff.after} hold the same rows", markup=False)
        return
    print_table(
        f"release {diff.before} → {diff.after}",
        ("table", "status", "rows before", "rows after", "added", "removed", "changed"),
        (
            (t.table, t.status, t.rows_before, t.rows_after, t.added, t.removed, t.changed)
            for t in diff.tables
        ),
        right=(2, 3, 4, 5, 6),
    )
    for table in diff.tables:
        if table.sample:
            print_table(
                f"{table.table}: first changes",
                (*table.key, "column", "before", "after"),
                ((*v.key, v.column, v.before, v.after) for v in table.sample),
            )


def gc_json(report: GcReport) -> dict[str, object]:
    """Return a clean-up, JSON-ready."""
    return asdict(report)


def show_gc(report: GcReport) -> None:
    """Print a clean-up."""
    print_table("kept", ("release", "why"), ((str(n), why) for n, why in report.kept.items()))
    verb = "would delete" if report.dry_run else "deleted"
    out.print(
        f"{verb} {len(report.deleted_releases)} releases, {len(report.deleted_parts)} parts, "
        f"{len(report.deleted_scratch)} scratch files: {report.bytes_freed:,} bytes",
        markup=False,
    )


def verify_json(report: VerifyReport) -> dict[str, object]:
    """Return a verification, JSON-ready."""
    return {**asdict(report), "ok": report.ok}


def _head(release: Release) -> dict[str, object]:
    return {
        "number": release.number,
        "state": release.state,
        "created_at": release.created_at,
        "promoted_at": release.promoted_at,
        "identity": release.identity,
    }

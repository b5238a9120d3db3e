"""Checks of a release. To add one, write a function and list it in `CHECKS`."""

from collections.abc import Callable, Mapping
from typing import Final

from lifehelper_data.domain.checks import CheckResult
from lifehelper_data.domain.contract import HISTORY_TABLES
from lifehelper_data.domain.errors import CheckFailed
from lifehelper_data.domain.popularity import PopularityMethod
from lifehelper_data.pipelines.search_checks import (
    check_index_recall,
    check_keyword_index,
    check_vectors,
)
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.part_check import all_parts, size_problems
from lifehelper_data.stores.releases import ReleaseReader
from lifehelper_data.stores.table_checks import (
    forbidden_nulls,
    popularity_faults,
    repeated_keys,
    wrong_columns,
)
from lifehelper_data.stores.vector_artifact import vectors_of, vectors_problem

MAX_ORPHAN_SHARE: Final = 0.5
"""Above this share of history rows without a book the orphan check warns."""

_SALES_METHODS: Final = {PopularityMethod.LOG_SALES, PopularityMethod.SHARE_OF_MAX}


def check_complete(reader: ReleaseReader) -> CheckResult:
    """Every file of the release is on disk in its recorded size, and every vector version."""
    content = reader.release.content
    vectors = vectors_of(content.artifacts)
    layout = Layout(reader.root)
    problems = [
        *size_problems(reader.root, content),
        *(p for artifact in vectors if (p := vectors_problem(layout, artifact)) is not None),
    ]
    files = len(all_parts(content))
    return CheckResult(
        name="release_complete",
        passed=not problems,
        blocking=True,
        detail=str(problems[0])
        if problems
        else f"{files} files and {len(vectors)} vector versions present",
    )


def check_not_empty(reader: ReleaseReader) -> CheckResult:
    """The release has books: an empty catalog is a broken source, not a shop."""
    books = reader.release.content.tables["books"].rows
    return CheckResult(
        name="books_not_empty", passed=books > 0, blocking=True, detail=f"{books:,} books"
    )


def check_columns(reader: ReleaseReader) -> CheckResult:
    """Every table has the contract's columns and types, and no null where none may be."""
    wrong = wrong_columns(reader)
    nulls = forbidden_nulls(reader)
    problems = wrong + [f"{column} ({n:,} nulls)" for column, n in nulls.items()]
    return CheckResult(
        name="contract_columns",
        passed=not problems,
        blocking=True,
        detail=", ".join(problems) or f"{len(reader.release.content.tables)} tables as agreed",
    )


def check_keys(reader: ReleaseReader) -> CheckResult:
    """Every key stands for one row."""
    repeated = repeated_keys(reader)
    return CheckResult(
        name="key_unique",
        passed=not repeated,
        blocking=True,
        detail=", ".join(f"{name}: {n:,} keys repeated" for name, n in repeated.items())
        or "every key once",
    )


def check_counts(reader: ReleaseReader) -> CheckResult:
    """Every line and every row is accounted for, and the parts hold what the counts say."""
    content = reader.release.content
    problems = [f"file {f.path}" for f in content.files if not f.balanced]
    for name, counts in content.table_counts.items():
        if not counts.balanced:
            problems.append(f"table {name}")
        waiting, leaving = (_by_table(content.facts, fact, name) for fact in ("waiting", "leaving"))
        if counts.kept - waiting + leaving != content.tables[name].rows:
            problems.append(
                f"table {name}: kept {counts.kept}, waiting {waiting}, leaving {leaving}, has "
                f"{content.tables[name].rows}"
            )
    expected = {
        "quarantine": sum(c.quarantined + c.duplicates for c in content.table_counts.values()),
        "rejects": sum(f.rejected for f in content.files),
    }
    problems += [
        f"{name}: expected {count}, has {content.tables[name].rows}"
        for name, count in expected.items()
        if content.tables[name].rows != count
    ]
    lines = sum(f.lines for f in content.files)
    returned = sum(c.returned for c in content.table_counts.values())
    return CheckResult(
        name="counts_add_up",
        passed=not problems,
        blocking=True,
        detail="; ".join(problems) or f"{lines:,} lines and {returned:,} rows accounted for",
    )


def _by_table(facts: Mapping[str, object], fact: str, table: str) -> int:
    """Return a count that a release gives by table; 0 where it gives none."""
    counts = facts.get(fact)
    return int(counts.get(table, 0)) if isinstance(counts, dict) else 0


def check_popularity(reader: ReleaseReader) -> CheckResult:
    """Every book has a popularity in 0-1, and sales methods never fall with sales."""
    outside, not_monotone, absent = popularity_faults(reader)
    method = reader.release.content.facts.get("popularity_method")
    wrong_order = not_monotone if method in _SALES_METHODS else 0
    return CheckResult(
        name="popularity",
        passed=not (outside or wrong_order or absent),
        blocking=True,
        detail=f"{outside:,} outside 0-1, {wrong_order:,} sales levels out of order, "
        f"{absent:,} books without a row ({method})",
    )


def check_orphans(reader: ReleaseReader) -> CheckResult:
    """The share of history rows whose book is unknown; reported, never blocking."""
    counts = reader.release.content.table_counts
    rows = sum(counts[name].kept for name in HISTORY_TABLES if name in counts)
    orphans = sum(counts[name].orphans for name in HISTORY_TABLES if name in counts)
    share = orphans / rows if rows else None
    return CheckResult(
        name="orphan_share",
        passed=share is None or share <= MAX_ORPHAN_SHARE,
        blocking=False,
        detail="no history"
        if share is None
        else f"{orphans:,} of {rows:,} history rows ({share:.1%})",
    )


CHECKS: Final[Mapping[str, Callable[[ReleaseReader], CheckResult]]] = {
    "release_complete": check_complete,
    "books_not_empty": check_not_empty,
    "contract_columns": check_columns,
    "key_unique": check_keys,
    "counts_add_up": check_counts,
    "popularity": check_popularity,
    "vectors": check_vectors,
    "keyword_index": check_keyword_index,
    "index_recall": check_index_recall,
    "orphan_share": check_orphans,
}

BLOCKING: Final = frozenset(CHECKS) - {"orphan_share"}
"""Checks without which serving would be wrong: a release that fails one is not promoted."""


def run_checks(reader: ReleaseReader) -> list[CheckResult]:
    """Run every check; once a release is incomplete the others cannot be asked."""
    first = check_complete(reader)
    if not first.passed:
        return [first]
    return [first, *(check(reader) for name, check in CHECKS.items() if name != first.name)]


def require_checks(reader: ReleaseReader) -> tuple[CheckResult, ...]:
    """Run every check and insist on the blocking ones.

    Raises:
        CheckFailed: names the blocking checks that say no.
    """
    results = tuple(run_checks(reader))
    failed = [check for check in results if check.blocking and not check.passed]
    if failed:
        raise CheckFailed(
            f"release {reader.number} is not promoted: "
            + "; ".join(f"{check.name}: {check.detail}" for check in failed),
            field=failed[0].name,
        )
    return results

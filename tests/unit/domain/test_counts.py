from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.domain.counts import FileCounts, TableCounts

COUNT = st.integers(0, 10**9)


def file_counts(lines: int, rows: int, rejected: int, reasons: Mapping[str, int]) -> FileCounts:
    return FileCounts(
        source_file="raw", path="a.csv", lines=lines, rows=rows, rejected=rejected, reasons=reasons
    )


@pytest.mark.parametrize(
    ("counts", "balanced"),
    [
        (file_counts(0, 0, 0, {}), True),
        (file_counts(10, 7, 3, {"nul": 1, "column_count": 2}), True),
        (file_counts(10, 8, 3, {"nul": 3}), False),  # 8 + 3 > 10
        (file_counts(10, 6, 3, {"nul": 3}), False),  # a line is lost
        (file_counts(10, 7, 3, {"nul": 2}), False),  # a reject without a reason
        (file_counts(10, 7, 3, {}), False),
    ],
)
def test_file_balances_if_lines_are_rows_and_rejects_with_reasons(
    counts: FileCounts, balanced: bool
) -> None:
    assert counts.balanced is balanced


@given(kept=COUNT, repeated=COUNT, duplicates=COUNT, bad=st.lists(COUNT, max_size=4), lost=COUNT)
def test_table_balances_if_and_only_if_no_row_is_lost(
    kept: int, repeated: int, duplicates: int, bad: list[int], lost: int
) -> None:
    counts = TableCounts(
        table="books",
        returned=kept + repeated + duplicates + sum(bad) + lost,
        kept=kept,
        repeated=repeated,
        duplicates=duplicates,
        quarantined=sum(bad),
        bad_columns={str(n): count for n, count in enumerate(bad)},
    )
    assert counts.balanced is (lost == 0)


def test_table_does_not_balance_if_a_bad_row_has_no_column() -> None:
    counts = TableCounts(table="books", returned=3, kept=1, quarantined=2, bad_columns={"price": 1})
    assert not counts.balanced


@pytest.mark.parametrize(
    ("returned", "quarantined", "share"), [(0, 0, None), (20, 1, 0.05), (4, 4, 1.0), (7, 0, 0.0)]
)
def test_bad_share_counts_bad_values_only(
    returned: int, quarantined: int, share: float | None
) -> None:
    counts = TableCounts(
        table="books", returned=returned, quarantined=quarantined, duplicates=2, repeated=3
    )
    assert counts.bad_share == share

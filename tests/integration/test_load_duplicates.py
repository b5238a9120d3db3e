"""Several rows of one key, against a naive oracle."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from lifehelper_data.domain.contract import QUARANTINE, TABLES
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.parts import PartWriter, Settled
from tests.conftest import examples
from tests.unit.sources.cast_kit import cast

Row = dict[str, str | None]


def settled(
    table: str, batches: Sequence[Sequence[Row]]
) -> tuple[Settled, list[dict[str, object]], list[dict[str, object]]]:
    """Cast and settle batches; returns the counts, the table and the quarantine."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        layout = Layout(root / "workspace")
        layout.create()
        with PartWriter.open(layout, root, threads=2, memory_limit="512MB") as writer:
            for rows in batches:
                if rows:
                    result = cast(table, *rows)
                    assert result.bad.is_empty()
                    writer.append(TABLES[table], result.good)
            counts = writer.settle(TABLES[table])
            tables = []
            for contract in (TABLES[table], QUARANTINE):
                writer.export(contract, root / "out.parquet")
                tables.append(pl.read_parquet(root / "out.parquet").rows(named=True))
    return counts, tables[0], tables[1]


def in_batches(rows: list[Row], cuts: list[int]) -> list[list[Row]]:
    edges = sorted({0, len(rows), *(cut for cut in cuts if cut <= len(rows))})
    return [rows[a:b] for a, b in zip(edges, edges[1:], strict=False)]


CUTS = st.lists(st.integers(0, 8), max_size=2)
TIMES = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-02T00:00:00.000001Z"]
WRITTEN = {  # the same times as they come back
    "2026-01-01T00:00:00Z": "2026-01-01T00:00:00+00:00",
    "2026-01-02T00:00:00Z": "2026-01-02T00:00:00+00:00",
    "2026-01-02T00:00:00.000001Z": "2026-01-02T00:00:00.000001+00:00",
}


def numbered(rows: list[Row]) -> list[Row]:
    """Every row gets a text of its own, so that the winner can be told."""
    return [row | {"title": f"t{n}"} for n, row in enumerate(rows)]


BOOK_ROWS = st.lists(
    st.fixed_dictionaries(
        {"book_id": st.sampled_from(["1", "2", "3"]), "updated_at": st.sampled_from([None, *TIMES])}
    ),
    max_size=8,
).map(numbered)


@settings(max_examples=examples(40))
@given(rows=BOOK_ROWS, cuts=CUTS)
def test_newest_book_wins_else_the_last_in_source_order(rows: list[Row], cuts: list[int]) -> None:
    counts, kept, quarantine = settled("books", in_batches(rows, cuts))
    winners: dict[str, Row] = {}
    for row in rows:  # later rows win ties; no time loses against any
        current = winners.get(str(row["book_id"]))
        if current is None or (row["updated_at"] or "") >= (current["updated_at"] or ""):
            winners[str(row["book_id"])] = row
    assert sorted(str(row["title"]) for row in kept) == sorted(
        str(row["title"]) for row in winners.values()
    )
    losers = [row for row in rows if row not in winners.values()]
    assert counts == Settled(kept=len(winners), duplicates=len(losers))
    assert {row["reason"] for row in quarantine} <= {"duplicate"}
    assert sorted(json.loads(str(row["row"]))["title"] for row in quarantine) == sorted(
        str(row["title"]) for row in losers
    )
    assert all(json.loads(str(row["key"])).keys() == {"book_id"} for row in quarantine)


# The comparison above is of texts: the fraction sorts after the whole second only because of this.
assert "2026-01-02T00:00:00.000001Z" < "2026-01-02T00:00:00Z"

"""Several rows of one key, against a naive oracle."""

import itertools
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifehelper_data.domain.contract import QUARANTINE, TABLES
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.parts import PartWriter
from lifehelper_data.stores.settling import Settled
from tests.conftest import examples
from tests.unit.sources.cast_kit import cast

Row = Mapping[str, str | None]


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
    return [rows[a:b] for a, b in itertools.pairwise(edges)]


CUTS = st.lists(st.integers(0, 8), max_size=2)
TIMES = [  # in order
    "2026-01-01T00:00:00Z",
    "2026-01-02T00:00:00Z",
    "2026-01-02T00:00:00.000001Z",
]
AGE: dict[str | None, int] = {None: -1} | {time: age for age, time in enumerate(TIMES)}


def numbered(rows: Sequence[Row]) -> list[Row]:
    """Every row gets a text of its own, so that the winner can be told."""
    return [{**row, "title": f"t{n}"} for n, row in enumerate(rows)]


BOOK_ROWS = st.lists(
    st.fixed_dictionaries(
        {"book_id": st.sampled_from(["1", "2", "3"]), "updated_at": st.sampled_from([None, *TIMES])}
    ),
    max_size=8,
).map(numbered)


@settings(max_examples=examples(25))
@given(rows=BOOK_ROWS, cuts=CUTS)
def test_newest_book_wins_else_the_last_in_source_order(rows: list[Row], cuts: list[int]) -> None:
    counts, kept, quarantine = settled("books", in_batches(rows, cuts))
    winners: dict[str, Row] = {}
    for row in rows:  # later rows win ties; no time loses against any
        current = winners.get(str(row["book_id"]))
        if current is None or AGE[row["updated_at"]] >= AGE[current["updated_at"]]:
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


LAST_WINS: dict[str, tuple[str, Row]] = {  # key column, a row without it
    "book_popularity": ("book_id", {"as_of": TIMES[0]}),
    "onboarding": ("user_id", {}),
    "habit_catalog": ("item_id", {"kind": "diet", "title": "t", "category": "sleep"}),
    "frame_patterns": ("keyword", {"applies_to_levels": '["L0"]'}),
}
VARYING: dict[str, tuple[str, Callable[[int], str]]] = {
    "book_popularity": ("sales", str),
    "onboarding": ("tags", lambda n: f'["{n}"]'),
    "habit_catalog": ("summary", lambda n: f"s{n}"),
    "frame_patterns": ("suggestion", lambda n: f"s{n}"),
}


@pytest.mark.parametrize("table", LAST_WINS)
@settings(max_examples=examples(15))
@given(keys=st.lists(st.sampled_from(["1", "2", "3"]), max_size=8), cuts=CUTS)
def test_last_row_wins_where_there_is_no_time(table: str, keys: list[str], cuts: list[int]) -> None:
    key, fixed = LAST_WINS[table]
    varying, value = VARYING[table]
    rows: list[Row] = [{key: k, varying: value(n), **fixed} for n, k in enumerate(keys)]
    counts, kept, quarantine = settled(table, in_batches(rows, cuts))
    last = {k: value(n) for n, k in enumerate(keys)}  # later entries replace earlier ones
    found = {str(row[key]): row[varying] for row in kept}
    as_text = {k: json.dumps(v) if isinstance(v, list) else str(v) for k, v in found.items()}
    assert as_text == last
    assert counts == Settled(kept=len(last), duplicates=len(keys) - len(last))
    assert len(quarantine) == len(keys) - len(last)


EVENTS: dict[str, tuple[str, Row]] = {
    "user_purchases": ("purchased_at", {}),
    "user_library": ("added_at", {}),
    "user_reviews": ("created_at", {"rating": "4.5"}),
}


@pytest.mark.parametrize("table", EVENTS)
@settings(max_examples=examples(15))
@given(data=st.data(), cuts=CUTS)
def test_repeated_delivery_keeps_the_earliest_arrival(
    table: str, data: st.DataObject, cuts: list[int]
) -> None:
    time, fixed = EVENTS[table]
    row = st.fixed_dictionaries(
        {
            "user_id": st.sampled_from(["1", "2"]),
            "book_id": st.sampled_from(["1", "2"]),
            time: st.sampled_from(TIMES),
            "arrived_at": st.sampled_from([None, *TIMES]),
        }
    )
    rows: list[Row] = [{**values, **fixed} for values in data.draw(st.lists(row, max_size=8))]
    counts, kept, quarantine = settled(table, in_batches(rows, cuts))
    earliest: dict[tuple[str | None, ...], int] = {}
    for values in rows:
        event = (values["user_id"], values["book_id"], values[time])
        arrival = AGE[values["arrived_at"] or values[time]]
        earliest[event] = min(arrival, earliest.get(event, arrival))
    found = {
        (str(values["user_id"]), str(values["book_id"]), _written(values[time])): AGE[
            _written(values["arrived_at"])
        ]
        for values in kept
    }
    assert found == earliest
    assert counts == Settled(kept=len(earliest), repeated=len(rows) - len(earliest))
    assert quarantine == []


def test_reviews_of_other_ratings_are_other_events() -> None:
    row = {"user_id": "1", "book_id": "1", "created_at": TIMES[0]}
    counts, _, _ = settled("user_reviews", [[row | {"rating": "4"}, row | {"rating": "4.5"}]])
    assert counts == Settled(kept=2)


@settings(max_examples=examples(25))
@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {
                "user_id": st.sampled_from(["1", "2"]),
                "type": st.just("mood"),
                "value": st.sampled_from(["a", "b"]),
                "created_at": st.sampled_from(TIMES[:2]),
                "confidence": st.sampled_from([None, "0.5"]),
                "vector": st.sampled_from([None, "[0.5]"]),
            }
        ),
        max_size=8,
    ),
    cuts=CUTS,
)
def test_equal_memories_are_one_and_keep_their_first_place(
    rows: list[Row], cuts: list[int]
) -> None:
    counts, kept, quarantine = settled("memories", in_batches(rows, cuts))
    distinct = list({tuple(sorted(row.items())): row for row in rows}.values())  # first place, once
    expected = []
    for user in ("1", "2"):
        for time in TIMES[:2]:
            mine = [r for r in distinct if (r["user_id"], r["created_at"]) == (user, time)]
            expected += [(user, time, seq, r["value"]) for seq, r in enumerate(mine, 1)]
    found = [(str(r["user_id"]), _written(r["created_at"]), r["seq"], r["value"]) for r in kept]
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert counts == Settled(kept=len(distinct), repeated=len(rows) - len(distinct))
    assert quarantine == []


def _written(value: object) -> str:
    """A time as the source writes it."""
    assert isinstance(value, datetime)
    return value.isoformat().replace("+00:00", "Z")

"""Small previews and plots of a table's parts, as Markdown that shows without a network."""

import base64
from collections.abc import Callable, Mapping
from typing import Final

import altair as alt
import polars as pl

from lifehelper_data.domain.contract import ALL_TABLES, Kind
from lifehelper_data.domain.release import TableParts
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.table_reader import iter_rows

PREVIEW_ROWS: Final = 5
PREVIEW_COLUMNS: Final = 8
CELL_CHARACTERS: Final = 40
_WIDTH: Final = 420
_HEIGHT: Final = 160


def preview_markdown(layout: Layout, table: TableParts) -> str:
    """Return the first rows of a table as a Markdown table; long cells are cut.

    Users' own words (memories) and vectors are left out.
    """
    hidden = {"value"} if table.table == "memories" else set()
    columns = [
        c.name
        for c in ALL_TABLES[table.table].columns
        if c.kind is not Kind.FLOAT_LIST and c.name not in hidden
    ][:PREVIEW_COLUMNS]
    frame = next(iter_rows(layout, table, columns), None)
    if frame is None:
        return "no rows"
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    for row in frame.head(PREVIEW_ROWS).iter_rows():
        lines.append("| " + " | ".join(_cell(value) for value in row) + " |")
    return "\n".join(lines)


def table_plot(layout: Layout, table: TableParts) -> str | None:
    """Return a plot of a table as a Markdown picture; None for tables that have no plot."""
    plot = PLOTS.get(table.table)
    if plot is None or not table.rows:
        return None
    columns, draw = plot
    chart = draw(pl.concat(iter_rows(layout, table, columns)))
    return f"![{table.table}](data:image/png;base64,{_png(chart)})"


def _png(chart: alt.Chart) -> str:
    import vl_convert

    png = vl_convert.vegalite_to_png(chart.to_dict(), scale=1.5)
    return base64.b64encode(png).decode()


def _prices(frame: pl.DataFrame) -> alt.Chart:
    return _bars(
        _histogram(frame.drop_nulls().filter(pl.col("price") < 60_000)["price"], 2_000),
        "Prices in won (below 60,000)",
        "price",
        "books",
    )


def _months(column: str, what: str) -> Callable[[pl.DataFrame], alt.Chart]:
    def draw(frame: pl.DataFrame) -> alt.Chart:
        months = (
            frame.group_by(pl.col(column).dt.truncate("1mo").dt.date().alias("at"))
            .len("count")
            .sort("at")
        )
        chart: alt.Chart = (
            _chart(months, f"{what} by month")
            .mark_line(point=True)
            .encode(x=alt.X("at:T", title=None), y=alt.Y("count:Q", title="rows"))
        )
        return chart

    return draw


def _popularity(frame: pl.DataFrame) -> alt.Chart:
    return _bars(_histogram(frame["value"], 0.05), "Popularity of books", "value", "books")


def _reasons(frame: pl.DataFrame) -> alt.Chart:
    counts = frame.group_by("table_name", "reason").len("count").sort("count", descending=True)
    chart: alt.Chart = (
        _chart(counts, "Rows in quarantine")
        .mark_bar()
        .encode(
            x=alt.X("count:Q", title="rows"),
            y=alt.Y("reason:N", sort="-x", title=None),
            color=alt.Color("table_name:N", title="table"),
        )
    )
    return chart


def _histogram(values: pl.Series, width: float) -> pl.DataFrame:
    """Return at (start of the bin), count; the page needs no single rows."""
    return (
        pl.DataFrame({"at": (values / width).floor() * width})
        .group_by("at")
        .len("count")
        .sort("at")
    )


def _bars(counts: pl.DataFrame, title: str, x: str, y: str) -> alt.Chart:
    chart: alt.Chart = (
        _chart(counts, title)
        .mark_bar()
        .encode(x=alt.X("at:Q", title=x), y=alt.Y("count:Q", title=y))
    )
    return chart


def _chart(frame: pl.DataFrame, title: str) -> alt.Chart:
    return alt.Chart(frame, title=title, width=_WIDTH, height=_HEIGHT)


def _cell(value: object) -> str:
    text = " ".join(str("" if value is None else value).split()).replace("|", "\\|")
    return text if len(text) <= CELL_CHARACTERS else text[: CELL_CHARACTERS - 1] + "…"


PLOTS: Final[Mapping[str, tuple[tuple[str, ...], Callable[[pl.DataFrame], alt.Chart]]]] = {
    "books": (("price",), _prices),
    "user_purchases": (("purchased_at",), _months("purchased_at", "Purchases")),
    "user_library": (("added_at",), _months("added_at", "Books put in libraries")),
    "user_reviews": (("created_at",), _months("created_at", "Reviews")),
    "popularity": (("value",), _popularity),
    "quarantine": (("table_name", "reason"), _reasons),
}
"""Table -> the columns its plot reads, and how it is drawn."""

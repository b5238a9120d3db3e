"""Plots of data quality."""

import altair as alt
import polars as pl

from lifehelper_data.evaluation.data_quality import DataQuality

WIDTH = 480


def plot_quarantine(quality: DataQuality) -> alt.Chart:
    """Rows in quarantine by reason, coloured by table."""
    chart: alt.Chart = (
        alt.Chart(quality.quarantine, title="Rows in quarantine by reason", width=WIDTH)
        .mark_bar()
        .encode(
            x=alt.X("sum(rows):Q", title="rows"),
            y=alt.Y("reason:N", sort="-x", title=None),
            color=alt.Color("table_name:N", title="table"),
            tooltip=["table_name", "column_name", "reason", "rows"],
        )
    )
    return chart


def plot_nulls(quality: DataQuality) -> alt.Chart:
    """Share of nulls by column, one panel per table."""
    frame = quality.nulls.filter(pl.col("rows") > 0)
    chart: alt.Chart = (
        alt.Chart(frame, title="Share of missing values", width=WIDTH)
        .mark_bar()
        .encode(
            x=alt.X("null_share:Q", title="share of rows", axis=alt.Axis(format="%")),
            y=alt.Y("label:N", sort="-x", title=None),
            tooltip=["table", "column", "rows", "nulls", alt.Tooltip("null_share", format=".1%")],
        )
        .transform_calculate(label="datum.table + '.' + datum.column")
    )
    return chart


def plot_prices(quality: DataQuality) -> alt.Chart:
    """Distribution of prices on a logarithmic axis; suspect ones stand out."""
    chart: alt.Chart = (
        alt.Chart(quality.prices, title="Prices (won, log scale)", width=WIDTH)
        .mark_tick(thickness=1)
        .encode(
            x=alt.X("price_won:Q", scale=alt.Scale(type="symlog", constant=100), title="won"),
            y=alt.Y("price_suspect:N", title="suspect"),
            color=alt.Color("price_suspect:N", legend=None),
            tooltip=["book_id", "price_won"],
        )
    )
    return chart


def plot_popularity(quality: DataQuality) -> alt.Chart:
    """Sales by rank: how heavy the head is."""
    chart: alt.Chart = (
        alt.Chart(quality.popularity, title="Sales by rank", width=WIDTH)
        .mark_line(point=False)
        .encode(
            x=alt.X("rank:Q", scale=alt.Scale(type="log"), title="rank (log scale)"),
            y=alt.Y("sales:Q", title="copies sold in the window"),
        )
    )
    return chart


def plot_history(quality: DataQuality) -> alt.Chart:
    """How many rows users have, by history table."""
    chart: alt.Chart = (
        alt.Chart(quality.history, title="History rows per user", width=WIDTH)
        .mark_bar()
        .encode(
            x=alt.X("rows:Q", bin=alt.Bin(maxbins=30), title="rows of a user"),
            y=alt.Y("count():Q", title="users"),
            color=alt.Color("table:N", title=None),
        )
    )
    return chart

"""The plots of the page, as SVG images that need neither a script nor a network."""

import base64
import io
from dataclasses import replace
from typing import Final

import altair as alt
import numpy as np
import polars as pl

from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.evaluation.data_quality import DataQuality
from lifehelper_data.evaluation.quality_plots import plot_nulls, plot_popularity, plot_quarantine
from lifehelper_data.evaluation.report.markup import Html, escape

FONT: Final = (
    "Noto Sans KR, Noto Sans CJK KR, Apple SD Gothic Neo, Malgun Gothic, NanumGothic, sans-serif"
)
WIDTH: Final = 640
Plot = alt.Chart | alt.LayerChart | alt.FacetChart
POINTS: Final = 300
"""Points of a line: more cannot be told apart on 640 pixels."""
_PRICE_BINS: Final = 32
_LINEAR_BELOW_WON: Final = 100


def figure(chart: Plot, alternative: str) -> Html:
    """Return a plot as an image.

    Args:
        chart: the plot.
        alternative: what it shows, in words, for those who do not see it.

    Raises:
        Unavailable: the plot cannot be drawn.
    """
    drawn = base64.b64encode(svg(chart).encode()).decode()
    return Html(
        f'<figure><img alt="{escape(alternative)}" src="data:image/svg+xml;base64,{drawn}">'
        "</figure>\n"
    )


def svg(chart: Plot) -> str:
    """Return a plot as SVG.

    Raises:
        Unavailable: the plot cannot be drawn.
    """
    target = io.StringIO()
    try:
        chart.configure(font=FONT).properties(width=WIDTH).save(target, format="svg")
    except (ImportError, ValueError) as error:
        raise Unavailable(f"cannot draw a plot ({error}); reinstall vl-convert-python") from error
    return target.getvalue()


def quarantine_figure(quality: DataQuality) -> Html:
    """Rows in quarantine by reason; needs at least one."""
    return figure(plot_quarantine(quality), "Bars: rows in quarantine by reason and table.")


def nulls_figure(quality: DataQuality) -> Html:
    """Share of missing values by column; needs at least one row."""
    return figure(plot_nulls(quality), "Bars: share of missing values by table and column.")


def prices_figure(quality: DataQuality) -> Html:
    """How many books have which price; needs at least one."""
    counted = price_bins(quality.prices)
    bars = (
        alt.Chart(counted, title="Books by price (won, log scale)", height=180)
        .mark_rect()
        .encode(
            x=alt.X(
                "low:Q",
                title="won",
                scale=alt.Scale(type="symlog", constant=_LINEAR_BELOW_WON, nice=False),
                axis=alt.Axis(values=_price_ticks(counted), format=",d"),
            ),
            x2="high:Q",
            y=alt.Y("books:Q", title="books", axis=alt.Axis(tickMinStep=1)),
            y2=alt.Y2Datum(0),
            color=alt.Color(
                "suspect:N",
                title="suspect",
                scale=alt.Scale(domain=["no", "yes"], range=["#4c78a8", "#e45756"]),
            ),
        )
    )
    suspects = (  # one suspect book beside hundreds of others is too low a bar to be seen
        alt.Chart(counted.filter(pl.col("suspect") == "yes"))
        .mark_point(shape="triangle-down", filled=True, size=50, color="#e45756", yOffset=-7)
        .encode(x="middle:Q", y="books:Q")
    )
    return figure(
        alt.layer(bars, suspects),
        "Histogram: books by price on a logarithmic axis; triangles mark suspect prices.",
    )


def popularity_figure(quality: DataQuality) -> Html:
    """Sales by rank; needs at least one book."""
    thinned = replace(quality, popularity=thinned_ranks(quality.popularity))
    return figure(plot_popularity(thinned), "Line: copies sold by rank of the book.")


def history_figure(history: pl.DataFrame) -> Html:
    """How many users have how many rows; `history` as of DataQuality, at least one row."""
    counted = history_bins(history)
    order = counted.sort("least")["rows of a user"].unique(maintain_order=True).to_list()
    chart: alt.Chart = (
        alt.Chart(counted, title="Users by their number of history rows", height=180)
        .mark_bar()
        .encode(
            x=alt.X("rows of a user:O", sort=order, axis=alt.Axis(labelAngle=0)),
            xOffset="table:N",
            y=alt.Y("users:Q", title="users", axis=alt.Axis(tickMinStep=1)),
            color=alt.Color("table:N", title=None),
        )
    )
    return figure(chart, "Bars: users by their number of rows in each history table.")


def price_bins(prices: pl.DataFrame) -> pl.DataFrame:
    """Count books in bins that are equally wide on the plot's axis.

    The axis is log10(1 + price / 100): logarithmic, with room for 0.

    Args:
        prices: price_won >= 0 and price_suspect.

    Returns:
        low, high, middle (won), suspect (yes or no), books: non-empty bins, lowest first.
    """
    won = prices["price_won"].cast(pl.Float64).to_numpy()
    scaled = np.log10(1 + won / _LINEAR_BELOW_WON)
    edges = np.linspace(scaled.min(), max(scaled.max(), scaled.min() + 0.1), _PRICE_BINS + 1)
    bins = np.clip(np.searchsorted(edges, scaled, side="right") - 1, 0, _PRICE_BINS - 1)
    won_edges = np.round((10**edges - 1) * _LINEAR_BELOW_WON, 1)
    return (
        pl.DataFrame(
            {
                "low": won_edges[bins],
                "high": won_edges[bins + 1],
                "middle": (won_edges[bins] + won_edges[bins + 1]) / 2,
                "suspect": prices["price_suspect"].replace_strict({True: "yes", False: "no"}),
            },
            schema={
                "low": pl.Float64,
                "high": pl.Float64,
                "middle": pl.Float64,
                "suspect": pl.String,
            },
        )
        .group_by("low", "high", "middle", "suspect")
        .len("books")
        .sort("low", "suspect")
    )


def thinned_ranks(popularity: pl.DataFrame) -> pl.DataFrame:
    """Return at most `POINTS` books, evenly spread over the logarithm of their rank.

    The first and the last are among them.
    """
    if popularity.height <= POINTS:
        return popularity
    ranks = np.unique(np.round(np.geomspace(1, popularity.height, POINTS)).astype(np.int64))
    return popularity.filter(pl.col("rank").is_in(ranks.tolist())).sort("rank")


def history_bins(history: pl.DataFrame) -> pl.DataFrame:
    """Count users by their number of rows, in bins that double: 1, 2, 3-4, 5-8 ...

    Args:
        history: table, user_id, rows (at least 1).

    Returns:
        table, least, `rows of a user` (the bin's label), users; by table and bin.
    """
    below = (pl.col("rows") - 1).cast(pl.UInt64)
    power = 64 - below.bitwise_leading_zeros().cast(pl.Int64)  # bit length: exact, unlike log2
    high = pl.lit(2, pl.Int64).pow(pl.col("power"))
    low = pl.when(pl.col("power") == 0).then(1).otherwise(high // 2 + 1)
    label = pl.when(low == high).then(pl.format("{}", high)).otherwise(
        pl.format("{}–{}", low, high)
    )  # fmt: skip
    return (
        history.with_columns(power.alias("power"))
        .group_by("table", "power")
        .len("users")
        .with_columns(low.alias("least"), label.alias("rows of a user"))
        .sort("table", "least")
        .select("table", "least", "rows of a user", "users")
    )


def _price_ticks(counted: pl.DataFrame) -> list[int]:
    """Return round prices that lie on the axis."""
    low, high = counted["low"].min(), counted["high"].max()
    assert isinstance(low, float) and isinstance(high, float)  # noqa: S101  # narrows for mypy
    round_prices = [0, *(head * 10**zeros for zeros in range(2, 10) for head in (1, 2, 5))]
    return [won for won in round_prices if low <= won <= high]

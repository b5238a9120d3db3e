"""Altair charts that show without a network."""

import altair as alt


def use_offline_plots() -> None:
    """Draw the charts of this process as SVG; the usual renderer fetches scripts."""
    alt.renderers.enable("svg")

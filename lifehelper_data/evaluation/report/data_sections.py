"""The sections of the page on the data: what came in, what was refused, how it is spread."""

import json

import polars as pl

from lifehelper_data.domain.contract import HISTORY_TABLES
from lifehelper_data.evaluation.data_quality import sales_share_of_top
from lifehelper_data.evaluation.report.content import PageContent
from lifehelper_data.evaluation.report.markup import (
    Html,
    code,
    cut,
    details,
    heading,
    korean,
    note,
    number,
    paragraph,
    part_of,
    plural,
    share,
    strong,
    table,
)
from lifehelper_data.evaluation.report.plots import (
    history_figure,
    nulls_figure,
    popularity_figure,
    prices_figure,
    quarantine_figure,
)

_TOP_SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)


def section_came_in(content: PageContent) -> Html:
    """Every line of every file and every row of every table, accounted for."""
    files = content.quality.files
    tables = content.quality.tables
    return (
        note(
            "Per file: lines = rows + rejected. Per table: returned = kept + repeated + duplicates "
            "+ quarantined. Repeated rows say again what a kept row says; an orphan is a kept "
            "history row whose book is not in the catalog."
        )
        + table(
            "Source files",
            ("file", number("lines"), number("rows"), number("rejected"),
             number("rejected, share of lines")),
            (
                (path, lines, rows, rejected, share(rejected, lines))
                for path, lines, rows, rejected in files.select(
                    "path", "lines", "rows", "rejected"
                ).iter_rows()
            ),
        )
        + table(
            "Tables",
            ("table", number("returned"), number("kept"), number("repeated"),
             number("duplicates"), number("quarantined"), number("quarantined, share of returned"),
             number("orphans"), number("orphans, share of kept")),
            (
                (
                    code(t["table"]), t["returned"], t["kept"], t["repeated"], t["duplicates"],
                    t["quarantined"], share(t["quarantined"], t["returned"]),
                    *((t["orphans"], share(t["orphans"], t["kept"]))
                      if t["table"] in HISTORY_TABLES else (None, None)),
                )
                for t in tables.iter_rows(named=True)
            ),
        )
    )  # fmt: skip


def section_refused(content: PageContent) -> Html:
    """Quarantined rows and rejected lines by reason, with examples."""
    return _quarantine(content) + _rejects(content)


def section_filled(content: PageContent) -> Html:
    """Missing values by column."""
    nulls = content.quality.nulls.filter(pl.col("rows") > 0)
    if nulls.is_empty():
        return paragraph("No table with rows has a column in which a value may be missing.")
    gaps = nulls.filter(pl.col("nulls") > 0).height
    return (
        paragraph(
            f"In {part_of(gaps, nulls.height)} of the columns in which a value may be missing, "
            "at least one is."
        )
        + nulls_figure(content.quality)
        + details(
            "The same as numbers",
            table(
                "Missing values by column",
                ("column", number("rows"), number("missing"), number("share of rows")),
                (
                    (code(f"{of}.{column}"), rows, missing, share(missing, rows))
                    for of, column, rows, missing in nulls.select(
                        "table", "column", "rows", "nulls"
                    ).iter_rows()
                ),
            ),
        )
    )


def section_prices(content: PageContent) -> Html:
    """How prices are spread."""
    prices, books = content.quality.prices, content.rows("books")
    if prices.is_empty():
        return paragraph(f"None of {plural(books, 'book')} has a price.")
    won = prices["price_won"]
    spread = [
        (name, f"{won.quantile(at, 'nearest'):,.0f} won")
        for name, at in (
            ("lowest", 0.0), ("lower quarter", 0.25), ("median", 0.5), ("upper quarter", 0.75),
            ("highest", 1.0),
        )
    ]  # fmt: skip
    suspect = int(prices["price_suspect"].sum())
    return (
        paragraph(
            f"{part_of(prices.height, books)} books have a price; "
            f"{part_of(suspect, prices.height)} of the prices are suspect: kept, but so low or "
            "high that somebody should look."
        )
        + prices_figure(content.quality)
        + table("Prices", ("what", number("price")), spread)
    )


def section_popularity(content: PageContent) -> Html:
    """How much of the sales the best-selling books have."""
    popularity = content.quality.popularity
    total = int(popularity["sales"].sum())
    if not total:
        return paragraph(
            f"No copy of {plural(popularity.height, 'book')} was sold in the window: the share of "
            "the best-selling books is undefined."
        )
    sold = popularity.filter(pl.col("sales") > 0).height
    rows = [
        (
            f"{top:.0%}",
            max(1, round(top * popularity.height)),
            f"{sales_share_of_top(popularity, top):.1%}",
            f"{max(1, round(top * popularity.height)) / popularity.height:.1%}",
        )
        for top in _TOP_SHARES
    ]
    tenth = rows[_TOP_SHARES.index(0.1)]
    return (
        paragraph(
            "The best-selling 10% of the books have ", strong(tenth[2]),
            f" of all {total:,} copies sold in the window; if all books sold alike it would be "
            f"{tenth[3]}. At least one copy was sold of {part_of(sold, popularity.height)} books.",
        )
        + popularity_figure(content.quality)
        + table(
            f"Share of the {total:,} copies sold",
            ("best-selling", number("books"), number("share of sales"),
             number("if all sold alike")),
            rows,
        )
    )  # fmt: skip


def section_history(content: PageContent) -> Html:
    """How much is known per user."""
    history = content.quality.history
    if history.is_empty():
        return paragraph("No user has any history.")
    users = history["user_id"].n_unique()
    spread = (
        history.group_by("table")
        .agg(
            users=pl.len(),
            total=pl.col("rows").sum(),
            least=pl.col("rows").min(),
            median=pl.col("rows").quantile(0.5, "nearest"),
            ninth=pl.col("rows").quantile(0.9, "nearest"),
            most=pl.col("rows").max(),
        )
        .sort("table")
    )
    return (
        paragraph(f"{plural(users, 'user')} have at least one history row.")
        + history_figure(history)
        + table(
            "Rows per user, among the users who have any",
            ("table", number("users"), number("share of users"), number("rows"), number("fewest"),
             number("median"), number("90th percentile"), number("most")),
            (
                (code(name), having, share(having, users), total, least, int(median), int(ninth),
                 most)
                for name, having, total, least, median, ninth, most in spread.iter_rows()
            ),
        )
    )  # fmt: skip


def _quarantine(content: PageContent) -> Html:
    counted = content.quality.quarantine
    total = content.rows("quarantine")
    returned = int(content.quality.tables["returned"].sum())
    title = heading("Rows in quarantine")
    if not total:
        return title + paragraph(f"None of {plural(returned, 'row')} was put in quarantine.")
    return (
        title
        + paragraph(
            f"{part_of(total, returned)} rows are in quarantine: bad values and duplicates."
        )
        + quarantine_figure(content.quality)
        + details(
            "The same as numbers, by column",
            table(
                f"Rows in quarantine by reason ({total:,} in all)",
                ("table", "column", "reason", number("rows"), number("share of quarantine")),
                (
                    (code(of), column, reason, rows, share(rows, total))
                    for of, column, reason, rows in counted.iter_rows()
                ),
            ),
        )
        + table(
            f"{content.quarantine.height} of {plural(total, 'row')} in quarantine, taken in turn "
            "from every table and reason",
            ("table", korean("key"), "column", korean("bad value"), "reason"),
            (
                (code(of), _key(key), column, cut(value) if value is not None else None, reason)
                for of, key, column, value, reason in content.quarantine.select(
                    "table_name", "key", "column_name", "value", "reason"
                ).iter_rows()
            ),
            filterable=True,
        )
    )


def _rejects(content: PageContent) -> Html:
    counted = content.quality.rejects
    total = content.rows("rejects")
    lines = int(content.quality.files["lines"].sum())
    title = heading("Lines that could not be read")
    if not total:
        return title + paragraph(f"None of {plural(lines, 'line')} was rejected.")
    return (
        title
        + paragraph(f"{part_of(total, lines)} lines could not be read as a row.")
        + table(
            f"Rejected lines by reason ({total:,} in all)",
            ("file", "reason", number("lines"), number("share of rejected")),
            (
                (code(file), reason, rows, share(rows, total))
                for file, reason, rows in counted.iter_rows()
            ),
        )
        + details(
            "Examples",
            table(
                f"{content.rejects.height} of {plural(total, 'rejected line')}, taken in turn from "
                "every file and reason",
                ("file", number("line"), "reason", "detail", korean("content")),
                (
                    (path, line, reason, detail, cut(text) if text is not None else None)
                    for path, line, reason, detail, text in content.rejects.select(
                        "path", "line", "reason", "detail", "content"
                    ).iter_rows()
                ),
                filterable=True,
            ),
        )
    )


def _key(document: str) -> str:
    """Return a row's key, a JSON object, as `name: value` pairs."""
    pairs = json.loads(document)
    if not isinstance(pairs, dict):
        return cut(document)
    return cut(", ".join(f"{name}: {value}" for name, value in pairs.items()))

"""Data quality of a release: what came in, what was refused, how the tables are filled."""

from dataclasses import dataclass

import polars as pl

from lifehelper_data.domain.contract import HISTORY_TABLES
from lifehelper_data.runtime.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class DataQuality:
    """Tables that describe a release; every share stands beside its denominator.

    Attributes:
        files: one row per source file: lines, rows, rejected, rejected_share.
        tables: one row per loaded table: returned, kept, repeated, duplicates, quarantined,
            quarantined_share, orphans.
        quarantine: rows by table, column and reason, most first.
        rejects: lines by file and reason, most first.
        nulls: one row per nullable column: rows, nulls, null_share.
        prices: price_won and price_suspect of every priced book.
        popularity: book_id, sales, value and rank (1 = most sold; ties by lower id).
        history: rows per user and history table.
    """

    files: pl.DataFrame
    tables: pl.DataFrame
    quarantine: pl.DataFrame
    rejects: pl.DataFrame
    nulls: pl.DataFrame
    prices: pl.DataFrame
    popularity: pl.DataFrame
    history: pl.DataFrame


def measure_data_quality(workspace: Workspace) -> DataQuality:
    """Describe the pinned release of a workspace."""
    books = workspace.table("books")
    return DataQuality(
        files=_files(workspace),
        tables=_tables(workspace),
        quarantine=_counted(workspace.table("quarantine"), "table_name", "column_name", "reason"),
        rejects=_counted(workspace.table("rejects"), "source_file", "reason"),
        nulls=_nulls(workspace),
        prices=books.drop_nulls("price").select(
            "book_id", pl.col("price").alias("price_won"), "price_suspect"
        ),
        popularity=workspace.table("popularity")
        .sort("sales", "book_id", descending=[True, False])
        .select("book_id", "sales", "value")
        .with_row_index("rank", offset=1),
        history=_history(workspace),
    )


def sales_share_of_top(popularity: pl.DataFrame, share_of_books: float) -> float | None:
    """Return the share of all sales that the best-selling books have.

    Args:
        popularity: the `popularity` table of DataQuality.
        share_of_books: 0-1, how many of the books; at least one book is taken.

    Returns:
        Share, 0-1; None if nothing was sold.
    """
    total = int(popularity["sales"].sum())
    if total == 0:
        return None
    top = max(1, round(share_of_books * popularity.height))
    return int(popularity.sort("rank").head(top)["sales"].sum()) / total


def _files(workspace: Workspace) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"path": f.path, "lines": f.lines, "rows": f.rows, "rejected": f.rejected}
            for f in workspace.release.content.files
        ],
        schema={
            "path": pl.String, "lines": pl.Int64, "rows": pl.Int64, "rejected": pl.Int64,
        },
    ).with_columns(_share("rejected", "lines"))  # fmt: skip


def _tables(workspace: Workspace) -> pl.DataFrame:
    names = ("returned", "kept", "repeated", "duplicates", "quarantined", "orphans")
    return pl.DataFrame(
        [
            {"table": c.table, **{name: getattr(c, name) for name in names}}
            for c in workspace.release.content.table_counts.values()
        ],
        schema={"table": pl.String, **dict.fromkeys(names, pl.Int64)},
    ).with_columns(_share("quarantined", "returned"))


def _share(part: str, whole: str) -> pl.Expr:
    """Share with an undefined (null) value where the denominator is 0."""
    share = pl.when(pl.col(whole) > 0).then(pl.col(part) / pl.col(whole))
    return share.alias(f"{part}_share")


def _counted(frame: pl.DataFrame, *by: str) -> pl.DataFrame:
    return frame.group_by(by).len("rows").sort("rows", *by, descending=[True] + [False] * len(by))


def _nulls(workspace: Workspace) -> pl.DataFrame:
    rows: list[dict[str, object]] = []
    for name in workspace.release.content.table_counts:
        height = workspace.tables[name]
        rows += [
            {"table": name, "column": column, "rows": height, "nulls": nulls}
            for column, nulls in workspace.null_counts(name).items()
        ]
    schema = {"table": pl.String, "column": pl.String, "rows": pl.Int64, "nulls": pl.Int64}
    return pl.DataFrame(rows, schema=schema).with_columns(
        pl.when(pl.col("rows") > 0).then(pl.col("nulls") / pl.col("rows")).alias("null_share")
    )


def _history(workspace: Workspace) -> pl.DataFrame:
    frames = [
        workspace.rows_per_user(name).with_columns(table=pl.lit(name)) for name in HISTORY_TABLES
    ]
    return pl.concat(frames).sort("table", "user_id")

"""Counts of what is wrong in a release's tables, for the checks."""

from lifehelper_data.domain.contract import ALL_TABLES, SQL_TYPES
from lifehelper_data.stores.duck import quote_identifier as quote
from lifehelper_data.stores.releases import ReleaseReader


def wrong_columns(reader: ReleaseReader) -> list[str]:
    """Return the columns whose name, place or type is not the contract's, as `table.column`."""
    wrong: list[str] = []
    for name in reader.release.content.tables:
        actual = [(str(r[0]), str(r[1])) for r in reader.rows(f"DESCRIBE {quote(name)}")]
        expected = [(c.name, SQL_TYPES[c.kind]) for c in ALL_TABLES[name].columns]
        wrong += [f"{name}.{e[0]}" for a, e in zip(actual, expected, strict=False) if a != e]
        if len(actual) != len(expected):
            wrong.append(f"{name}.*")
    return wrong


def forbidden_nulls(reader: ReleaseReader) -> dict[str, int]:
    """Return `table.column` -> number of nulls where the contract allows none."""
    found: dict[str, int] = {}
    for name in reader.release.content.tables:
        columns = [c.name for c in ALL_TABLES[name].columns if not c.nullable]
        counts = ", ".join(f"count(*) - count({quote(c)})" for c in columns)
        (row,) = reader.rows(f"SELECT {counts} FROM {quote(name)}")
        found |= {f"{name}.{c}": int(str(n)) for c, n in zip(columns, row, strict=True) if n != 0}
    return found


def repeated_keys(reader: ReleaseReader) -> dict[str, int]:
    """Return table -> number of keys that stand for several rows."""
    found: dict[str, int] = {}
    for name in reader.release.content.tables:
        if name == "quarantine":  # a bad row delivered twice stands there twice
            continue
        keys = ", ".join(quote(k) for k in ALL_TABLES[name].sort_key)
        ((count,),) = reader.rows(
            f"SELECT count(*) FROM (SELECT 1 FROM {quote(name)} GROUP BY {keys} "
            "HAVING count(*) > 1)"
        )
        if count:
            found[name] = int(str(count))
    return found


def popularity_faults(reader: ReleaseReader) -> tuple[int, int, int]:
    """Count faults of the `popularity` table.

    Returns:
        (values outside 0-1 or not finite, sales levels whose value is below that of lower sales or
        not one value, books without a row).
    """
    ((outside,),) = reader.rows(
        "SELECT count(*) FROM popularity WHERE NOT (isfinite(value) AND value BETWEEN 0 AND 1)"
    )
    ((not_monotone,),) = reader.rows(
        "SELECT count(*) FROM (SELECT lo, hi, lag(hi) OVER (ORDER BY sales) AS below FROM "
        "(SELECT sales, min(value) AS lo, max(value) AS hi FROM popularity GROUP BY sales)) "
        "WHERE lo <> hi OR lo < below"
    )
    ((absent,),) = reader.rows("SELECT count(*) FROM books ANTI JOIN popularity USING (book_id)")
    return int(str(outside)), int(str(not_monotone)), int(str(absent))

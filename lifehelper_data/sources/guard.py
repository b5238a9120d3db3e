"""The only SQL a mapping may hold: one SELECT, over declared files, with the same answer always.

The statement is parsed by DuckDB itself and its syntax tree is held against allow-lists; what is
not known to be harmless is refused. The database is locked down as well (`Staging.lock_down`), so
the guard explains and the lock enforces.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import duckdb

from lifehelper_data.domain.errors import UnsafeSql

_QUERY_NODES: Final = {"SELECT_NODE", "SET_OPERATION_NODE", "CTE_NODE"}
_TABLE_NODES: Final = {
    "BASE_TABLE", "SUBQUERY", "JOIN", "EMPTY", "EMPTY_FROM", "EXPRESSION_LIST", "TABLE_FUNCTION",
}  # fmt: skip
_TABLE_FUNCTIONS: Final = {"unnest"}
_WINDOW_FUNCTIONS: Final = {
    "row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead",
    "first_value", "last_value", "nth_value",
}  # fmt: skip
_PLAIN_MACROS: Final = {
    "nullif", "if", "split_part", "date_add", "fdiv", "json", "days_in_month", "weighted_avg",
    "wavg", "geomean", "geometric_mean", "md5_number_lower", "md5_number_upper",
    "json_group_array", "json_group_object", "map_contains_entry", "map_contains_value",
}  # fmt: skip
"""Macros of DuckDB that depend on their arguments alone; so do all of `list_*` and `array_*`."""
_FIXED_BY_TIMEZONE: Final = {
    "date_part", "date_trunc", "datetrunc", "datepart", "timezone", "strftime", "to_timestamp",
    "make_timestamptz", "time_bucket", "date_diff", "datediff", "date_sub", "datesub", "epoch",
    "year", "month", "day", "hour", "minute", "second", "dayofweek", "dayofyear", "isodow",
    "week", "weekofyear", "quarter", "monthname", "dayname", "last_day", "strptime",
    "try_strptime", "century", "decade", "isoyear", "weekday", "yearweek", "era", "julian",
    "dayofmonth", "millennium", "millisecond", "microsecond",
}  # fmt: skip
"""DuckDB calls these changeable because they read the TimeZone setting, which is UTC here."""
_CHANGES: Final = "its answer changes by itself; the same files must give the same rows"
_CLOCK_WORDS: Final = {
    "current_date", "current_time", "current_timestamp", "localtime", "localtimestamp",
    "current_user", "session_user", "user", "current_role", "current_catalog", "current_schema",
    "current_database",
}  # fmt: skip


def guard_select(
    connection: duckdb.DuckDBPyConnection,
    *,
    table: str,
    sql: str,
    columns: Mapping[str, Collection[str]],
) -> str:
    """Check the SELECT of one contract table and return it without a closing semicolon.

    Args:
        connection: any DuckDB connection; nothing of `sql` is run.
        table: the contract table, for messages.
        sql: what the mapping holds.
        columns: the declared files and their columns.

    Raises:
        UnsafeSql: it is not one SELECT over declared files, or its answer could change by itself.
    """
    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise UnsafeSql(f"tables.{table}.sql: {_first_line(error)}", field=table) from error
    if len(statements) != 1:
        raise UnsafeSql(
            f"tables.{table}.sql holds {len(statements)} statements; write exactly one SELECT",
            field=table,
        )
    text = statements[0].query.strip()
    try:
        serialized = _serialized(connection, text)
        tree: dict[str, Any] = json.loads(serialized)
    except (duckdb.Error, RecursionError) as error:
        raise UnsafeSql(
            f"tables.{table}.sql is nested too deeply to be checked; simplify it", field=table
        ) from error
    if tree["error"] or len(tree["statements"]) != 1:
        raise UnsafeSql(
            f"tables.{table}.sql is a {statements[0].type.name} statement; only a SELECT may "
            "shape a table",
            field=table,
        )
    problem = next(
        _problems(tree["statements"][0]["node"], columns, _stabilities(connection)), None
    )
    if problem:
        raise UnsafeSql(f"tables.{table}.sql {problem}", field=table)
    end = len(text)
    while end >= 0:
        if _fits_in_brackets(connection, text[:end]) and serialized == _serialized(
            connection, text[:end]
        ):
            return text[:end]
        end = text.rfind(";", 0, end)
    raise UnsafeSql(
        f"tables.{table}.sql cannot stand in brackets; leave out what follows the SELECT",
        field=table,
    )


def _serialized(connection: duckdb.DuckDBPyConnection, text: str) -> str:
    ((serialized,),) = connection.execute("SELECT json_serialize_sql(?)", [text]).fetchall()
    return str(serialized)


def _fits_in_brackets(connection: duckdb.DuckDBPyConnection, text: str) -> bool:
    """Whether the text is a whole SELECT: no semicolon at its end, hidden before a comment."""
    try:
        return len(connection.extract_statements(f"FROM (\n{text}\n)")) == 1
    except duckdb.Error:
        return False


def _stabilities(connection: duckdb.DuckDBPyConnection) -> dict[str, bool]:
    """Function name -> whether every form of it depends on its arguments alone."""
    rows = connection.execute(
        "SELECT function_name, bool_and(stability = 'CONSISTENT') FROM duckdb_functions() "
        "WHERE function_type IN ('scalar', 'aggregate') GROUP BY function_name"
    ).fetchall()
    return {str(name): bool(stable) for name, stable in rows}


def _problems(
    root: object, files: Mapping[str, Collection[str]], stable: Mapping[str, bool]
) -> Iterator[str]:
    named = {str(node["table_name"]).lower() for node, _ in _nodes(root) if "table_name" in node}
    file_columns = {c.lower() for name, columns in files.items() if name in named for c in columns}
    for node, ctes in _nodes(root):
        kind = str(node.get("type", ""))
        if "table_name" in node:
            yield from _table_problem(node, kind, files, ctes)
        elif kind.endswith("_NODE") and kind not in _QUERY_NODES:
            words = kind.removesuffix("_NODE").replace("_", " ").lower()
            yield f"holds a {words}; only plain SELECTs and CTEs of SELECTs are allowed"
        elif kind == "TABLE_FUNCTION":
            yield from _table_function_problem(node)
        elif "function_name" in node:
            yield from _function_problem(node, stable)
        elif kind == "COLUMN_REF":
            name = str(_last(node.get("column_names"))).lower()
            if name in _CLOCK_WORDS and name not in file_columns:
                yield f"uses {name}: {_CHANGES}"
        if node.get("sample"):
            yield "uses SAMPLE: its answer changes by itself; select all rows"
        from_table = node.get("from_table")
        if isinstance(from_table, dict) and from_table.get("type") not in _TABLE_NODES:
            yield f"reads from a {from_table.get('type')}; read declared files only"


def _table_problem(
    node: dict[str, object], kind: str, files: Mapping[str, Collection[str]], ctes: frozenset[str]
) -> Iterator[str]:
    name = str(node["table_name"])
    qualified = bool(node.get("schema_name") or node.get("catalog_name"))
    if kind != "BASE_TABLE":
        yield f"reads from a {kind or 'table reference'}; read declared files only"
    elif qualified or (name.lower() not in files and name.lower() not in ctes):
        known = ", ".join(sorted(files)) or "none"
        yield f"reads {name!r}, which is not a declared file; declared: {known}"


def _table_function_problem(node: dict[str, object]) -> Iterator[str]:
    called = node.get("function")
    name = str(called.get("function_name")).lower() if isinstance(called, dict) else ""
    if name not in _TABLE_FUNCTIONS:
        yield f"reads from {name}(), which is not a declared file; read declared files only"


def _function_problem(node: dict[str, object], stable: Mapping[str, bool]) -> Iterator[str]:
    name = str(node["function_name"]).lower()
    if node.get("schema") or node.get("catalog"):
        yield f"calls {name} of another schema; use built-in functions"
    elif (
        (
            node.get("is_operator")
            or name in _TABLE_FUNCTIONS | _FIXED_BY_TIMEZONE
            or (node.get("class") == "WINDOW" and name in _WINDOW_FUNCTIONS)
        )
        or name in _PLAIN_MACROS
        or name.startswith(("list_", "array_"))
    ):
        return
    elif name not in stable:
        yield f"calls {name}(), which is not a plain function of its arguments"
    elif not stable[name]:
        yield f"calls {name}(): {_CHANGES}"


def _last(value: object) -> object:
    return value[-1] if isinstance(value, list) and value else ""


def _cte_entries(node: Mapping[str, object]) -> list[dict[str, object]]:
    cte_map = node.get("cte_map")
    entries = cte_map.get("map", []) if isinstance(cte_map, dict) else []
    return [entry for entry in entries if isinstance(entry, dict)]


def _nodes(root: object) -> Iterator[tuple[dict[str, object], frozenset[str]]]:
    """Every object of a syntax tree with the CTEs visible in it, without recursion.

    A CTE is visible in its query and in the CTEs after it, nowhere else: elsewhere its name would
    mean a table of the database.
    """
    stack: list[tuple[object, frozenset[str]]] = [(root, frozenset())]
    while stack:
        top, visible = stack.pop()
        if isinstance(top, dict):
            for entry in _cte_entries(top):
                stack.append((entry["value"], visible))
                visible |= {str(entry["key"]).lower()}
            yield top, visible
            stack.extend((child, visible) for name, child in top.items() if name != "cte_map")
        elif isinstance(top, list):
            stack.extend((child, visible) for child in top)


def _first_line(error: duckdb.Error) -> str:
    return str(error).splitlines()[0]

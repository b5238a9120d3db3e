"""What a mapping's SQL may be, and what the locked-down database refuses by itself."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest

from lifehelper_data.domain.errors import UnsafeSql
from lifehelper_data.domain.ports import NoProgress
from lifehelper_data.sources.guard import guard_select
from lifehelper_data.sources.mapping import FileSpec
from lifehelper_data.sources.scratch import connect_scratch
from lifehelper_data.sources.staging import Staging

COLUMNS = {"raw": ["id", "title", "tags", "seen", "price"], "tables": ["x"]}


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with connect_scratch(":memory:") as scratch:
        scratch.execute("CREATE TABLE raw (id TEXT, title TEXT, tags TEXT, seen TEXT, price TEXT)")
        scratch.execute(
            "INSERT INTO raw VALUES ('1', '가', '[\"a\",\"b\"]', '2026-01-02 03:04:05', '100')"
        )
        scratch.execute("CREATE TABLE tables (x TEXT)")
        yield scratch


def guarded(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    return guard_select(connection, table="books", sql=sql, columns=COLUMNS)


ORDINARY = {
    "star": "select * from raw",
    "from first": "from raw",
    "joins": "select a.id from raw a join raw b using (id) left join raw c on c.id = a.id",
    "lateral join": "select r.id, l.y from raw r, lateral (select r.id || 'x' as y) l",
    "anti and semi join": "select * from raw anti join tables on x = id",
    "asof join": "select a.id from raw a asof join raw b on a.id = b.id and a.seen >= b.seen",
    "unnest": "select id, unnest(from_json(tags, '[\"varchar\"]')) as tag from raw",
    "unnest in from": "select id, t.tag from raw, unnest(string_split(tags, ',')) as t(tag)",
    "cte": "with a as (select * from raw), b as (select * from a) select * from b",
    "materialized cte": "with a as materialized (select * from raw) select * from a",
    "nested cte": "with a as (with b as (select * from raw) select * from b) select * from a",
    "cte used in a subquery": "with a as (select id from raw) select (select max(id) from a) as m",
    "cte that hides a file": "with raw as (select 1 as id) select * from raw",
    "window": "select *, row_number() over (partition by id order by seen) as n from raw "
    "qualify n = 1",
    "window functions": "select lag(id) over w, lead(id) over w, rank() over w, ntile(2) over w, "
    "first_value(id) over w, sum(price::int) over w from raw window w as (order by seen, id)",
    "strptime": "select strptime(seen, '%Y-%m-%d %H:%M:%S') from raw",
    "try_strptime": "select try_strptime(seen, ['%Y', '%Y-%m']) from raw",
    "timezone": "select timezone('Asia/Seoul', try_cast(seen as timestamp)) from raw",
    "at time zone": "select try_cast(seen as timestamp) at time zone 'Asia/Seoul' from raw",
    "parts of a time": "select year(t), extract('hour' from t), date_trunc('day', t), "
    "dayofmonth(t), epoch(t) from (select try_cast(seen as timestamptz) as t from raw)",
    "to_timestamp": "select to_timestamp(try_cast(price as bigint)) from raw",
    "interval": "select try_cast(seen as timestamp) + interval 3 day from raw",
    "casts": "select id::bigint, cast(price as double), try_cast(seen as date) from raw",
    "nullif": "select nullif(title, ''), coalesce(title, 'x'), ifnull(title, 'x') from raw",
    "case": "select case when price > '5' then 1 else 2 end, if(id = '1', 'a', 'b') from raw",
    "regexp": "select regexp_extract(title, '([0-9]+)', 1), regexp_replace(title, 'a', 'b'), "
    "title similar to 'a.*', title ~ 'b' from raw",
    "like": "select title like '%a', title ilike 'A%', title not like 'x' from raw",
    "text": "select trim(title), lower(title), title[1:4], replace(title, 'a', ''), "
    "split_part(title, '|', 1), concat_ws(' ', id, title), nfc_normalize(title) from raw",
    "lists": "select list_transform(string_split(tags, ','), lambda x: trim(x)), "
    "list_distinct([1, 1]), array_to_string(['a'], ','), list_filter([1], lambda x: x > 0), "
    "[x for x in [1, 2]], len(['a']) from raw",
    "structs and maps": "select {'a': 1}, struct_pack(a := 1), map {'a': 1}['a'] from raw",
    "json": "select tags->>'$[0]', json_extract_string(tags, '$[0]'), "
    "json_array_length(tags) from raw",
    "group by": "select id, count(*), sum(price::int), max(seen), "
    "string_agg(title, ',' order by id) from raw group by all having count(*) > 0",
    "grouping sets": "select id, title, count(*) from raw group by rollup (id, title)",
    "filter and distinct": "select count(distinct id) filter (where id > '0') from raw",
    "set operations": "select id from raw union all select x from tables except select '5' "
    "intersect select id from raw",
    "order and limit": "select * from raw order by seen desc nulls last, id limit 5 offset 1",
    "distinct on": "select distinct on (id) * from raw order by id, seen",
    "subqueries": "select * from raw where id in (select x from tables) or exists (select 1)",
    "values": "select * from (values (1, 'a'), (2, 'b')) as v(id, title)",
    "star variants": "select * exclude (tags) replace (trim(title) as title), columns('i.*') "
    "from raw",
    "hash": "select md5(id), sha256(id), hash(id) from raw",
    "file whose name is in the schema": "select x from tables",
    "comments": "select /* ; drop table raw */ id -- ; drop table raw\nfrom raw",
    "closing semicolon": "select id from raw;",
    "closing semicolons": "select id from raw ; ;",
    "semicolon before a comment": "select id from raw; -- all; of them",
    "semicolon in a text": "select id || ';' as id from raw where title <> ';' -- ;",
    "quoted names": 'select "id" as "이름 ""x""" from "raw"',
    "unicode": "select title as 제목 from raw where title = '가'",
    "name of a file's column": "select r.title as user from raw r",
}


@pytest.mark.parametrize("sql", ORDINARY.values(), ids=ORDINARY)
def test_ordinary_select_passes_and_runs_in_brackets(
    connection: duckdb.DuckDBPyConnection, sql: str
) -> None:
    expected = connection.execute(sql).fetchall()
    text = guarded(connection, sql)
    assert connection.execute(f"FROM (\n{text}\n)").fetchall() == expected


ATTACKS = {
    # More, or something else, than one SELECT
    "nothing": "",
    "blank": " \n",
    "comment only": "-- nothing",
    "two statements": "select id from raw; select title from raw",
    "second statement after a comment": "select id from raw; -- x\ndrop table raw",
    "second statement after a block comment": "select id from raw /* ; */; drop table raw",
    "copy": "copy (select 1) to '/tmp/x.csv'",
    "copy from": "copy raw from '/etc/passwd'",
    "attach": "attach '/tmp/x.db' as x",
    "detach": "detach memory",
    "set": "set threads = 4",
    "reset": "reset threads",
    "set variable": "set variable x = 1",
    "pragma": "pragma database_list",
    "pragma call": "pragma table_info('raw')",
    "call": "call pragma_version()",
    "install": "install httpfs",
    "load": "load httpfs",
    "create": "create table x as select 1",
    "create macro": "create macro f() as 1",
    "drop": "drop table raw",
    "insert": "insert into raw values ('1', '2', '3', '4', '5')",
    "update": "update raw set id = '2'",
    "delete": "delete from raw",
    "merge": "merge into raw using tables on id = x when matched then delete",
    "truncate": "truncate raw",
    "export": "export database '/tmp/x'",
    "explain": "explain select * from raw",
    "describe": "describe raw",
    "summarize": "summarize raw",
    "show": "show tables",
    "prepare": "prepare p as select 1",
    "execute": "execute p",
    "begin": "begin",
    "vacuum": "vacuum",
    "use": "use memory",
    "syntax error": "select from where",
    "unfinished comment": "select id from raw /* ",
    "closing bracket": "select id from raw) union all (select title from raw",
    "nested too deeply": "select " + "(" * 2_000 + "id" + ")" * 2_000 + " from raw",
    "too long a chain": "select id" + " || 'x'" * 900 + " from raw",
    # Other things than declared files
    "replacement scan": "select * from '/etc/passwd'",
    "replacement scan csv": "select * from 'books.csv'",
    "replacement scan quoted": 'select * from "books.csv"',
    "replacement scan url": "select * from 'https://example.com/x.parquet'",
    "read_csv": "select * from read_csv('/etc/passwd')",
    "read_csv_auto": "select * from read_csv_auto('/etc/passwd')",
    "read_text": "select * from read_text('/etc/passwd')",
    "read_blob": "select * from read_blob('/etc/passwd')",
    "read_json": "select * from read_json('x.json')",
    "parquet_scan": "select * from parquet_scan('x.parquet')",
    "glob": "select * from glob('/*')",
    "query": "select * from query('select 1')",
    "query_table": "select * from query_table('raw')",
    "sniff_csv": "select * from sniff_csv('/etc/passwd')",
    "duckdb_settings()": "select * from duckdb_settings()",
    "duckdb_secrets": "select * from duckdb_secrets()",
    "system view": "select * from duckdb_tables",
    "sqlite_master": "select * from sqlite_master",
    "information_schema": "select * from information_schema.tables",
    "quoted information_schema": 'select * from "information_schema"."TABLES"',
    "schema and a file's name": "select * from main.raw",
    "catalog and a file's name": "select * from memory.main.raw",
    "pg_catalog": "select * from pg_catalog.pg_class",
    "table function in a subquery": "select (select count(*) from glob('/*')) from raw",
    "table function in a cte": "with a as (select * from read_text('/etc/passwd')) select * from a",
    "table function in a set operation": "select id from raw union all select content "
    "from read_text('/etc/passwd')",
    "table function in where": "select * from raw where exists (from read_text('/etc/passwd'))",
    "table function in order by": "select * from raw order by (select content from "
    "read_text('/etc/passwd'))",
    "table function in limit": "select * from raw limit (select size from "
    "read_text('/etc/passwd'))",
    "table function in a join": "select * from raw join read_text('/etc/passwd') on true",
    "repeat": "select * from repeat('x', 1000000)",
    "pragma function": "select * from pragma_table_info('raw')",
    "executed json": "select * from json_execute_serialized_sql('{}')",
    "show as a table": "select * from (show tables)",
    "describe as a table": "select * from (describe raw)",
    "pivot": "select * from (pivot raw on id using count(*))",
    "undeclared table": "select * from elsewhere",
    "rejects of the loader": 'select * from "rejects!"',
    "time travel": "select * from elsewhere at (version => 1)",
    # CTE tricks
    "dml in a cte": "with a as (delete from raw returning *) select * from a",
    "insert in a cte": "with a as (insert into raw select * from raw returning *) select * from a",
    "recursive cte": "with recursive r as (select 1 n union all select n + 1 from r) select n "
    "from r",
    "recursive cte with key": "with recursive r(n) using key (n) as (select 1 union select n "
    "from r) select n from r",
    "cte of another scope": "select d.* from (with duckdb_columns as (select 1) select * from "
    "duckdb_columns) x, duckdb_columns d",
    "cte of another scope names a file": 'select p.* from (with "/etc/passwd" as (select 1) '
    'select 1) x, "/etc/passwd" p',
    "cte of a later name": "with a as (select * from duckdb_tables), duckdb_tables as (select 1) "
    "select * from a",
    "cte of a later name, from the second": "with z as (select 1), a as (select * from "
    "duckdb_tables), duckdb_tables as (select 1) select * from a",
    "cte of its own name": "with duckdb_tables as (select * from duckdb_tables) "
    "select * from duckdb_tables",
    # Answers that change by themselves
    "random": "select random() from raw",
    "uuid": "select uuid() from raw",
    "gen_random_uuid": "select gen_random_uuid() from raw",
    "setseed": "select setseed(0.5) from raw",
    "now": "select now() from raw",
    "quoted now": 'select "NOW"() from raw',
    "today": "select today() from raw",
    "current_date": "select current_date from raw",
    "current_timestamp": "select id, CURRENT_TIMESTAMP as seen from raw",
    "localtimestamp": "select localtimestamp from raw",
    "current_user": "select current_user from raw",
    "user": "select user from raw",
    "age": "select age(try_cast(seen as timestamp)) from raw",
    "getvariable": "select getvariable('x') from raw",
    "current_setting": "select current_setting('temp_directory') from raw",
    "current_query": "select current_query() from raw",
    "current_schemas": "select current_schemas(true) from raw",
    "txid_current": "select txid_current() from raw",
    "nextval": "select nextval('s') from raw",
    "write_log": "select write_log('x') from raw",
    "sleep_ms": "select sleep_ms(5) from raw",
    "getenv": "select getenv('HOME') from raw",
    "qualified function": "select pg_catalog.lower('x') from raw",
    "undeclared macro": "select pg_get_viewdef('x') from raw",
    "random in order by": "select * from raw order by random()",
    "random in a window": "select row_number() over (order by random()) from raw",
    "random in a lambda": "select list_transform([1], lambda x: x + random()) from raw",
    "now in a default": "select coalesce(seen, now()::text) from raw",
    "sample": "select * from raw using sample 5",
    "tablesample": "select * from raw tablesample 10%",
    "sample in a subquery": "select * from (select * from raw using sample 10%)",
    "clock word that another file has as a column": "select user from raw",
}


@pytest.mark.parametrize("sql", ATTACKS.values(), ids=ATTACKS)
def test_attack_is_refused_and_the_table_named(
    connection: duckdb.DuckDBPyConnection, sql: str
) -> None:
    columns = {**COLUMNS, "others": ["user"]}
    with pytest.raises(UnsafeSql, match=r"^tables\.books\.sql") as refused:
        guard_select(connection, table="books", sql=sql, columns=columns)
    assert (refused.value.field, refused.value.exit_code) == ("books", 2)
    assert connection.execute("SELECT id FROM raw").fetchall() == [("1",)]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("select 1; select 2", "holds 2 statements; write exactly one SELECT"),
        ("drop table raw", "is a DROP statement; only a SELECT may shape a table"),
        ("select * from x", "reads 'x', which is not a declared file; declared: raw, tables"),
        ("select * from glob('*')", r"reads from glob\(\), which is not a declared file"),
        ("select now() from raw", r"calls now\(\): its answer changes by itself"),
        ("select user from raw", "uses user: its answer changes by itself"),
        ("from raw using sample 1", "uses SAMPLE: its answer changes by itself"),
        (
            "with recursive r as (select 1 n union select n from r) from r",
            "holds a recursive cte; only plain SELECTs and CTEs of SELECTs are allowed",
        ),
        ("select pg_catalog.lower('x')", "calls lower of another schema; use built-in functions"),
        ("select id" + " || 'x'" * 900, "is nested too deeply to be checked; simplify it"),
    ],
)
def test_refusal_says_what_is_wrong(
    connection: duckdb.DuckDBPyConnection, sql: str, message: str
) -> None:
    with pytest.raises(UnsafeSql, match=message):
        guarded(connection, sql)


def test_clock_word_is_a_column_where_the_file_has_it(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    sql = 'select "current_date" from events'
    assert (
        guard_select(connection, table="books", sql=sql, columns={"events": ["current_date"]})
        == sql
    )


# The second line of defence: the database itself, without the guard.


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    (tmp_path / "a.csv").write_text("a\n1\n", encoding="utf-8")
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.json").write_text('{"a": 1}', encoding="utf-8")
    with connect_scratch(str(tmp_path / "s.duckdb"), spill=tmp_path / "spill") as connection:
        staging = Staging(connection, tmp_path)
        list(staging.stage("raw", FileSpec(path="a.csv"), NoProgress()))
        staging.lock_down()
        yield connection


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('{0}/a.csv')",
        "SELECT * FROM '{0}/a.csv'",
        "SELECT * FROM read_parquet('{0}/a.parquet')",
        "SELECT * FROM '{0}/a.parquet'",
        "SELECT * FROM read_json('{0}/a.json')",
        "SELECT * FROM read_text('{0}/a.csv')",
        "SELECT * FROM read_blob('{0}/a.csv')",
        "SELECT * FROM glob('{0}/*')",
        "SELECT * FROM sniff_csv('{0}/a.csv')",
        "COPY raw TO '{0}/out.csv'",
        "COPY raw FROM '{0}/a.csv'",
        "ATTACH '{0}/other.duckdb' AS other",
        "EXPORT DATABASE '{0}/out'",
        "IMPORT DATABASE '{0}/out'",
        "INSTALL httpfs",
        "LOAD '{0}/x.duckdb_extension'",
        "SET enable_external_access = true",
        "SET GLOBAL enable_external_access = true",
        "RESET enable_external_access",
        "SET lock_configuration = false",
        "SET temp_directory = '{0}'",
        "SET TimeZone = 'Asia/Seoul'",
        "PRAGMA threads = 8",
    ],
)
def test_locked_down_database_refuses_by_itself(
    locked: duckdb.DuckDBPyConnection, tmp_path: Path, sql: str
) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(duckdb.Error, match=r"(?i)disabled|locked|permission|not allowed"):
        locked.execute(sql.format(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert locked.execute("SELECT a, current_setting('TimeZone') FROM raw").fetchall() == [
        ("1", "UTC")
    ]


def test_python_variables_are_no_tables(locked: duckdb.DuckDBPyConnection) -> None:
    frame = pl.DataFrame({"a": [1]})
    with pytest.raises(duckdb.CatalogException):
        locked.execute("SELECT * FROM frame")
    assert frame.height == 1


def test_file_may_have_any_lower_case_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1\n1,2\n", encoding="utf-8")
    for name in ("_incoming", "rejects", "select", "duckdb_tables", "a" * 63):
        with connect_scratch(":memory:") as connection:
            staging = Staging(connection, tmp_path)
            (staged,) = staging.stage(name, FileSpec(path="a.csv"), NoProgress())
            assert (staged.counts.rows, staged.counts.reasons) == (1, {"column_count": 1})
            sql = f'select a from "{name}"'
            assert guard_select(connection, table="books", sql=sql, columns={name: ["a"]}) == sql
            assert connection.execute(sql).fetchall() == [("1",)]

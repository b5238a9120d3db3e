import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.domain.errors import UnsafeSql
from lifehelper_data.sources.postgres_query import check_query


@pytest.mark.parametrize(
    "query",
    [
        "select * from books",
        "SELECT 1",
        "  \n select 1 -- the end; really\n ",
        "-- about it\nselect 1",
        "/* a /* nested; */ comment */ select 1",
        "with a as (select 1) select * from a",
        "(select 1) union all (select 2)",
        "select ';' as a",
        "select 'it''s; fine'",
        r"select E'it\'s; fine \\'",
        r"select 'a backslash at the end is plain\', ';'",
        'select 1 as "a;b ""c"";"',
        "select $$ a; b ) $$, $x$ $$ ; $x$, $한글$;$한글$",
        "select a$b$c from t where d = 1",  # dollars inside a name open nothing
        "select type'2020-01-01;'",  # a name that ends in e opens no escaped text
        "select * from t where a = ')' and b = '('",
        "select $1",  # the server's business
        "select 1 /* ; */",
        "select '한글' as 제목",
    ],
)
def test_one_select_passes_as_it_is(query: str) -> None:
    assert check_query("books", query) == query.strip()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select 1;", "ends with a semicolon; leave it out"),
        ("select 1; -- and that was it", "ends with a semicolon; leave it out"),
        ("select 1;;", "ends with a semicolon"),
        ("select 1; select 2", "holds more than one statement; write exactly one SELECT"),
        ("select 1; drop table books;", "holds more than one statement"),
        ("select 1 /* */; commit", "holds more than one statement"),
        (r"select E'\\'; delete from books", "holds more than one statement"),
        (r"select '\'; delete from books --'", "holds more than one statement"),
        ('select "a\\"; delete from books --"', "holds more than one statement"),
        ("select $$a$$; delete from books", "holds more than one statement"),
        ("select 1) as x; delete from books", "closes a bracket that it never opened"),
        ("select 1) union (select 2", "closes a bracket that it never opened"),
        ("select (1", "opens a bracket and never closes it"),
        ("select 'a", "opens a quote and never closes it"),
        ("select 'a''", "opens a quote and never closes it"),
        (r"select E'a\'", "opens a quote and never closes it"),
        ('select "a', "opens a quote and never closes it"),
        ("select $x$ $$", r"opens a text with \$x\$ and never closes it"),
        ("select 1 /* /* */", "opens a comment and never closes it"),
        ("", "is empty"),
        (" -- nothing\n", "is empty"),
        ("()", "is empty"),
        ("select '\x00'", "holds a NUL character"),
        ("delete from books", "starts with 'delete'; only a SELECT"),
        ("insert into books select 1", "starts with 'insert'"),
        ("values (1)", "starts with 'values'"),
        ("table books", "starts with 'table'"),
        ("copy books to program 'id'", "starts with 'copy'"),
        ("explain analyze select 1", "starts with 'explain'"),
        ("'select' 1", "starts with \"'select'\""),
        ("selectx", "starts with 'selectx'"),
    ],
)
def test_anything_else_is_refused(query: str, message: str) -> None:
    with pytest.raises(UnsafeSql, match=rf"^tables\.books\.query {message}") as refused:
        check_query("books", query)
    assert (refused.value.field, refused.value.exit_code) == ("books", 2)


@given(
    st.lists(
        st.sampled_from(
            ["'", '"', "$$", "$a$", "--", "\n", "/*", "*/", "E'", "\\", "(", ")", " ", "x", "''"]
        ),
        max_size=12,
    )
)
def test_a_statement_in_the_open_is_found_whatever_stands_before_it(parts: list[str]) -> None:
    """Text that passes by itself hides nothing that follows it."""
    head = "select 1 " + "".join(parts)
    try:
        check_query("books", head + "\n")
    except UnsafeSql:
        return
    with pytest.raises(UnsafeSql, match="more than one statement"):
        check_query("books", head + "\n; delete from books")

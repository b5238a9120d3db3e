import pytest

from lifehelper_data.domain.errors import MappingError, Unavailable
from lifehelper_data.sources.postgres_errors import (
    connect_error,
    is_uri,
    masked,
    names_something_gone,
    parameters_of,
    query_error,
    secrets_of,
    sqlstate,
)

URI = (
    "postgresql://reader:p%40ss%2Fword@db-one.example.com:5432,[fe80::1]:5433/shop"
    "?sslmode=require&password=second-one"
)


class FakeError(Exception):
    """A driver's error."""

    def __init__(
        self, text: str, state: str | None = None, details: list[tuple[bytes, bytes]] | None = None
    ) -> None:
        super().__init__(text)
        self.sqlstate = state
        self.details = details


def test_every_part_of_a_uri_that_says_who_or_where_is_a_secret() -> None:
    assert {
        URI, "reader:p%40ss%2Fword", "reader:p@ss/word", "reader", "p%40ss%2Fword", "p@ss/word",
        "db-one.example.com:5432", "db-one.example.com", "[fe80::1]:5433", "fe80::1", "second-one",
    } <= set(secrets_of(URI))  # fmt: skip
    assert "require" not in secrets_of(URI)
    assert "shop" not in secrets_of(URI)
    lengths = [len(text) for text in secrets_of(URI)]
    assert lengths == sorted(lengths, reverse=True)  # a part never spoils the whole


def test_masked_text_is_one_line_without_secrets() -> None:
    text = f"cannot\n\tuse {URI} as reader at db-one.example.com"
    assert masked(text, secrets_of(URI)) == "cannot use *** as *** at ***"


@pytest.mark.parametrize("uri", ["postgresql://h/d", "postgres://", "postgresql:///d?host=/tmp"])
def test_both_schemes_are_uris(uri: str) -> None:
    assert is_uri(uri)


@pytest.mark.parametrize("uri", ["", "h/d", "host=h dbname=d", "mysql://h/d", "http://h"])
def test_anything_else_is_not(uri: str) -> None:
    assert not is_uri(uri)


def test_parameters() -> None:
    assert parameters_of(URI) == {"sslmode", "password"}
    assert parameters_of("postgresql://u:connect_timeout=3@h/d") == set()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ('connection to server at "db" (10.0.0.5), port 1 failed: Connection refused', "no server"),
        ('could not translate host name "db": Name or service not known', "host name is unknown"),
        ('connection to server on socket "/x/.s" failed: No such file or directory', "no server"),
        ('FATAL:  password authentication failed for user "bob"', "refused the user or the passw"),
        ("fe_sendauth: no password supplied", "refused the user or the password"),
        ('FATAL:  role "bob" does not exist', "refused the user or the password"),
        ('FATAL:  database "shop9" does not exist', "no such database"),
        ('FATAL:  no pg_hba.conf entry for host "10.0.0.5"', "from elsewhere only"),
        ('connection to server at "db" failed: timeout expired', "did not answer in time"),
        ("FATAL:  sorry, too many clients already", "no connection left"),
        ("FATAL:  the database system is starting up", "starting up"),
        ("SSL error: certificate verify failed", "encrypted connection"),
        ("something new about 10.0.0.5", "the connection failed"),
    ],
)
def test_failed_connection_is_told_in_our_words(said: str, told: str) -> None:
    error = connect_error("SHOP_URI", FakeError(f"IO: [libpq] Failed to connect: {said}\n"))
    assert isinstance(error, Unavailable)
    assert error.exit_code == 3
    assert told in str(error)
    assert "SHOP_URI" in str(error)
    for secret in ("bob", "10.0.0.5", '"db"', "shop9", "/x/"):
        assert secret not in str(error)


@pytest.mark.parametrize(
    "said", ['invalid port number: "x"', 'missing "=" after "secret"', "unexpected spaces found"]
)
def test_a_uri_the_driver_cannot_read_is_bad_input(said: str) -> None:
    error = connect_error("SHOP_URI", FakeError(said))
    assert isinstance(error, MappingError)
    assert "does not hold a libpq URI the driver can read" in str(error)
    assert "secret" not in str(error)


QUERY_ERROR = (
    'Failed: ERROR:  column "x" does not exist\nLINE 1: ...\nQuery was: y. SQLSTATE: 42703'
)


def test_error_of_a_query_names_the_table_and_is_bad_input() -> None:
    error = query_error("books", FakeError(QUERY_ERROR, "42703"), alive=True, secrets=())
    assert isinstance(error, MappingError)
    assert str(error) == 'tables.books.query: column "x" does not exist'
    assert error.field == "books"


def test_the_sentence_of_a_server_that_speaks_korean_is_told() -> None:
    details = [(b"PG_DIAG_SQLSTATE", b"42703"), (b"PG_DIAG_MESSAGE_PRIMARY", "칼럼 없음".encode())]
    error = query_error(
        "books", FakeError("오류: 칼럼 없음\n줄 1", "42703", details), alive=True, secrets=()
    )
    assert str(error) == "tables.books.query: 칼럼 없음"


@pytest.mark.parametrize(
    ("state", "alive"),
    [("42703", False), (None, False), ("57P01", True), ("40001", True), ("57014", True)]
    + [(state, True) for state in ("08006", "28000", "53200", "58030", "55P03", "XX000")],
)
def test_a_server_in_trouble_is_unavailable(state: str | None, alive: bool) -> None:
    error = query_error(
        "books", FakeError("ERROR:  canceling for db.example", state), alive=alive,
        secrets=("db.example",),
    )  # fmt: skip
    assert isinstance(error, Unavailable)
    assert str(error).startswith("reading 'books' from the database stopped: canceling for ***;")


def test_a_lost_connection_has_no_words_of_the_driver() -> None:
    said = OSError('server at "db.example" closed the connection unexpectedly')
    error = query_error("books", said, alive=False, secrets=())
    assert str(error).startswith("reading 'books' from the database stopped: the connection was l")
    assert "db.example" not in str(error)


def test_state_is_read_from_the_words_where_the_error_has_none() -> None:
    assert sqlstate(OSError(QUERY_ERROR)) == "42703"
    assert sqlstate(FakeError("nothing")) is None
    assert names_something_gone(OSError(QUERY_ERROR))
    assert not names_something_gone(FakeError("ERROR:  division by zero", "22012"))

"""What went wrong at a database, in words that give no secret away."""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote

from lifehelper_data.domain.errors import MappingError, Unavailable

MASK: Final = "***"
_URI = re.compile(r"postgres(?:ql)?://(?:(?P<user>[^@/?]*)@)?(?P<hosts>[^/?]*)(?P<rest>.*)", re.S)
_PARAMETER = re.compile(r"[?&]([A-Za-z_]+)=([^&]*)")
_SECRET_PARAMETERS: Final = {
    "user", "password", "host", "hostaddr", "passfile", "sslkey", "sslpassword", "sslcert",
    "service", "options",
}  # fmt: skip
_SHORTEST_MASKED: Final = 4
"""Shorter texts are part of ordinary words; no message holds them for another reason."""

_SQLSTATE = re.compile(r"SQLSTATE: ([0-9A-Z]{5})")
_SERVER_WORDS = re.compile(r"(?:ERROR|FATAL|PANIC):\s+([^\n]+)")
_UNAVAILABLE: Final = ("08", "28", "40", "53", "57", "58", "F0", "XX", "55P03")
"""SQLSTATE classes that say something of the server, not of the query."""
_GONE: Final = {"42703", "42P01", "3F000", "42883", "42704"}
"""Column, table, schema, function or type does not exist."""

_CONNECT_REASONS: Final = (
    ("could not translate host name", "its host name is unknown"),
    ("password", "the server refused the user or the password"),
    ("authentication failed", "the server refused the user or the password"),
    ('role "', "the server refused the user or the password"),
    ("pg_hba.conf", "the server lets this user in from elsewhere only"),
    ('database "', "the server has no such database"),
    ("connection refused", "no server listens there"),
    ("no such file or directory", "no server listens there"),
    ("timeout expired", "the server did not answer in time"),
    ("timed out", "the server did not answer in time"),
    ("too many", "the server has no connection left"),
    ("starting up", "the server is starting up"),
    ("shutting down", "the server is shutting down"),
    ("ssl", "an encrypted connection could not be made"),
)
"""What the driver says of a failed connection -> what we say: its words name host and user."""


def is_uri(uri: str) -> bool:
    """Whether a text has the form of a libpq URI."""
    return _URI.fullmatch(uri) is not None


def parameters_of(uri: str) -> set[str]:
    """Return the names of the parameters a libpq URI sets."""
    return {name for name, _ in _PARAMETER.findall(uri)}


def secrets_of(uri: str) -> tuple[str, ...]:
    """Return every part of a libpq URI that no message may hold, longest first."""
    found = {uri}
    split = _URI.fullmatch(uri)
    if split:
        found |= {split["user"] or "", *(split["user"] or "").split(":", 1)}
        for host in split["hosts"].split(","):
            found |= {host, host.rsplit(":", 1)[0].strip("[]")}
    found |= {value for name, value in _PARAMETER.findall(uri) if name in _SECRET_PARAMETERS}
    found |= {unquote(text) for text in found}
    return tuple(
        sorted((t for t in found if len(t) >= _SHORTEST_MASKED), key=lambda t: (-len(t), t))
    )


def masked(text: str, secrets: Iterable[str]) -> str:
    r"""Return a text on one line, with every secret replaced.

    >>> masked("no table s3cret.books\nLINE 1", ["s3cret"])
    'no table ***.books LINE 1'
    """
    for secret in secrets:
        text = text.replace(secret, MASK)
    return " ".join(text.split())


def connect_error(variable: str, error: Exception) -> MappingError | Unavailable:
    """Return what to say of a failed connection; none of the driver's own words are used."""
    said = str(error).lower()
    reason = next((reason for sign, reason in _CONNECT_REASONS if sign in said), None)
    if reason is None and any(sign in said for sign in ("invalid", 'missing "="', "unexpected")):
        return MappingError(
            f"postgres.uri_env: {variable} does not hold a libpq URI the driver can read; write "
            "postgresql://user@host/database there",
            field="postgres.uri_env",
        )
    return Unavailable(
        f"cannot reach the database that {variable} names: {reason or 'the connection failed'}; "
        "check the variable and the server, then run again",
        field="postgres.uri_env",
    )


def query_error(
    table: str, error: Exception, *, alive: bool, secrets: Iterable[str]
) -> MappingError | Unavailable:
    """Return what to say of a query that failed.

    Args:
        table: the contract table.
        error: the driver's error.
        alive: whether the connection still answers.
        secrets: texts that must not be told.
    """
    state, words = sqlstate(error), _server_words(error)
    if not alive or (state and state.startswith(_UNAVAILABLE)):
        what = masked(words, secrets) if words else "the connection was lost"
        return Unavailable(
            f"reading {table!r} from the database stopped: {what}; nothing of this load is used, "
            "run again when the server is back",
            field=table,
        )
    reason = masked(words or str(error), secrets)
    return MappingError(f"tables.{table}.query: {reason}", field=table)


def _server_words(error: Exception) -> str | None:
    """Return the server's own sentence, in whatever language it speaks; None without one."""
    for name, value in getattr(error, "details", None) or ():
        if name == b"PG_DIAG_MESSAGE_PRIMARY":
            return bytes(value).decode("utf-8", errors="replace")
    found = _SERVER_WORDS.search(str(error))
    return found[1] if found else None


def sqlstate(error: Exception) -> str | None:
    """Return the SQLSTATE of a driver's error; None if it has none."""
    known = getattr(error, "sqlstate", None)
    if known:
        return str(known)
    found = _SQLSTATE.search(str(error))
    return found[1] if found else None


def names_something_gone(error: Exception) -> bool:
    """Whether a query failed because something it names does not exist."""
    return sqlstate(error) in _GONE

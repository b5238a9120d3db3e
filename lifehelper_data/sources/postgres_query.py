"""The only query a mapping may send to a database: one SELECT that stays inside brackets.

PostgreSQL itself refuses writes in a read-only transaction; this check keeps a query from ending
that transaction, and says what is wrong before anything is sent.
"""

import re
from collections.abc import Iterator
from typing import Final

from lifehelper_data.domain.errors import UnsafeSql

_TOKEN: Final = re.compile(
    r"""
    (?P<line>--[^\n\r]*)
  | (?P<block>/\*)
  | (?P<escaped>(?<![\w$])[eE]'(?:[^'\\]|''|\\.)*(?P<escaped_end>'?))
  | (?P<text>'(?:[^']|'')*(?P<text_end>'?))
  | (?P<name>"(?:[^"]|"")*(?P<name_end>"?))
  | (?P<dollar>(?<![\w$])\$(?:[^\W\d]\w*)?\$)
  | (?P<word>\w[\w$]*)
  | (?P<mark>[();])
    """,
    re.VERBOSE | re.DOTALL,
)
_BLOCK: Final = re.compile(r"/\*|\*/")


class _Problem(ValueError):
    """Why a query is refused: what it does, and what to do instead."""


def check_query(table: str, query: str) -> str:
    """Check the query of one contract table and return it, stripped.

    Args:
        table: the contract table, for messages.
        query: what the mapping holds.

    Raises:
        UnsafeSql: it is not exactly one SELECT (or WITH ... SELECT).
    """
    text = query.strip()
    try:
        _check(text)
    except _Problem as problem:
        raise UnsafeSql(f"tables.{table}.query {problem}", field=table) from None
    return text


def _check(text: str) -> None:
    if "\x00" in text:
        raise _Problem("holds a NUL character; remove it")
    depth, first = 0, ""
    for part, end in _tokens(text):
        if part == ";":
            if any(after != ";" for after, _ in _tokens(text[end:])):
                raise _Problem("holds more than one statement; write exactly one SELECT")
            raise _Problem("ends with a semicolon; leave it out")
        depth += (part == "(") - (part == ")")
        if depth < 0:
            raise _Problem("closes a bracket that it never opened; write exactly one SELECT")
        if part not in "()":
            first = first or part.lower()
    if depth:
        raise _Problem("opens a bracket and never closes it; close it")
    if not first:
        raise _Problem("is empty; write exactly one SELECT")
    if first not in ("select", "with"):
        raise _Problem(
            f"starts with {first!r}; only a SELECT (or WITH ... SELECT) may deliver a table"
        )


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    """Yield what is neither blank nor comment, with where it ends; operators are left out.

    Raises:
        _Problem: a text, name or comment has no end.
    """
    position = 0
    while found := _TOKEN.search(text, position):
        position = found.end()
        match found.lastgroup:
            case "line":
                continue
            case "block":
                position = _block_end(text, position)
                continue
            case "dollar":
                closed = text.find(found[0], position)
                if closed < 0:
                    raise _Problem(f"opens a text with {found[0]} and never closes it; close it")
                position = closed + len(found[0])
            case "word" | "mark":
                pass
            case _:
                if not (found["escaped_end"] or found["text_end"] or found["name_end"]):
                    raise _Problem("opens a quote and never closes it; close it")
        yield found[0], position


def _block_end(text: str, position: int) -> int:
    """Return where a comment ends that began before `position`; comments nest."""
    depth = 1
    while depth:
        found = _BLOCK.search(text, position)
        if found is None:
            raise _Problem("opens a comment and never closes it; close it")
        depth += 1 if found[0] == "/*" else -1
        position = found.end()
    return position

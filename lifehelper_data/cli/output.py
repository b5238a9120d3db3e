"""What commands print: tables for people, one JSON document for programs, one-line errors."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from lifehelper_data.domain.errors import LifehelperError

PIPE_WIDTH: Final = 140
out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def print_json(value: Mapping[str, object]) -> None:
    """Print one JSON document on stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=1, default=_plain) + "\n")


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    right: Iterable[int] = (),
) -> None:
    """Print rows as a table; `right` names the columns (from 0) set flush right."""
    flush_right = set(right)
    table = Table(title=title or None, title_justify="left", title_style="bold")
    for place, column in enumerate(columns):
        table.add_column(
            column, justify="right" if place in flush_right else "left", overflow="fold"
        )
    for row in rows:
        table.add_row(*(shown(v, counted=place in flush_right) for place, v in enumerate(row)))
    console = Console(highlight=False)
    if not console.is_terminal:  # a pipe has no width: give tables room
        console = Console(highlight=False, width=PIPE_WIDTH)
    console.print(table)


def shown(value: object, *, counted: bool = False) -> str:
    """Return a value as a cell of a table, without markup; counts get thousands separators."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if counted else str(value)
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    text = str(value).replace("[", "\\[")
    return text if len(text) <= 300 else text[:299] + "…"


def print_error(error: LifehelperError, *, as_json: bool) -> None:
    """Print an error: its JSON shape on stdout, or one line on stderr."""
    if as_json:
        print_json(error.to_dict())
    else:
        err.print(f"[bold red]error[/]: {shown_line(str(error))}")


def shown_line(text: str) -> str:
    """Return a message on one line, without markup."""
    return " ".join(text.split()).replace("[", "\\[")


def _plain(value: object) -> object:
    match value:
        case datetime() | date():
            return value.isoformat()
        case Enum():
            return value.value
        case Decimal():
            return float(value)
        case Path():
            return str(value)
        case bytes():
            return value.hex()
        case _:
            return str(value)

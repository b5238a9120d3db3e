"""Cases that a user brings: one JSON object per line, every line read or named."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from lifehelper_data.domain.errors import InvalidRequest, NotFound
from lifehelper_data.evaluation.cases import Case, CaseSet, DataKind

SHOWN_PROBLEMS: Final = 5


def read_cases(
    path: Path, model: type[BaseModel], to_case: Callable[[Any], Case], *, schema: str
) -> CaseSet:
    """Read a file of cases. A line that cannot be used refuses the whole file.

    Args:
        path: UTF-8, one JSON object per line; a line break at the end is allowed.
        model: what a line must be.
        to_case: makes a case of a checked line.
        schema: name under which `lifehelper schema` shows the format.

    Returns:
        The cases in file order, labelled; repeats are counted once and listed.

    Raises:
        NotFound: there is no such file.
        InvalidRequest: names the first bad lines by number, and how many there are.
    """
    try:
        content = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError) as error:
        raise NotFound(f"no file of cases {str(path)!r}", field="cases") from error
    cases: list[Case] = []
    problems: list[str] = []
    for number, line in _lines(content):
        try:
            cases.append(to_case(model.model_validate(_object(line))))
        except ValidationError as error:
            problems.append(f"line {number}: {_first(error)}")
        except ValueError as error:
            problems.append(f"line {number}: {error}")
    if problems:
        shown = "; ".join(problems[:SHOWN_PROBLEMS])
        raise InvalidRequest(
            f"{path.name!r} has {len(problems)} bad line{'s' if len(problems) > 1 else ''}, and "
            f"no case was used: {shown}; mend or delete them (format: `lifehelper schema "
            f"{schema}`)",
            field="cases",
        )
    if not cases:
        raise InvalidRequest(
            f"{path.name!r} holds no case; write one JSON object per line (format: `lifehelper "
            f"schema {schema}`)",
            field="cases",
        )
    return CaseSet.of(DataKind.LABELLED, cases)


def _lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines, numbered from 1, without byte order mark and last line break."""
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    yield from enumerate((line.removesuffix(b"\r") for line in lines), 1)


def _object(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line; ValueError says what is wrong with it."""
    if not line.strip():
        raise ValueError("is blank")
    try:
        value = json.loads(
            line.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant
        )
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 (byte {error.start + 1})") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON ({error.msg} at character {error.pos + 1})") from error
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError(f"holds a {type(value).__name__}, not an object")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"has {name!r} twice")
        found[name] = value
    return found


def _no_constant(text: str) -> object:
    raise ValueError(f"holds {text}, which is no JSON number")


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"]) or "case"
    if first["type"] == "missing":
        return f"{name!r} is missing"
    if first["type"] == "extra_forbidden":
        return f"{name!r} is unknown"
    shown = repr(first["input"])
    shown = shown if len(shown) <= 60 else shown[:57] + "…"
    return f"{name} = {shown}: {str(first['msg']).removeprefix('Value error, ')}"

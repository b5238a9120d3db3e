"""HTML with every value escaped: text becomes HTML in this module only."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

NOTHING: Final = "–"
_CONTROLS: Final = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"}
"""Control characters, which HTML forbids, become their pictures (NUL: ␀)."""
_CUT_AT: Final = 160


@dataclass(frozen=True, slots=True)
class Html:
    """A piece of HTML that may be put into a page as it is.

    Attributes:
        source: the HTML.
    """

    source: str

    def __add__(self, other: "Html") -> "Html":
        return Html(self.source + other.source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """How a column of a table is shown.

    Attributes:
        name: its heading.
        number: set flush right.
        korean: the shop's own text: marked as Korean and kept apart from what surrounds it.
    """

    name: str
    number: bool = False
    korean: bool = False


def number(name: str) -> Column:
    """Return a column of numbers."""
    return Column(name=name, number=True)


def korean(name: str) -> Column:
    """Return a column of the shop's own text."""
    return Column(name=name, korean=True)


def escape(text: str) -> str:
    r"""Return a text as HTML, safe in an element and in a quoted attribute.

    >>> escape('<b title="x">\x00')
    '&lt;b title=&quot;x&quot;&gt;␀'
    """
    return html.escape(text.translate(_CONTROLS), quote=True)


def shown(value: object) -> str:
    """Return a value as a person reads it, not escaped yet.

    >>> [shown(value) for value in (None, True, 12345, 0.5, "책")]
    ['–', 'yes', '12,345', '0.5', '책']
    """
    match value:
        case None:
            return NOTHING
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S} UTC"
        case _:
            return str(value)


def share(part: int, whole: int) -> str:
    """Return a share as a percentage; undefined where there is nothing to have a share of.

    A share that is neither nothing nor all never looks like it.

    >>> [share(0, 7), share(1, 8), share(1, 9000), share(8999, 9000), share(0, 0)]
    ['0.0%', '12.5%', '< 0.1%', '> 99.9%', 'undefined']
    """
    if not whole:
        return "undefined"
    if 0 < part / whole < 0.0005:
        return "< 0.1%"
    if 0.9995 <= part / whole < 1:
        return "> 99.9%"
    return f"{part / whole:.1%}"


def part_of(part: int, whole: int) -> str:
    """Return a count with its denominator and share.

    >>> part_of(15, 601)
    '15 of 601 (2.5%)'
    """
    return f"{part:,} of {whole:,} ({share(part, whole)})"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> [plural(1, "book"), plural(2000, "book")]
    ['1 book', '2,000 books']
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def cut(text: str, longest: int = _CUT_AT) -> str:
    """Return a text of at most `longest` characters; what was cut is shown by an ellipsis.

    >>> cut("가나다라", 3)
    '가나…'
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"


def render(value: object) -> str:
    """Return any value as HTML; only `Html` passes as it is."""
    return value.source if isinstance(value, Html) else escape(shown(value))


def paragraph(*pieces: object) -> Html:
    """Return a paragraph of texts and HTML, one after the other."""
    return Html(f"<p>{''.join(map(render, pieces))}</p>\n")


def note(text: str) -> Html:
    """Return a remark on how to read something."""
    return Html(f'<p class="note">{escape(text)}</p>\n')


def strong(value: object) -> Html:
    """Return a value that stands out."""
    return Html(f"<strong>{render(value)}</strong>")


def code(text: object) -> Html:
    """Return a text in the type of programs: names, hashes."""
    return Html(f"<code>{render(text)}</code>")


def korean_text(text: str) -> Html:
    """Return the shop's own text inside a sentence."""
    return Html(f'<bdi lang="ko">{escape(text)}</bdi>')


def join(pieces: Iterable[Html]) -> Html:
    """Return pieces of HTML one after the other."""
    return Html("".join(piece.source for piece in pieces))


def heading(text: str, level: int = 3) -> Html:
    """Return a heading."""
    return Html(f"<h{level}>{escape(text)}</h{level}>\n")


def details(summary: str, body: Html) -> Html:
    """Return something that is folded away until it is asked for."""
    return Html(f"<details><summary>{escape(summary)}</summary>\n{body.source}</details>\n")


def table(
    caption: str,
    columns: Sequence[Column | str],
    rows: Iterable[Sequence[object]],
    *,
    filterable: bool = False,
    style: str = "",
) -> Html:
    """Return a table; the first cell of a row is its heading.

    Args:
        caption: what it shows.
        columns: how its columns are shown; a text is a plain column of that name.
        rows: one value per column; None is shown as a dash.
        filterable: readers may type words that a row must hold.
        style: class of the style sheet that sets the widths of its columns.
    """
    shapes = [Column(name=c) if isinstance(c, str) else c for c in columns]
    head = "".join(f'<th scope="col"{_attributes(c, data=False)}>{escape(c.name)}</th>'
                   for c in shapes)  # fmt: skip
    body = "".join(
        "<tr>" + "".join(
            _cell(value, shape, first=place == 0)
            for place, (value, shape) in enumerate(zip(row, shapes, strict=True))
        ) + "</tr>\n"
        for row in rows
    )  # fmt: skip
    styled = f' class="{style}"' if style else ""
    region = f' data-filterable tabindex="0" role="region" aria-label="{escape(caption)}"'
    return Html(
        f'<div class="wide"{region if filterable else ""}>'
        f"<table{styled}><caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}</tbody></table></div>\n"
    )


def facts(caption: str, rows: Iterable[tuple[str, object]]) -> Html:
    """Return a table of names and values."""
    return table(caption, ("what", "value"), rows)


def _cell(value: object, shape: Column, *, first: bool) -> str:
    tag, scope = ("th", ' scope="row"') if first else ("td", "")
    return f"<{tag}{scope}{_attributes(shape, data=True)}>{render(value)}</{tag}>"


def _attributes(shape: Column, *, data: bool) -> str:
    number_class = ' class="n"' if shape.number else ""
    return number_class + (' lang="ko" dir="auto"' if shape.korean and data else "")

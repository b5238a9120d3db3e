"""The sections of the page on the release itself, and the list of all sections."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from lifehelper_data.domain.contract import ALL_TABLES
from lifehelper_data.domain.freshness import MEANINGS
from lifehelper_data.domain.release import Artifact, ArtifactKind
from lifehelper_data.evaluation.report.content import PageContent
from lifehelper_data.evaluation.report.data_sections import (
    section_came_in,
    section_filled,
    section_history,
    section_popularity,
    section_prices,
    section_refused,
)
from lifehelper_data.evaluation.report.markup import (
    Html,
    code,
    details,
    escape,
    facts,
    heading,
    join,
    note,
    number,
    paragraph,
    part_of,
    plural,
    table,
)
from lifehelper_data.evaluation.report.search_section import section_searches


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section of the page.

    Attributes:
        anchor: its id, for links.
        title: its heading.
        write: makes its HTML.
    """

    anchor: str
    title: str
    write: Callable[[PageContent], Html]


def section_release(content: PageContent) -> Html:
    """Which release this is and what it was built with."""
    release, known = content.release, content.facts
    rows: list[tuple[str, object]] = [
        ("number", str(release.number)),
        ("state", str(release.state)),
        ("published", release.created_at),
        ("promoted", release.promoted_at),
        ("identity (same rows, same identity)", code(release.identity)),
        ("code version", code(known.get("code_version"))),
        ("hash of the tunables", code(known.get("tunables_hash"))),
        ("popularity method", known.get("popularity_method")),
        ("encoder", known.get("encoder_model")),
        ("precision of the encoder", known.get("encoder_precision")),
        ("vector space", _vector_space(known)),
        ("Korean analyser", known.get("analysis_version")),
        *_similarity(content),
    ]
    return join(
        [
            facts("Release facts", rows),
            _indexes(content),
            _watermarks(known),
            details(
                "All tunables of this release",
                table(
                    "Tunables: every number that decides results",
                    ("setting", "value"),
                    flat(content.settings.tunables()),
                ),
            ),
        ]
    )


def section_checks(content: PageContent) -> Html:
    """Every check with what it counted."""
    held = sum(check.passed for check in content.checks)
    verdict = {True: Html('<span class="yes">✓ holds</span>'),
               False: Html('<span class="no">✗ fails</span>')}  # fmt: skip
    return paragraph(
        f"{part_of(held, len(content.checks))} checks hold. A release that fails a blocking one is "
        "not put in service."
    ) + table(
        "Checks of the release",
        ("check", "result", "blocking", "what was counted"),
        ((code(c.name), verdict[c.passed], c.blocking, c.detail) for c in content.checks),
    )


def section_freshness(content: PageContent) -> Html:
    """How old the content was when the release was published."""
    over = [f for f in content.freshness if not f.fresh]
    verdict = (
        paragraph(
            "Over budget when it was published: ", ", ".join(MEANINGS[f.served] for f in over)
        )
        if over
        else paragraph("Everything was within its budget when it was published.")
    )
    return verdict + table(
        "Ages against their budgets; a breach is reported and never keeps anything from being read",
        ("what", "within its budget", "age when published"),
        ((MEANINGS[f.served], "n/a" if f.age is None else f.fresh, f.detail)
         for f in content.freshness),
    )  # fmt: skip


def section_dictionary(content: PageContent) -> Html:
    """Every table and column with its meaning, folded away."""
    pieces = []
    for (group,), columns in content.dictionary.group_by("table_name", maintain_order=True):
        name = str(group)
        known = name in ALL_TABLES and name in content.release.content.tables
        meaning = ALL_TABLES[name].meaning if known else "about the release itself"
        size = f" ({plural(content.rows(name), 'row')})" if known else ""
        rows = columns.select("column_name", "type", "nullable", "meaning").iter_rows()
        pieces.append(
            details(
                f"{name} – {meaning}{size}",
                table(
                    f"Columns of {name}",
                    ("column", "type", "may be missing", "meaning"),
                    ((code(column), kind, gaps, what) for column, kind, gaps, what in rows),
                ),
            )
        )
    return note("Open a table to see its columns.") + join(pieces)


SECTIONS: Final = (
    Section(anchor="release", title="The release", write=section_release),
    Section(anchor="came-in", title="What came in", write=section_came_in),
    Section(anchor="refused", title="What was refused, and why", write=section_refused),
    Section(anchor="filled", title="How the tables are filled", write=section_filled),
    Section(anchor="prices", title="Prices", write=section_prices),
    Section(anchor="popularity", title="Popularity", write=section_popularity),
    Section(anchor="history", title="History per user", write=section_history),
    Section(anchor="checks", title="Checks", write=section_checks),
    Section(anchor="freshness", title="Freshness", write=section_freshness),
    Section(anchor="searches", title="Ten sample searches", write=section_searches),
    Section(anchor="dictionary", title="Data dictionary", write=section_dictionary),
)
"""The sections in order; to add one, write its function and list it here."""


def write_section(section: Section, content: PageContent) -> Html:
    """Return a section with its heading."""
    return (
        Html(f'<section aria-labelledby="{section.anchor}">\n')
        + Html(f'<h2 id="{section.anchor}">{escape(section.title)}</h2>\n')
        + section.write(content)
        + Html("</section>\n")
    )


def flat(values: Mapping[str, object], above: str = "") -> list[tuple[Html, str]]:
    """Return nested settings as dotted names and values.

    >>> [(name.source, value) for name, value in flat({"a": {"b": 1}, "c": "x"})]
    [('<code>a.b</code>', '1'), ('<code>c</code>', 'x')]
    """
    rows: list[tuple[Html, str]] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            rows += flat(value, f"{above}{name}.")
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            rows.append((code(above + name), text))
    return rows


def _vector_space(known: Mapping[str, object]) -> object:
    space = known.get("vector_space_id")
    return None if space is None else code(space) + Html(f" ({known.get('vector_dim')} dimensions)")


def _similarity(content: PageContent) -> list[tuple[str, object]]:
    """Return the scale on which similarities are read, if it was measured."""
    if content.calibration.is_empty():
        return [("similarity floor and ceiling", None)]
    row = content.calibration.row(0, named=True)
    return [
        ("similarity floor", f"{row['floor']:.4f} (from {row['random_pairs']:,} random pairs)")
        if row["floor"] is not None else ("similarity floor", None),
        ("similarity ceiling", f"{row['ceiling']:.4f} (from the nearest neighbours of "
         f"{row['neighbours']:,} books)")
        if row["ceiling"] is not None else ("similarity ceiling", None),
    ]  # fmt: skip


def _indexes(content: PageContent) -> Html:
    artifacts = content.release.content.artifacts
    if not artifacts:
        return paragraph("The release holds tables only: neither keyword index nor vectors.")
    return table(
        "Indexes and vectors",
        ("name", number("items"), "recall@10 against exact search", "identity"),
        (
            (code(name), artifact.rows, _recall(artifact), code(artifact.identity[:16]))
            for name, artifact in sorted(artifacts.items())
        ),
    )


def _recall(artifact: Artifact) -> str:
    """Return how well an approximate index finds what exact search finds."""
    recall = artifact.facts.get("index_recall")
    if artifact.kind is ArtifactKind.VECTORS and artifact.facts.get("indexed"):
        return f"{recall:.4f}" if isinstance(recall, float) else "not measured"
    return "n/a: exact search"


def _watermarks(known: Mapping[str, object]) -> Html:
    marks = known.get("source_watermarks")
    if not isinstance(marks, Mapping) or not marks:
        return Html("")
    return heading("How fresh the source is") + table(
        "Latest time stamp in the rows of each table (UTC); – where it has none",
        ("table", "watermark"),
        ((code(name), str(at).replace("T", " ").replace("+00:00", "") if at else None)
         for name, at in sorted(marks.items())),
    )  # fmt: skip

"""One self-contained HTML page per release: opens without a network, same release same bytes."""

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from string import Template
from typing import Final

from lifehelper_data.domain.checks import CheckResult
from lifehelper_data.evaluation.report.content import PageContent, measure_page
from lifehelper_data.evaluation.report.markup import Html, escape, join
from lifehelper_data.evaluation.report.sections import SECTIONS, write_section
from lifehelper_data.evaluation.report.summary import summary
from lifehelper_data.runtime.workspace import Workspace
from lifehelper_data.stores.atomic import write_text

FOLDER: Final = "report"


def report_file(workspace: Path, number: int | None = None) -> Path:
    """Return where the page of a release lies unless somebody says otherwise.

    Args:
        workspace: the workspace folder.
        number: the release; None is the one in service.
    """
    name = "index.html" if number is None else f"{number:06d}.html"
    return workspace / FOLDER / name


def write_report(
    workspace: Workspace, to: Path | None = None, *, checks: Sequence[CheckResult] | None = None
) -> Path:
    """Write the page of the pinned release, whole or not at all.

    Args:
        workspace: the pinned release.
        to: the file; None is `report/index.html` of the workspace.
        checks: the release's checks, if they were just made; None makes them.

    Returns:
        The file written.

    Raises:
        Unavailable: the release cannot be read, or a plot cannot be drawn.
        OSError: the file cannot be written.
    """
    target = to or report_file(workspace.path)
    page = render_page(measure_page(workspace, checks))
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, page)
    return target


def render_page(content: PageContent) -> str:
    """Return the page. Nothing but the release and its tunables decides what is in it."""
    style, script = _resource("page.css"), _resource("page.js")
    title = f"Release {content.release.number}: what is in it"
    links = join(
        Html(f'<li><a href="#{section.anchor}">{escape(section.title)}</a></li>\n')
        for section in SECTIONS
    )
    return Template(_resource("page.html")).substitute(
        title=escape(title),
        policy=escape(
            "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
            f"style-src {_source(style)}; script-src {_source(script)}"
        ),
        style=style,
        script=script,
        summary=summary(content).source,
        contents=links.source,
        sections=join(write_section(section, content) for section in SECTIONS).source,
        footer=escape(
            f"Release {content.release.number}, identity {content.release.identity}. Written by "
            "lifehelper report; the same release gives the same page."
        ),
    )


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _source(text: str) -> str:
    """Return the hash by which a browser knows a text of ours from an injected one (CSP)."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

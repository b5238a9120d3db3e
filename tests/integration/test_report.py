"""The page of a release, made from releases on disk."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from lifehelper_data.cli.main import main
from lifehelper_data.domain.search import Field
from lifehelper_data.evaluation.report.content import PageContent, measure_page
from lifehelper_data.evaluation.report.page import render_page, report_file, write_report
from lifehelper_data.evaluation.report.samples import SampleAnswer, SampleQuery
from lifehelper_data.runtime.search_results import (
    LegReason,
    SearchExplanation,
    SearchResponse,
    SearchResult,
)
from lifehelper_data.runtime.workspace import Workspace
from lifehelper_data.stores.keyword_index import TokenMatch
from tests.integration.build_kit import SOURCES, TinyShop, build

HOSTILE = "</td></style><script>alert(1)</script>'\"><img src=x onerror=alert(2)>"
VOID = {"meta", "img", "br", "input"}


class Page(HTMLParser):
    """Reads a page and insists that every element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] not in (["style"], ["script"]):
            self.text += data

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


@pytest.fixture(scope="module")
def dirty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A release of the dirty fixture shop, tables only."""
    folder = tmp_path_factory.mktemp("report")
    build(folder, SOURCES / "fixture_shop_dirty.toml")
    with Workspace.open(folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def content(dirty: Workspace) -> PageContent:
    """Everything its page shows."""
    return measure_page(dirty)


class Terminal:
    """Runs the command line in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.err = ""

    def run(self, *arguments: object) -> dict[str, object]:
        """Return the document that a command prints."""
        with pytest.raises(SystemExit) as done:
            main([*map(str, arguments), "--json"])
        captured = self._capsys.readouterr()
        self.err = captured.err
        assert done.value.code == 0, captured
        document = json.loads(captured.out)
        assert isinstance(document, dict)
        return document


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """The command line; it builds tables only."""
    monkeypatch.setenv("LIFEHELPER__RUN__SEARCH_ASSETS", "false")
    return Terminal(capsys)


def hostile_search() -> SampleAnswer:
    """A search whose every text is hostile."""
    why = SearchExplanation(
        fused_score=1 / 61 + 1 / 64,
        legs=(
            LegReason(leg="keyword", rank=1, score=8.25, contribution=1 / 61),
            LegReason(leg="vector", rank=4, score=0.5, contribution=1 / 64),
        ),
        matched=(TokenMatch(field=Field.TITLE, token=HOSTILE, impact=2.75, contribution=8.25),),
        exact_title=True,
    )  # fmt: skip
    book = SearchResult(
        book_id=7, title=HOSTILE, author=HOSTILE, publisher=HOSTILE, price=15000, in_stock=True,
        cover_url="https://covers.example.com/7.jpg", explanation=why,
    )  # fmt: skip
    response = SearchResponse(
        results=(book,), next_cursor=None, fallback=HOSTILE, degraded="keyword-only", release_id=1
    )
    asked = SampleQuery(kind="exact title", query=HOSTILE, filters={"category": HOSTILE}, book_id=7)
    return SampleAnswer(asked=asked, response=response)


def test_the_summary_has_every_count_with_its_denominator(content: PageContent) -> None:
    said = " ".join(Page(render_page(content)).text.split())
    assert "568 books and 12,359 history rows (purchases, library, reviews) of 375 users" in said
    # 617 + 6,584 + 1,978 + 1,319 + 0 + 2,825 lines; 16 + 48 + 12 + 12 + 0 + 24 rejected
    assert "Of 13,323 lines in 6 source files, 112 (0.8%) could not be read as a row." in said
    # 601 + 3,273 + 6,536 + 2,801 returned; 568 + 3,211 + 6,415 + 2,733 kept
    assert "Of 13,211 rows read into tables, 12,927 (97.9%) were kept" in said
    assert "98 (0.7%) had a bad value" in said
    assert "It holds tables only and cannot be searched." in said
    assert "10 of 10 (100.0%) checks hold." in said
    assert "50 of 113 rows in quarantine" in said


def test_a_share_of_nothing_is_undefined(content: PageContent) -> None:
    page = render_page(content)  # part-3.csv has no line
    row = re.search(r"<tr><th[^>]*>[^<]*part-3\.csv</th>.*</tr>", page)
    assert row is not None
    assert row[0].count('<td class="n">0</td>') == 3
    assert row[0].endswith('<td class="n">undefined</td></tr>')


def test_the_page_opens_without_a_network(content: PageContent) -> None:
    page = Page(render_page(replace(content, searches=[hostile_search()])))
    links = [v for _, a in page.tags for n, v in a.items() if n in {"src", "href", "data"} and v]
    assert [link for link in links if not link.startswith(("#", "data:"))] == []
    assert page.count("link") == 0
    policy = next(a["content"] for _, a in page.tags if "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert "unsafe" not in policy


def test_the_page_reads_aloud(content: PageContent) -> None:
    page = Page(render_page(replace(content, searches=[hostile_search()])))
    assert page.count("table") == page.count("caption") > 10
    assert page.count("h1") == 1
    levels = [int(tag[1]) for tag, _ in page.tags if tag in {"h1", "h2", "h3"}]
    assert all(below - above <= 1 for above, below in pairwise(levels))
    assert page.count("img") == 5
    assert all(a.get("alt") for tag, a in page.tags if tag == "img")
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    targets = {(a["href"] or "")[1:] for tag, a in page.tags if tag == "a"}
    assert targets <= set(ids)
    assert all(a.get("scope") for tag, a in page.tags if tag == "th")


def test_hostile_texts_are_shown_not_run(content: PageContent) -> None:
    plain = Page(render_page(replace(content, searches=[])))
    page = Page(render_page(replace(content, searches=[hostile_search()])))
    for tag in ("script", "style", "img"):
        assert page.count(tag) == plain.count(tag)
    # query, filter, fallback, title, author, token
    assert page.text.count(HOSTILE) == 6
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)


def test_hostile_rows_of_a_shop_are_shown_not_run(tmp_path: Path) -> None:
    shop = TinyShop.create(tmp_path / "shop", books=30)
    shop.replace("books.csv", "7,책 7,9700,소설", "7,책 7,<script>alert(1)</script>,소설")
    shop.replace("books.csv", "8,책 8,9800,소설", "8,<script>alert(8)</script>,9800,소설")
    build(tmp_path / "w", shop.mapping)
    with Workspace.open(tmp_path / "w") as opened:
        page = Page(write_report(opened).read_text(encoding="utf-8"))
    assert page.text.count("<script>alert(1)</script>") == 1
    assert page.count("script") == 1


def test_each_result_says_why_it_stands_there(content: PageContent) -> None:
    said = Page(render_page(replace(content, searches=[hostile_search()]))).text
    assert "1 (8.250)4 (0.500)0.03202title: " in said  # 1/61 + 1/64 = 0.03202
    assert "1 of them look for one known book, marked below; it comes first in 1 of 1." in said


def test_a_release_without_search_says_why(content: PageContent) -> None:
    assert "No search was made: the release holds tables only" in render_page(content)


def test_the_dictionary_counts_rows_of_tables_only(content: PageContent) -> None:
    said = Page(render_page(content)).text
    assert "user_reviews – " in said
    assert "(2,733 rows)" in said
    assert "release_facts – about the release itself\n" in said


def test_same_release_same_bytes_and_small(dirty: Workspace, content: PageContent) -> None:
    written = write_report(dirty, checks=content.checks)
    assert written == report_file(dirty.path) == dirty.path / "report" / "index.html"
    assert written.read_text(encoding="utf-8") == render_page(content)
    assert written.stat().st_size < 2_000_000
    assert [path.name for path in written.parent.iterdir()] == ["index.html"]


def test_a_shop_of_almost_nothing_has_a_page(tmp_path: Path) -> None:
    shop = TinyShop.create(tmp_path / "shop", books=1, users=0)
    shop.replace("books.csv", "1,책 1,9100,소설", "1,책 1,,소설")
    build(tmp_path / "w", shop.mapping)
    with Workspace.open(tmp_path / "w") as opened:
        said = Page(write_report(opened).read_text(encoding="utf-8")).text
    assert "1 book and 0 history rows" in said
    assert "None of 1 book has a price." in said
    assert "No user has any history." in said
    assert "the share of the best-selling books is undefined" in " ".join(said.split())


def test_build_writes_the_page_and_report_writes_it_again(
    tmp_path: Path, terminal: Terminal
) -> None:
    shop = TinyShop.create(tmp_path / "shop", books=5, users=3)
    terminal.run("init", tmp_path / "w", "--source", shop.mapping)
    built = terminal.run("build", "-w", tmp_path / "w")
    page = tmp_path / "w" / "report" / "index.html"
    assert built["report"] == str(page)
    assert "writing the report" in terminal.err
    first = page.read_bytes()
    page.unlink()
    assert terminal.run("build", "-w", tmp_path / "w")["report"] is None  # nothing was published
    assert not page.exists()
    said = terminal.run("report", "-w", tmp_path / "w")
    assert said == {"release": 1, "report": str(page), "size_bytes": len(first)}
    assert page.read_bytes() == first


def test_a_page_that_cannot_be_written_is_one_line_and_the_build_stands(
    tmp_path: Path, terminal: Terminal
) -> None:
    shop = TinyShop.create(tmp_path / "shop", books=5, users=3)
    terminal.run("init", tmp_path / "w", "--source", shop.mapping)
    (tmp_path / "w" / "report").write_text("a file where the folder should be")
    built = terminal.run("build", "-w", tmp_path / "w")
    assert (built["report"], built["in_service"]) == (None, True)
    lines = [line for line in terminal.err.splitlines() if "report was not written" in line]
    assert len(lines) == 1
    assert str(tmp_path / "w" / "report") in lines[0]


def test_a_staged_release_gets_no_page_unless_asked_for(tmp_path: Path, terminal: Terminal) -> None:
    shop = TinyShop.create(tmp_path / "shop", books=5, users=3)
    terminal.run("init", tmp_path / "w", "--source", shop.mapping)
    assert terminal.run("build", "-w", tmp_path / "w", "--stage")["report"] is None
    assert not (tmp_path / "w" / "report").exists()
    said = terminal.run("report", "-w", tmp_path / "w", "-r", "1")
    assert said["report"] == str(tmp_path / "w" / "report" / "000001.html")
    given = terminal.run("report", "-w", tmp_path / "w", "-r", "1", "--out", tmp_path / "my.html")
    assert given["report"] == str(tmp_path / "my.html")
    assert (tmp_path / "my.html").is_file()

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from lifehelper_data.domain.errors import InvalidRequest, Unavailable
from lifehelper_data.domain.search import (
    Field,
    KeywordWeights,
    QueryAnalysis,
    QueryTokens,
    analyse_query,
)
from lifehelper_data.domain.search.bm25 import Bm25, Formula
from lifehelper_data.domain.text.normalize import normalize
from lifehelper_data.stores.keyword_build import IndexBuildReport, build_keyword_index
from lifehelper_data.stores.keyword_index import KeywordIndex
from lifehelper_data.stores.keyword_reference import RankBm25Engine

BOOKS = Path(__file__).resolve().parents[2] / "fixtures" / "shop" / "books.csv"
SCHEMA = {
    "book_id": pl.Int64(),
    "title": pl.String(),
    "author": pl.String(),
    "description": pl.String(),
}
ONE_FIELD = KeywordWeights(title=1, author=0, description=0, bigrams=0)

Book = tuple[int, str, str | None, str | None]


class SplitAtSpaces:
    """An analyser whose words are visible in the text."""

    def __init__(self, version: str = "split-1") -> None:
        self.version = version
        self.seen: list[str] = []

    def content_words(self, texts: Sequence[str]) -> list[list[str]]:
        self.seen += texts
        return [normalize(text).split() for text in texts]

    def analyse_query(self, text: str) -> QueryAnalysis:
        return QueryAnalysis(words=tuple(normalize(text).split()), bare=text)


SHOP: list[Book] = [
    (1, "투자 역사", "한강", "돈 이야기"),
    (2, "메타포 워즈", "김 작가", None),
    (5, "역사 산책", None, "투자 이야기"),
    (9, "숲", "한강", "나무 이야기 나무"),
]


def frame(books: Sequence[Book]) -> pl.DataFrame:
    return pl.DataFrame(list(books), schema=SCHEMA, orient="row")


def build(
    parent: Path,
    books: Sequence[Book],
    *,
    analyser: SplitAtSpaces | None = None,
    previous: KeywordIndex | None = None,
    bm25: Bm25 | None = None,
) -> tuple[IndexBuildReport, KeywordIndex]:
    report = build_keyword_index(
        parent, [frame(books)], analyser or SplitAtSpaces(), previous=previous, bm25=bm25
    )
    return report, KeywordIndex.open(report.folder)


def ids(index: KeywordIndex, query: str, k: int = 10) -> list[int]:
    found, _ = index.search(analyse_query(query, SplitAtSpaces()), k)
    return [int(book_id) for book_id in found]


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture
def index(tmp_path: Path) -> KeywordIndex:
    return build(tmp_path, SHOP)[1]


def test_title_outweighs_description(index: KeywordIndex) -> None:
    assert ids(index, "투자") == [1, 5]


def test_author_is_found(index: KeywordIndex) -> None:
    assert ids(index, "한강") == [1, 9]  # equal scores: the lower id first


def test_spaceless_and_misspelt_queries_find_the_title_by_bigrams(index: KeywordIndex) -> None:
    assert ids(index, "메타포워즈") == [2]
    assert ids(index, "메타표 워즈") == [2]


def test_query_without_tokens_finds_nothing(index: KeywordIndex) -> None:
    found, scores = index.search(QueryTokens(), 5)
    assert (len(found), len(scores)) == (0, 0)
    assert ids(index, "?!") == []


def test_unknown_words_find_nothing(index: KeywordIndex) -> None:
    assert ids(index, "자전거") == []


def test_explanation_adds_up_to_the_score_to_the_bit(index: KeywordIndex) -> None:
    tokens = analyse_query("투자 역사 이야기 투자", SplitAtSpaces())
    weights = KeywordWeights(title=0.3, author=0.7, description=0.1, bigrams=0.9)
    found, scores = index.search(tokens, 10, weights=weights)
    assert len(found) == 3
    for book_id, score in zip(found.tolist(), scores.tolist(), strict=True):
        matches = index.explain(book_id, tokens, weights)
        total = 0.0
        for match in matches:
            assert match.contribution == weights.of(match.field) * match.impact
            total += match.contribution
        assert total == score


def test_explanation_names_tokens_by_field(index: KeywordIndex) -> None:
    matches = index.explain(5, analyse_query("투자 역사", SplitAtSpaces()))
    assert [(match.field, match.token) for match in matches] == [
        (Field.TITLE, "역사"),
        (Field.DESCRIPTION, "투자"),
        (Field.TITLE_BIGRAMS, "역사"),
    ]


@pytest.mark.parametrize("book_id", [2, 3, 100])
def test_explanation_of_a_book_that_does_not_match_is_empty(
    index: KeywordIndex, book_id: int
) -> None:
    assert index.explain(book_id, QueryTokens(words=("투자",))) == ()


def test_filter_that_keeps_three_of_many_returns_those_three(tmp_path: Path) -> None:
    books: list[Book] = [(n, f"역사 {n}", None, None) for n in range(1, 2001)]
    _, index = build(tmp_path, books)
    mask = index.mask(np.array([7, 1500, 1999, 5000]))
    found, _ = index.search(analyse_query("역사", SplitAtSpaces()), 10, mask)
    assert found.tolist() == [7, 1500, 1999]


def test_mask_of_another_length_and_k_of_zero_are_refused(index: KeywordIndex) -> None:
    with pytest.raises(InvalidRequest, match="the index holds 4 books"):
        index.search(QueryTokens(), 5, np.ones(3, dtype=np.bool_))
    with pytest.raises(InvalidRequest, match="k = 0"):
        index.search(QueryTokens(), 0)


def test_search_gives_the_same_from_many_threads(index: KeywordIndex) -> None:
    queries = ["투자 역사", "한강", "이야기 나무", "메타포"] * 50
    alone = [ids(index, query) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda query: ids(index, query), queries)) == alone


def test_unchanged_texts_are_not_analysed_again(tmp_path: Path) -> None:
    report, first = build(tmp_path, SHOP)
    assert (report.rows, report.analysed, report.reused) == (4, 10, 0)
    analyser = SplitAtSpaces()
    changed = [SHOP[0], (2, "메타포 워즈 개정판", "김 작가", None), *SHOP[2:]]
    again, _ = build(tmp_path, changed, analyser=analyser, previous=first)
    assert (again.analysed, again.reused) == (1, 9)
    assert analyser.seen == ["메타포 워즈 개정판"]


def test_another_analyser_version_analyses_everything_again(tmp_path: Path) -> None:
    _, first = build(tmp_path, SHOP)
    report, _ = build(tmp_path, SHOP, analyser=SplitAtSpaces("split-2"), previous=first)
    assert (report.analysed, report.reused) == (10, 0)
    assert report.identity != first.identity


def test_increment_is_byte_identical_to_a_fresh_build(tmp_path: Path) -> None:
    _, first = build(tmp_path / "old", SHOP)
    changed: list[Book] = [
        (0, "새 책", "가나", "나무"),  # added, before all others
        SHOP[0],
        (5, "역사 산책", "이름", None),  # author came, description went
        (9, "바다", "한강", "나무 이야기 나무"),  # title changed; 2 is deleted
        (12, "투자", None, None),
    ]
    step, _ = build(tmp_path / "step", changed, previous=first)
    fresh, _ = build(tmp_path / "fresh", changed)
    assert step.reused > 0
    assert step.identity == fresh.identity
    assert files(step.folder) == files(fresh.folder)


def test_frames_and_batches_do_not_matter(tmp_path: Path) -> None:
    one, _ = build(tmp_path / "one", SHOP)
    pieces = [frame(SHOP[:1]), frame([]), frame(SHOP[1:])]
    many = build_keyword_index(tmp_path / "many", pieces, SplitAtSpaces())
    assert files(one.folder) == files(many.folder)


def test_deleted_books_leave_postings_and_vocabulary(tmp_path: Path) -> None:
    _, first = build(tmp_path, SHOP)
    _, index = build(tmp_path, SHOP[:3], previous=first)
    assert ids(index, "한강") == [1]
    assert ids(index, "숲") == []
    assert "숲".encode() not in index.array("vocabulary", Field.TITLE).tobytes()


def test_parameters_of_bm25_are_part_of_the_identity(tmp_path: Path) -> None:
    okapi, _ = build(tmp_path, SHOP, bm25=Bm25(formula=Formula.OKAPI))
    lucene, index = build(tmp_path, SHOP, bm25=Bm25(formula=Formula.LUCENE))
    assert okapi.identity != lucene.identity
    assert index.bm25 == Bm25(formula=Formula.LUCENE)
    assert isinstance(index.bm25.formula, Formula)


def test_same_build_twice_leaves_one_folder(tmp_path: Path) -> None:
    first, _ = build(tmp_path, SHOP)
    second, _ = build(tmp_path, SHOP)
    assert first.folder == second.folder
    assert list(tmp_path.iterdir()) == [first.folder]


def test_damaged_folder_of_the_same_identity_is_replaced(tmp_path: Path) -> None:
    first, _ = build(tmp_path, SHOP)
    (first.folder / "title.posting_impacts.npy").unlink()
    second, index = build(tmp_path, SHOP)
    assert second.folder == first.folder
    assert ids(index, "투자") == [1, 5]
    assert list(tmp_path.iterdir()) == [first.folder]


def test_failed_build_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="book_id 2 comes after 5"):
        build_keyword_index(tmp_path, [frame(SHOP[2:3]), frame(SHOP[1:2])], SplitAtSpaces())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("books", [[], [(3, "?!", None, None)]])
def test_index_without_words_opens_and_finds_nothing(tmp_path: Path, books: list[Book]) -> None:
    _, index = build(tmp_path, books)
    assert len(index) == len(books)
    assert ids(index, "투자") == []
    again, _ = build(tmp_path / "next", SHOP, previous=index)
    fresh, _ = build(tmp_path / "fresh", SHOP)
    assert files(again.folder) == files(fresh.folder)


def test_arrays_are_mapped_read_only(index: KeywordIndex) -> None:
    for array in (index.book_ids, index.array("posting_impacts", Field.TITLE)):
        assert isinstance(array.base, np.memmap)
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize("name", ["title.posting_documents.npy", "book_ids.npy", "digests.npy"])
def test_file_cut_short_is_named_with_the_remedy(index: KeywordIndex, name: str) -> None:
    path = index.folder / name
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(Unavailable, match=rf"{name}.*lifehelper build"):
        KeywordIndex.open(index.folder)


def test_missing_folder_file_or_description_is_unavailable(
    index: KeywordIndex, tmp_path: Path
) -> None:
    with pytest.raises(Unavailable, match=r"meta\.json"):
        KeywordIndex.open(tmp_path / "nowhere")
    (index.folder / "author.vocabulary.npy").unlink()
    with pytest.raises(Unavailable, match=r"author\.vocabulary\.npy"):
        KeywordIndex.open(index.folder)
    (index.folder / "meta.json").write_text('{"format_version": 99}', encoding="utf-8")
    with pytest.raises(Unavailable, match="format version 99"):
        KeywordIndex.open(index.folder)


def test_verify_finds_changed_bytes(index: KeywordIndex) -> None:
    index.verify()
    path = index.folder / "title.document_terms.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(Unavailable, match=r"title\.document_terms\.npy.*bytes have changed"):
        index.verify()


@pytest.mark.parametrize("masked", [False, True])
def test_okapi_over_one_field_equals_rank_bm25_on_fixture_titles(
    tmp_path: Path, masked: bool
) -> None:
    books = pl.read_csv(BOOKS, schema_overrides=SCHEMA).sort("book_id")
    analyser = SplitAtSpaces()
    report = build_keyword_index(tmp_path, [books], analyser, bm25=Bm25(formula=Formula.OKAPI))
    index = KeywordIndex.open(report.folder)
    titles = books["title"].to_list()
    reference = RankBm25Engine(index.book_ids, analyser.content_words(titles))
    mask = index.book_ids % 3 == 0 if masked else None
    compared = 0
    for title in titles:
        tokens = QueryTokens(words=tuple(normalize(title).split()))
        found, scores = index.search(tokens, 20, mask, ONE_FIELD)
        expected_ids, expected_scores = reference.search(tokens, 20, mask)
        assert found.tolist() == expected_ids.tolist()
        assert scores.tolist() == expected_scores.tolist()
        compared += len(found)
    assert compared > 500


def test_rank_bm25_over_no_words_finds_nothing() -> None:
    engine = RankBm25Engine(np.array([1, 2]), [[], []])
    found, scores = engine.search(QueryTokens(words=("투자",)), 5)
    assert (len(found), len(scores)) == (0, 0)

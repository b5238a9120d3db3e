"""The reference library as an engine: same answers as the index of the same formula."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from lifehelper_data.domain.search import analyse_query
from lifehelper_data.domain.search.bm25 import Bm25, Formula
from lifehelper_data.models.korean import KoreanAnalyser
from lifehelper_data.stores.keyword_build import build_keyword_index
from lifehelper_data.stores.keyword_index import KeywordIndex
from lifehelper_data.stores.keyword_reference import RankBm25Fields
from tests.integration.build_kit import ROOT


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> KeywordIndex:
    """The fixture shop, indexed by the formula of rank_bm25."""
    books = pl.read_csv(ROOT / "fixtures" / "shop" / "books.csv", infer_schema=False)
    frame = books.select(pl.col("book_id").cast(pl.Int64), "title", "author", "description")
    report = build_keyword_index(
        tmp_path_factory.mktemp("engines"),
        [frame.sort("book_id")],
        KoreanAnalyser(),
        bm25=Bm25(formula=Formula.OKAPI),
    )
    return KeywordIndex.open(report.folder)


@pytest.mark.parametrize("query", ["투자를 시작하는 책", "무릎 운동", "한도윤", "별을 줍는", "!?"])
def test_both_engines_find_the_same_books_with_the_same_scores(
    index: KeywordIndex, query: str
) -> None:
    tokens = analyse_query(query, KoreanAnalyser())
    mask = np.ones(len(index), dtype=np.bool_)
    mask[::3] = False
    reference = RankBm25Fields(index)
    for chosen in (None, mask):
        ids, scores = index.search(tokens, 20, chosen)
        reference_ids, reference_scores = reference.search(tokens, 20, chosen)
        assert ids.tolist() == reference_ids.tolist()
        assert scores == pytest.approx(reference_scores, abs=1e-9)
    for book_id, score in zip(*reference.search(tokens, 3), strict=True):
        parts = reference.explain(int(book_id), tokens)
        assert sum(part.contribution for part in parts) == pytest.approx(score, abs=1e-9)


def test_a_workspace_answers_with_the_configured_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lifehelper_data.runtime.workspace import Workspace
    from lifehelper_data.settings import load_settings
    from tests.integration.build_kit import TinyShop, build

    shop = TinyShop.create(tmp_path / "shop")
    build(tmp_path / "w", shop.mapping, run__search_assets=True)
    searched: list[str] = []
    honest = RankBm25Fields.search

    def counted(self: RankBm25Fields, *given: object) -> object:
        searched.append("rank_bm25")
        return honest(self, *given)  # type: ignore[arg-type]  # forwards what it is given

    monkeypatch.setattr(RankBm25Fields, "search", counted)
    settings = load_settings(None, {}, {"search.keyword_engine": "rank_bm25"})
    with Workspace.open(tmp_path / "w", settings=settings) as opened:
        found = opened.search({"query": "책 7"})
    assert found.results[0].book_id == 7
    assert searched == ["rank_bm25"]

"""What search answers from: two releases side by side, and a release whose parts are gone.

Each test names the line without which it fails.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.runtime.workspace import Workspace
from lifehelper_data.stores.relocate import relocate
from tests.integration.build_kit import build, store
from tests.integration.search_kit import (
    LOAD_QUERY_ENCODER,
    Book,
    SearchShop,
    WordEncoder,
    encoding_with,
    found_ids,
)
from tests.integration.test_search_rules import NOVELS, SMALL


@pytest.fixture(scope="module")
def encoder() -> Iterator[WordEncoder]:
    made = WordEncoder()
    with encoding_with(made):
        yield made


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, encoder: WordEncoder) -> SearchShop:
    made = SearchShop(tmp_path_factory.mktemp("small")).write(SMALL, category_map=NOVELS)
    made.build()
    return made


@pytest.fixture(scope="module")
def small(shop: SearchShop) -> Iterator[Workspace]:
    with shop.open() as opened:
        yield opened


def test_two_releases_side_by_side_answer_each_from_its_own_books(
    tmp_path: Path, encoder: WordEncoder
) -> None:
    made = SearchShop(tmp_path).write([*SMALL], category_map=NOVELS)
    made.build()
    changed = [book for book in SMALL if book.book_id != 4]
    changed += [Book(book_id=9, title="바다 일기", description="새로 나온 바다", price=1)]
    with made.open() as old:
        before = json.dumps(old.search({"query": "바다 일기"}, explain=True).to_dict())
        made.write(changed, category_map=NOVELS).build()
        with made.open() as new, made.open(1) as pinned:
            assert (old.release.number, new.release.number) == (1, 2)
            assert found_ids(old, "바다 일기")[0] == found_ids(pinned, "바다 일기")[0] == 4
            assert found_ids(new, "바다 일기")[0] == 9
            assert 9 not in found_ids(old, "바다 일기", size=50)
            assert 4 not in found_ids(new, "바다 일기", size=50)
            assert new.search({"query": "바다"}).release_id == 2
            again = json.dumps(old.search({"query": "바다 일기"}, explain=True).to_dict())
            opened_later = json.dumps(pinned.search({"query": "바다 일기"}, explain=True).to_dict())
    assert before == again == opened_later


@pytest.fixture
def damaged(shop: SearchShop, tmp_path: Path) -> SearchShop:
    """The same workspace in a copy of its own, to be damaged."""
    shutil.copytree(shop.workspace, tmp_path / "workspace")
    releases = store(tmp_path / "workspace")
    with releases.writer_lock().hold() as lock:
        relocate(releases, lock)
    return SearchShop(tmp_path)


def test_without_encoder_the_answer_is_keyword_only(
    small: Workspace, shop: SearchShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unavailable(_settings: object) -> None:
        raise Unavailable("the model cannot be loaded")

    assert small.search({"query": "바다"}).degraded is None
    monkeypatch.setattr(LOAD_QUERY_ENCODER, unavailable)
    with shop.open() as opened:
        response = opened.search({"query": "바다"}, explain=True)
    assert response.degraded == "keyword-only"
    legs = {leg.leg for r in response.results if r.explanation for leg in r.explanation.legs}
    assert legs == {"keyword"}


def test_without_the_stored_vectors_the_answer_is_keyword_only(damaged: SearchShop) -> None:
    # with `except Unavailable` alone in `_vector_leg`: NotFound
    for path in (damaged.workspace / "vectors").glob("books-*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    with damaged.open() as opened:
        opened.search_engine().preload()
        response = opened.search({"query": "바다"})
    assert response.degraded == "keyword-only"
    assert {r.book_id for r in response.results} == {2, 4, 5, 6, 7}  # 2: its author


@pytest.mark.parametrize("gone", ["books-*.lance/_versions/*", "books-*.snapshots/*"])
def test_either_copy_of_the_vectors_suffices_for_the_whole_answer(
    damaged: SearchShop, small: Workspace, gone: str
) -> None:
    paths = list((damaged.workspace / "vectors").glob(gone))
    assert paths
    for path in paths:
        path.unlink()
    with damaged.open() as opened:
        response = opened.search({"query": "바다"})
    assert response.to_dict() == small.search({"query": "바다"}).to_dict()


def test_without_the_keyword_index_search_fails_whatever_the_vectors_say(
    damaged: SearchShop,
) -> None:
    shutil.rmtree(damaged.workspace / "keyword" / "books_keyword")
    with damaged.open() as opened, pytest.raises(Unavailable, match="lifehelper build"):
        opened.search({"query": "바다"})


def test_a_release_of_tables_only_says_how_to_get_an_index(
    shop: SearchShop, tmp_path: Path
) -> None:
    build(tmp_path / "w", shop.folder / "source.toml")
    with (
        Workspace.open(tmp_path / "w") as opened,
        pytest.raises(Unavailable, match=r"run\.search_assets"),
    ):
        opened.search({"query": "바다"})


def test_a_shop_without_descriptions_is_searched_by_keyword_only(
    tmp_path: Path, encoder: WordEncoder
) -> None:
    made = SearchShop(tmp_path).write([Book(book_id=1, title="바다 일기")])
    made.build()
    with made.open() as opened:
        response = opened.search({"query": "바다"})
    assert ([r.book_id for r in response.results], response.degraded) == ([1], "keyword-only")

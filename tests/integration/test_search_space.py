"""A release is searched with the model it was built with, or refused by name."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.models.load import EncoderSettings, load_document_encoder
from lifehelper_data.runtime.workspace import Workspace
from lifehelper_data.settings import Settings, load_settings
from tests.integration.search_kit import Book, SearchShop, WordEncoder, encoding_with
from tests.integration.test_encoder_folder import tiny_model

BOOKS = [
    Book(book_id=1, title="책", description="시"),
    Book(book_id=2, title="시", description="책"),
]


def with_model(model: Path | str) -> Settings:
    return load_settings(None, {}, {"encoder.model": str(model)})


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model"), prompts={"query": "q", "document": "d"})


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Iterator[SearchShop]:
    made = SearchShop(tmp_path_factory.mktemp("spaces")).write(BOOKS)
    with encoding_with(WordEncoder()):
        made.build()
    made.build(encoder__model=str(model))
    yield made


def test_each_release_holds_the_vectors_of_its_own_model(shop: SearchShop, model: Path) -> None:
    space = load_document_encoder(EncoderSettings(model=str(model))).space
    with shop.open(1) as one, shop.open(2) as two:
        facts = [opened.facts for opened in (one, two)]
        assert [f["vector_dim"] for f in facts] == [384, 32]
        assert facts[1]["vector_space_id"] == space.vector_space_id
        assert facts[0]["vector_space_id"] != facts[1]["vector_space_id"]
        found = two.search({"query": "책"}, explain=True)  # with the settings of the release
    assert found.degraded is None
    assert found.results[0].book_id == 1


@pytest.mark.parametrize("preloaded", [False, True])
def test_a_model_of_another_dim_is_refused_with_both_spaces_and_the_remedy(
    shop: SearchShop, model: Path, preloaded: bool
) -> None:  # without `_require_space`: a query of 32 numbers meets vectors of 384
    space = load_document_encoder(EncoderSettings(model=str(model))).space
    with Workspace.open(shop.workspace, 1, settings=with_model(model)) as opened:
        with pytest.raises(InvalidRequest, match="use the model it was built with") as refused:
            if preloaded:
                opened.search_engine().preload()
            opened.search({"query": "책"})
        stored = str(opened.facts["vector_space_id"])
    assert refused.value.field == "encoder.model"
    for named in (space.vector_space_id, "dim 32", stored, "dim 384", "lifehelper build"):
        assert named in str(refused.value)


def test_a_model_of_equal_dim_and_other_weights_is_refused_too(
    shop: SearchShop, tmp_path: Path
) -> None:  # with a comparison of dims alone: cosines of two spaces, silently
    other = tiny_model(tmp_path / "other", seed=1, prompts={"query": "q", "document": "d"})
    with (
        Workspace.open(shop.workspace, 2, settings=with_model(other)) as opened,
        pytest.raises(InvalidRequest, match=r"dim 32.*dim 32"),
    ):
        opened.search({"query": "책"})


def test_other_prompts_are_another_space(shop: SearchShop, tmp_path: Path) -> None:
    other = tiny_model(tmp_path / "other", prompts={"query": "", "document": ""})
    with (
        Workspace.open(shop.workspace, 2, settings=with_model(other)) as opened,
        pytest.raises(InvalidRequest, match="use the model it was built with"),
    ):
        opened.search({"query": "책"})

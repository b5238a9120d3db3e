"""The committed vectors are those of the committed texts, by the default encoder."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from fixtures.vectors.make_vectors import release_texts
from lifehelper_data.domain.embedding_text import book_text, habit_text
from lifehelper_data.domain.ids import text_id
from lifehelper_data.models.encoder import row_cosines, unit_rows
from lifehelper_data.models.load import EncoderSettings, load_document_encoder
from lifehelper_data.runtime.workspace import Workspace, open_store
from lifehelper_data.stores.layout import Layout
from tests.integration.search_kit import FIXTURE_VECTORS, CommittedVectors, built_fixture_shop

NAMES = ("books", "habits", "presets")
COUNTS = {"books": 450, "habits": 65, "presets": 53}
SAMPLED = {"books": 30, "habits": 20, "presets": 10}
MIN_COSINE = 0.995


def committed(name: str) -> dict[str, npt.NDArray[Any]]:
    with np.load(FIXTURE_VECTORS / f"{name}.npz", allow_pickle=False) as file:
        return dict(file)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_fixture_shop(tmp_path_factory)


@pytest.fixture(scope="module")
def texts(workspace: Path) -> dict[str, list[str]]:
    """The texts that were embedded, in the order of the committed vectors."""
    with Workspace.open(workspace) as opened:
        books = opened.table("books").filter(opened.table("books")["description"].is_not_null())
        habits = opened.table("habit_catalog")
        of_book = {b: book_text(t, d) for b, t, d in books.select(
            "book_id", "title", "description").iter_rows()}  # fmt: skip
        of_habit = {text_id(i): habit_text(t, s) for i, t, s in habits.select(
            "item_id", "title", "summary").iter_rows()}  # fmt: skip
    return {
        "books": [of_book[item] for item in committed("books")["ids"].tolist()],
        "habits": [of_habit[item] for item in committed("habits")["ids"].tolist()],
        "presets": committed("presets")["names"].tolist(),
    }


def least_cosine(texts: dict[str, list[str]], step: dict[str, int]) -> float:
    """Encode every `step`-th text and return the smallest cosine with what is committed."""
    encoder = load_document_encoder(EncoderSettings())
    least = 1.0
    for name in NAMES:
        encode = encoder.encode_queries if name == "presets" else encoder.encode_documents
        rows = unit_rows(committed(name)["vectors"][:: step[name]].astype(np.float32))
        least = min(least, float(row_cosines(encode(texts[name][:: step[name]]), rows).min()))
    return least


def test_ids_names_and_text_digests_are_those_of_the_committed_texts(workspace: Path) -> None:
    with open_store(workspace).open() as reader:
        meant = release_texts(Layout(workspace.resolve()), reader)
    for name in NAMES:
        kept = committed(name)
        assert len(kept["digests"]) == COUNTS[name]
        assert set(kept) == {*meant[name], "vectors"}
        for column, values in meant[name].items():
            assert np.array_equal(kept[column], values), (name, column)


def test_vectors_are_float16_of_length_one_and_small(workspace: Path) -> None:
    total = 0
    for name in NAMES:
        vectors = committed(name)["vectors"]
        assert str(vectors.dtype) == "float16"
        assert vectors.shape == (COUNTS[name], 384)
        lengths = np.linalg.norm(vectors.astype(np.float32), axis=1)
        assert np.abs(lengths - 1).max() < 1e-3
        total += (FIXTURE_VECTORS / f"{name}.npz").stat().st_size
    assert total < 600_000


def test_a_sample_encoded_again_gives_the_committed_vectors(texts: dict[str, list[str]]) -> None:
    step = {name: COUNTS[name] // SAMPLED[name] for name in NAMES}
    assert sum(len(texts[name][:: step[name]]) for name in NAMES) >= 60
    assert least_cosine(texts, step) >= MIN_COSINE


@pytest.mark.full
def test_all_encoded_again_give_the_committed_vectors(texts: dict[str, list[str]]) -> None:
    assert least_cosine(texts, dict.fromkeys(NAMES, 1)) >= MIN_COSINE


def test_a_changed_text_is_noticed(texts: dict[str, list[str]]) -> None:
    encoder = CommittedVectors()
    assert encoder.encode_documents(texts["books"][:1]).shape == (1, 384)
    with pytest.raises(AssertionError, match="make_vectors"):
        encoder.encode_documents([texts["books"][0] + "."])
    with pytest.raises(AssertionError, match="make_vectors"):  # the prompt is part of the digest
        encoder.encode_queries(texts["books"][:1])


def test_the_scale_of_the_fixture_shop_has_room_between_floor_and_ceiling(workspace: Path) -> None:
    with Workspace.open(workspace) as opened:
        (row,) = opened.table("similarity_calibration").to_dicts()
        assert row["vectors_digest"] == opened.release.content.artifacts["books_vectors"].identity
        assert row["vector_space_id"] == opened.facts["vector_space_id"]
    assert 0.6 < row["floor"] < row["ceiling"] < 1

"""The life of embeddings with the real encoder: killed, resumed, changed, rebuilt, searched."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from lifehelper_data.domain.embedding_text import book_text
from lifehelper_data.models import load
from lifehelper_data.models.load import EncoderSettings
from lifehelper_data.models.sentence_encoder import SentenceEncoder
from tests.integration.build_kit import identities, store
from tests.integration.search_kit import (
    LOAD_BATCH_ENCODER,
    Book,
    SearchShop,
    artifact_identities,
    nothing_loaded,
    report_of,
)
from tests.integration.vector_kit import environment

ABOUT = (
    "등대지기가 들려주는 바다의 밤",
    "처음 투자하는 사람을 위한 주식 안내",
    "고양이와 함께 사는 법",
    "은퇴한 형사가 사라진 책을 쫓는다. 마을 도서관에서 시작된 사건은 오래된 화재와 이어진다",
    "매일 십 분 명상",
    "조선 왕실의 밥상",
    "파이썬으로 배우는 통계",
    "혼자 떠난 아이슬란드",
)
BOOKS = [Book(book_id=n, title=f"책 {n}", description=text) for n, text in enumerate(ABOUT, 1)]

KILLED = """
import os, signal, sys
from pathlib import Path
from lifehelper_data.pipelines import build_embeddings
from lifehelper_data.stores.vectors import VectorTable
from tests.integration.search_kit import SearchShop

build_embeddings.UPSERT_ROWS = 3
upsert = VectorTable.upsert

def upsert_then_die(table, *rows):
    upsert(table, *rows)
    os.kill(os.getpid(), signal.SIGKILL)

VectorTable.upsert = upsert_then_die
SearchShop(Path(sys.argv[1])).build()
"""


class Counting:
    """The real encoder, noting how many texts it embeds."""

    def __init__(self, real: SentenceEncoder) -> None:
        self.real = real
        self.space = real.space
        self.precision = real.precision
        self.texts: list[str] = []

    def encode_documents(self, texts: list[str], progress: None = None) -> np.ndarray:
        self.texts += texts
        return self.real.encode_documents(texts)

    def encode_queries(self, texts: list[str]) -> np.ndarray:
        return self.real.encode_queries(texts)


@pytest.fixture
def encoders(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[int, Counting]]:
    """The encoders that builds load, by batch size; each is loaded once."""
    loaded: dict[int, Counting] = {}

    @cache
    def counted(settings: EncoderSettings) -> Counting:
        loaded[settings.batch_size] = Counting(load.load_document_encoder(settings))
        return loaded[settings.batch_size]

    monkeypatch.setattr(LOAD_BATCH_ENCODER, lambda settings, _texts: counted(settings))
    yield loaded


def test_a_killed_embedding_resumes_and_ends_like_an_uninterrupted_one_of_another_batch_size(
    tmp_path_factory: pytest.TempPathFactory, encoders: dict[int, Counting]
) -> None:
    # with one upsert after all texts are encoded: 8 are left; with floats in an identity: they
    # differ between batch sizes
    shop = SearchShop(tmp_path_factory.mktemp("killed")).write(BOOKS)
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(shop.folder)],
        env=environment(), check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert store(shop.workspace).numbers() == []

    resumed = shop.build()
    shortest_first = sorted(BOOKS, key=lambda b: (len(b.description or ""), b.book_id))
    assert (
        encoders[32].texts == [book_text(b.title, b.description or "") for b in shortest_first][3:]
    )

    with nothing_loaded():
        assert not shop.build().release.published

    other = SearchShop(tmp_path_factory.mktemp("whole")).write(BOOKS)
    whole = other.build(run__encoder_batch=1)
    assert len(encoders[1].texts) == len(BOOKS)
    assert artifact_identities(whole) == artifact_identities(resumed)
    assert identities(whole) == identities(resumed)
    assert whole.release.release.identity == resumed.release.release.identity
    with shop.open() as one, other.open() as two:
        vectors = [opened.search_engine().open_vectors() for opened in (one, two)]
        assert vectors[0] is not None
        assert vectors[1] is not None
        assert vectors[0].item_ids.tolist() == vectors[1].item_ids.tolist()
        assert np.abs(vectors[0].vectors - vectors[1].vectors).max() <= 5e-3
        scale = one.table("similarity_calibration").to_dicts()[0]
        found = one.search({"query": "주식 투자를 배우고 싶어"}, explain=True)
    assert 0 < scale["floor"] < scale["ceiling"] <= 1
    assert found.degraded is None
    assert found.results[0].book_id == 2

    encoders[32].texts.clear()
    changed = [replace(BOOKS[0], description="등대지기의 낮"), *BOOKS[2:]]
    again = shop.write(changed).build()
    assert encoders[32].texts == [book_text("책 1", "등대지기의 낮")]
    assert report_of(again, "embeddings").record.artifacts["books_vectors"].rows == 7
    with shop.open() as opened:
        after = opened.search({"query": "주식 투자를 배우고 싶어", "size": 50})
    assert 2 not in [result.book_id for result in after.results]

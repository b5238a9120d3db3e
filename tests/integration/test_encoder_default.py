"""The default model: torch and light runtime of the same weights, in one cache."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.models import load, sentence_encoder
from lifehelper_data.models.encoder import Encoder, row_cosines
from lifehelper_data.models.load import (
    EncoderSettings,
    load_document_encoder,
    load_query_encoder,
)
from lifehelper_data.models.native_folder import default_space
from lifehelper_data.models.proof import Proof, compared, load_proof, save_proof
from lifehelper_data.models.quantised_encoder import QuantisedEncoder
from lifehelper_data.models.sentence_encoder import SentenceEncoder
from tests.integration.release_kit import python

# lengths from a word to far beyond 512 tokens, not in order
TEXTS = [
    "책",
    "은퇴한 형사가 마을 도서관에서 사라진 책을 쫓는다. " * 4,
    "투자를 처음 시작하는 사람에게",
    "바닷가 마을의 사계절을 담은 흑백 사진집. " * 12,
    "커피",
    "매일 십 분씩 따라 하는 명상 안내서입니다.",
    "세계사를 한 권으로 정리한 책",
]

COLD = """
import sys
from pathlib import Path
from lifehelper_data.models.load import EncoderSettings, load_query_encoder
encoder = load_query_encoder(EncoderSettings(cache_dir=Path(sys.argv[1])))
print(encoder.precision, encoder.encode_queries(["추리소설"]).shape)
heavy = {"torch", "transformers", "sentence_transformers", "tokenizers", "scipy"}
print(sorted(heavy & set(sys.modules)))
"""


class Steps:
    def __init__(self) -> None:
        self.seen: list[tuple[str, int, int | None]] = []

    def step(self, label: str, done: int, total: int | None) -> None:
        self.seen.append((label, done, total))


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("cache")
    yield folder
    shutil.rmtree(folder)  # half a gigabyte that pytest would keep


@pytest.fixture(scope="module")
def fp32(cache: Path) -> SentenceEncoder:
    return load_document_encoder(EncoderSettings(cache_dir=cache, precision="fp32"))


@pytest.fixture(scope="module")
def bf16(cache: Path) -> SentenceEncoder:
    return load_document_encoder(EncoderSettings(cache_dir=cache, precision="bf16"))


@pytest.fixture(scope="module")
def light(cache: Path, fp32: SentenceEncoder) -> Encoder:
    assert fp32.precision == "fp32"  # building the document encoder proved the light one
    return load_query_encoder(EncoderSettings(cache_dir=cache, query_runtime="quantised"))


@pytest.fixture(params=["fp32", "bf16", "light"])
def encoder(request: pytest.FixtureRequest) -> Encoder:
    found: Encoder = request.getfixturevalue(request.param)
    return found


def lengths(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.asarray(np.linalg.norm(vectors.astype(np.float64), axis=1))


def test_vectors_are_float32_of_length_one(encoder: Encoder) -> None:
    for vectors in (encoder.encode_documents(TEXTS), encoder.encode_queries(TEXTS)):
        assert vectors.dtype == np.float32
        assert vectors.shape == (len(TEXTS), 384)
        assert np.abs(lengths(vectors) - 1).max() <= 1e-6


def test_no_texts_give_no_rows(encoder: Encoder) -> None:
    assert encoder.encode_documents([]).shape == (0, 384)
    assert encoder.encode_queries([]).shape == (0, 384)


def test_all_runtimes_are_of_one_space(encoder: Encoder) -> None:
    assert encoder.space == default_space()


def test_encoding_again_gives_the_same_bits(encoder: Encoder) -> None:
    assert np.array_equal(encoder.encode_documents(TEXTS), encoder.encode_documents(TEXTS))


def test_query_and_document_of_one_text_differ(encoder: Encoder) -> None:
    queries, documents = encoder.encode_queries(TEXTS), encoder.encode_documents(TEXTS)
    assert row_cosines(queries, documents).max() < 0.99


def test_rows_stay_with_their_texts_in_any_order(encoder: Encoder) -> None:
    straight = encoder.encode_documents(TEXTS)
    turned = encoder.encode_documents(TEXTS[::-1])[::-1]
    tolerance = 1e-5 if encoder.precision == "fp32" else 5e-3
    assert np.abs(straight - turned).max() <= tolerance
    assert row_cosines(straight, turned).min() >= 0.9999
    assert row_cosines(straight, np.roll(straight, 1, axis=0)).max() < 0.95


def test_one_by_one_equals_all_at_once(encoder: Encoder) -> None:
    together = encoder.encode_documents(TEXTS)
    alone = np.concatenate([encoder.encode_documents([text]) for text in TEXTS])
    tolerance = 1e-5 if encoder.precision == "fp32" else 5e-3
    assert np.abs(together - alone).max() <= tolerance
    assert row_cosines(together, alone).min() >= 0.9999


def test_decomposed_hangul_gives_the_same_vector(encoder: Encoder) -> None:
    same = encoder.encode_queries(["\u1112\u1161\u11ab\u1100\u116e\u11a8", "한국"])
    assert row_cosines(same[:1], same[1:]).min() >= 0.9999


def test_text_beyond_512_tokens_is_cut_off(encoder: Encoder) -> None:
    start = "바닷가 마을의 사계절을 담은 흑백 사진집. " * 60
    ends = encoder.encode_documents([start + "끝에는 파이썬 자료형 이야기. " * 200, start])
    assert row_cosines(ends[:1], ends[1:]).min() >= 0.9999


@pytest.mark.parametrize("runtime", ["bf16", "light"])
def test_runtime_agrees_with_fp32_beyond_the_probes(
    runtime: str, fp32: SentenceEncoder, request: pytest.FixtureRequest
) -> None:
    other: Encoder = request.getfixturevalue(runtime)
    texts = [*TEXTS, "  앞뒤에 \t빈칸\u200b ", "<s>꺾쇠</s>", "nul\0 글자"]
    assert row_cosines(fp32.encode_queries(texts), other.encode_queries(texts)).min() >= 0.995
    assert row_cosines(fp32.encode_documents(texts), other.encode_documents(texts)).min() >= 0.995


def test_every_probe_agrees_across_runtimes(cache: Path, bf16: SentenceEncoder) -> None:
    light, narrow = (load_proof(cache, bf16.space, runtime) for runtime in ("q4", "bf16"))
    assert light is not None
    assert narrow is not None
    assert light.min_cosine >= 0.9995  # measured 0.99988: the weights are the same
    assert narrow.min_cosine >= 0.995  # measured 0.99995


def test_progress_counts_up_to_all_texts(encoder: Encoder) -> None:
    steps = Steps()
    encoder.encode_documents(TEXTS, steps)
    done = [count for _, count, _ in steps.seen]
    assert done == sorted(done)
    assert steps.seen[-1] == ("embedding", len(TEXTS), len(TEXTS))


def test_number_of_threads_does_not_outlive_the_call(cache: Path) -> None:
    before = torch.get_num_threads()
    settings = EncoderSettings(cache_dir=cache, precision="fp32", threads=1)
    one = load_document_encoder(settings)
    assert one.encode_queries(["책"]).shape == (1, 384)
    assert torch.get_num_threads() == before


def test_cold_light_path_loads_no_torch(cache: Path, light: Encoder) -> None:
    assert light.precision == "q4"
    out, _ = python(COLD, str(cache)).communicate(timeout=60)
    assert out == "q4 (1, 384)\n[]\n"


def test_auto_uses_torch_once_and_the_light_runtime_after(
    cache: Path, fp32: SentenceEncoder
) -> None:
    proof = load_proof(cache, fp32.space, "q4")
    assert proof is not None
    (cache / "encoders" / f"{fp32.space.vector_space_id}.q4.json").unlink()
    first = load_query_encoder(EncoderSettings(cache_dir=cache, precision="fp32"))
    second = load_query_encoder(EncoderSettings(cache_dir=cache, precision="fp32"))
    assert (first.precision, second.precision) == ("fp32", "q4")


def test_auto_is_fp32_without_bf16_in_the_processor(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentence_encoder, "has_native_bf16", lambda: False)
    assert load_document_encoder(EncoderSettings(cache_dir=cache)).precision == "fp32"
    monkeypatch.setattr(sentence_encoder, "has_native_bf16", lambda: True)
    assert load_document_encoder(EncoderSettings(cache_dir=cache)).precision == "bf16"


def failed(proof: Proof) -> Proof:
    return replace(proof, min_cosine=0.9949)


def test_bf16_that_failed_its_proof_is_not_used(
    cache: Path, bf16: SentenceEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentence_encoder, "has_native_bf16", lambda: True)
    proof = load_proof(cache, bf16.space, "bf16")
    assert proof is not None
    try:
        save_proof(cache, failed(proof))
        assert load_document_encoder(EncoderSettings(cache_dir=cache)).precision == "fp32"
        with pytest.raises(InvalidRequest, match=r"smallest cosine with float32 is 0\.994900"):
            load_document_encoder(EncoderSettings(cache_dir=cache, precision="bf16"))
    finally:
        save_proof(cache, proof)


def test_bf16_is_measured_where_no_proof_is_kept(
    cache: Path, bf16: SentenceEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = load_proof(cache, bf16.space, "bf16")
    assert kept is not None
    (cache / "encoders" / f"{bf16.space.vector_space_id}.bf16.json").unlink()
    monkeypatch.setattr(load, "compared", lambda *given: failed(compared(*given)))
    monkeypatch.setattr(sentence_encoder, "has_native_bf16", lambda: True)
    try:
        encoder = load_document_encoder(EncoderSettings(cache_dir=cache))
        assert encoder.precision == "fp32"
        vectors = encoder.encode_queries(["책"])
        fresh = load_document_encoder(EncoderSettings(cache_dir=cache, precision="fp32"))
        assert np.array_equal(vectors, fresh.encode_queries(["책"]))
    finally:
        save_proof(cache, kept)


def test_light_documents_are_cut_like_the_native_ones(light: Encoder) -> None:
    assert isinstance(light, QuantisedEncoder)
    text = "파이썬 자료형 이야기. " * 300
    short = light._shortened(text, False)
    assert 0 < len(short) < len(text)
    assert light._engine.tokens(short, False) <= 512
    assert light._engine.tokens(text[: len(short) + 1], False) > 512

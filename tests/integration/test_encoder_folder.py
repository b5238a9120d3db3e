"""Models given by folder or hub id: a tiny BERT with random weights, made here."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel

from lifehelper_data.domain.errors import InvalidRequest, Unavailable
from lifehelper_data.models.encoder import VectorSpace, check_space, row_cosines
from lifehelper_data.models.load import EncoderSettings, load_document_encoder, load_query_encoder
from lifehelper_data.models.model_folder import weights_revision
from lifehelper_data.models.native_folder import default_space

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "q", "d", "책", "시", "소설"]


def tiny_model(folder: Path, *, seed: int = 0, prompts: dict[str, str] | None = None) -> Path:
    """A sentence-transformers folder of 32 dimensions, pooled by the first token."""
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        initializer_range=0.5,
    )
    BertModel(config).save_pretrained(folder)
    words = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))  # noqa: S106 - no password
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]"}
    put(folder, "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", **special})
    types = ["Transformer", "Pooling"]
    put(
        folder,
        "modules.json",
        [
            {
                "idx": at,
                "name": str(at),
                "path": "1_Pooling" * at,
                "type": f"sentence_transformers.models.{name}",
            }
            for at, name in enumerate(types)
        ],
    )
    (folder / "1_Pooling").mkdir()
    put(
        folder,
        "1_Pooling/config.json",
        {"word_embedding_dimension": 32, "pooling_mode_cls_token": True},
    )
    put(folder, "config_sentence_transformers.json", {"prompts": prompts or {}})
    return folder


def put(folder: Path, name: str, value: object) -> None:
    (folder / name).write_text(json.dumps(value))


def settings(folder: Path, cache: Path, **changed: object) -> EncoderSettings:
    made = EncoderSettings(model=str(folder), cache_dir=cache, precision="fp32")
    return replace(made, **changed)  # type: ignore[arg-type]  # the name is a parameter here


def test_folder_names_its_own_space(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "m", prompts={"query": "q ", "document": "d "})
    encoder = load_document_encoder(settings(folder, tmp_path / "cache"))
    assert encoder.space == VectorSpace(
        weights_revision=weights_revision(folder),
        dim=32,
        pooling="cls",
        query_prompt="q ",
        document_prompt="d ",
    )
    assert encoder.encode_documents(["책 소설", "시"]).shape == (2, 32)


def test_queries_of_a_folder_go_through_torch(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "m")
    encoder = load_query_encoder(settings(folder, tmp_path / "cache"))
    assert (encoder.precision, encoder.encode_queries(["책"]).shape) == ("fp32", (1, 32))


def test_prompt_is_what_is_put_before_the_text(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "m")
    plain = load_document_encoder(settings(folder, tmp_path / "cache"))
    prompted = load_document_encoder(
        settings(folder, tmp_path / "cache", query_prompt="q ", document_prompt="d ")
    )
    assert np.array_equal(prompted.encode_queries(["책"]), plain.encode_queries(["q 책"]))
    assert np.array_equal(prompted.encode_documents(["책"]), plain.encode_queries(["d 책"]))
    assert prompted.space.vector_space_id != plain.space.vector_space_id


def test_other_weights_are_another_space(tmp_path: Path) -> None:
    first = tiny_model(tmp_path / "a", seed=1)
    second = tiny_model(tmp_path / "b", seed=2)
    a, b = (load_document_encoder(settings(f, tmp_path / "cache")) for f in (first, second))
    with pytest.raises(InvalidRequest, match="weights_revision"):
        check_space(a.space, b.space)


def test_folder_of_another_dim_is_refused_for_stored_vectors(tmp_path: Path) -> None:
    encoder = load_document_encoder(settings(tiny_model(tmp_path / "m"), tmp_path / "cache"))
    with pytest.raises(InvalidRequest, match=r"dim 32 against 384.*`lifehelper build`"):
        check_space(encoder.space, default_space())


def test_bf16_of_a_folder_is_proven_before_it_is_used(tmp_path: Path) -> None:
    folder, cache = tiny_model(tmp_path / "m"), tmp_path / "cache"
    wide = load_document_encoder(settings(folder, cache))
    narrow = load_document_encoder(settings(folder, cache, precision="bf16"))
    texts = ["책", "시 소설", "소설 소설 책"]
    assert narrow.precision == "bf16"
    assert (cache / "encoders" / f"{narrow.space.vector_space_id}.bf16.json").is_file()
    difference = np.abs(narrow.encode_queries(texts) - wide.encode_queries(texts)).max()
    assert 0 < difference < 0.05
    assert row_cosines(narrow.encode_queries(texts), wide.encode_queries(texts)).min() >= 0.995


def test_model_of_word_vectors_only_is_encoded_too(tmp_path: Path) -> None:
    words = tiny_model(tmp_path / "m") / "tokenizer.json"
    static = StaticEmbedding(
        Tokenizer.from_file(str(words)),
        embedding_weights=np.eye(len(WORDS), dtype=np.float32),
    )
    SentenceTransformer(modules=[static], device="cpu").save(str(tmp_path / "static"))
    encoder = load_document_encoder(settings(tmp_path / "static", tmp_path / "cache"))
    assert (encoder.space.dim, encoder.space.pooling) == (len(WORDS), "staticembedding")
    # one hot vector per word, averaged: "시 소설" lies halfway between "시" and "소설"
    vectors = encoder.encode_documents(["시", "시 소설", "소설"])
    assert float(vectors[1] @ vectors[0]) == pytest.approx(float(vectors[1] @ vectors[2]))
    assert float(vectors[1] @ vectors[0]) == pytest.approx(0.5**0.5, abs=1e-6)


def test_damaged_weights_are_unavailable_with_a_remedy(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "m")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(Unavailable, match=r"cannot load the model folder.*remove it"):
        load_document_encoder(settings(folder, tmp_path / "cache"))


def test_hub_model_without_network_is_unavailable_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    offline = EncoderSettings(model="intfloat/multilingual-e5-small", cache_dir=tmp_path)
    with pytest.raises(Unavailable, match=r"'intfloat/multilingual-e5-small'.*connect to the"):
        load_document_encoder(offline)

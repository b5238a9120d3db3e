"""The default model as an ordinary sentence-transformers folder, made from the packed weights."""

import json
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lifehelper_data.models.cache import made_once
from lifehelper_data.models.charsmap import compiled_charsmap
from lifehelper_data.models.encoder import MAX_TOKENS, VectorSpace
from lifehelper_data.models.packed_e5 import (
    WEIGHTS_FILE,
    PackedModel,
    package_folder,
    packed_revision,
    read_packed,
)

DEFAULT_MODEL: Final = "multilingual-e5-small"
QUERY_PROMPT: Final = "query: "
DOCUMENT_PROMPT: Final = "passage: "
DIM: Final = 384
_FOLDER_FORMAT: Final = 1  # raise it when this module writes other files

_SPECIAL: Final = {
    "bos_token": "<s>",
    "cls_token": "<s>",
    "eos_token": "</s>",
    "sep_token": "</s>",
    "pad_token": "<pad>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}
_EMBEDDINGS: Final = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}
_LAYER: Final = {
    "q.w": "attention.self.query.weight",
    "q.b": "attention.self.query.bias",
    "k.w": "attention.self.key.weight",
    "k.b": "attention.self.key.bias",
    "v.w": "attention.self.value.weight",
    "v.b": "attention.self.value.bias",
    "ao.w": "attention.output.dense.weight",
    "ao.b": "attention.output.dense.bias",
    "aln.w": "attention.output.LayerNorm.weight",
    "aln.b": "attention.output.LayerNorm.bias",
    "fi.w": "intermediate.dense.weight",
    "fi.b": "intermediate.dense.bias",
    "fo.w": "output.dense.weight",
    "fo.b": "output.dense.bias",
    "oln.w": "output.LayerNorm.weight",
    "oln.b": "output.LayerNorm.bias",
}


def default_space() -> VectorSpace:
    """Return the default model's space, the same for every runtime of the packed weights.

    Raises:
        Unavailable: the package with the weights is not installed.
    """
    return VectorSpace(
        weights_revision=packed_revision(package_folder() / WEIGHTS_FILE),
        dim=DIM,
        pooling="mean",
        query_prompt=QUERY_PROMPT,
        document_prompt=DOCUMENT_PROMPT,
    )


def default_model_folder(cache: Path) -> Path:
    """Return the folder of the default model, made on first use (about 470 MB, some seconds).

    Args:
        cache: the cache folder.

    Raises:
        Unavailable: the weights are missing or unreadable, or the cache cannot be written.
    """
    packed = package_folder() / WEIGHTS_FILE
    revision = packed_revision(packed)
    target = cache / "encoders" / f"{DEFAULT_MODEL}-{revision[:16]}-v{_FOLDER_FORMAT}"
    return made_once(target, lambda folder: write_native_folder(read_packed(packed), folder))


def write_native_folder(model: PackedModel, folder: Path) -> None:
    """Write weights, tokenizer and module list into an empty folder."""
    from safetensors.numpy import save_file

    weights = folder / "model.safetensors"
    save_file(_named_tensors(model), weights, metadata={"format": "pt"})
    weights.chmod(0o644)  # the library writes it for its owner only; a cache may be shared
    _write_tokenizer(model, folder)
    (folder / "1_Pooling").mkdir()
    shape = model.shape
    files: dict[str, object] = {
        "config.json": {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "hidden_act": "gelu",
            "hidden_size": shape.hidden,
            "num_hidden_layers": shape.layers,
            "num_attention_heads": shape.heads,
            "intermediate_size": shape.inner,
            "vocab_size": shape.words,
            "max_position_embeddings": shape.positions,
            "type_vocab_size": shape.types,
            "layer_norm_eps": shape.epsilon,
            "hidden_dropout_prob": 0.0,
            "attention_probs_dropout_prob": 0.0,
            "pad_token_id": 1,
            "dtype": "float32",
        },
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": _module("Transformer")},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": _module("Pooling")},
            {"idx": 2, "name": "2", "path": "2_Normalize", "type": _module("Normalize")},
        ],
        "sentence_bert_config.json": {"max_seq_length": MAX_TOKENS, "do_lower_case": False},
        "1_Pooling/config.json": {
            "word_embedding_dimension": shape.hidden,
            "pooling_mode_mean_tokens": True,
        },
        "config_sentence_transformers.json": {
            "prompts": {"query": QUERY_PROMPT, "document": DOCUMENT_PROMPT},
            "similarity_fn_name": "cosine",
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": MAX_TOKENS,
            "clean_up_tokenization_spaces": False,
            "split_special_tokens": True,  # "<s>" in a text is text
            **_SPECIAL,
        },
    }
    for name, value in files.items():
        (folder / name).write_text(json.dumps(value, indent=1), encoding="utf-8")


def _module(name: str) -> str:
    return f"sentence_transformers.models.{name}"


def _named_tensors(model: PackedModel) -> dict[str, NDArray[np.float32]]:
    shape = model.shape
    names = dict(_EMBEDDINGS)
    for layer in range(shape.layers):
        for packed, native in _LAYER.items():
            names[f"l{layer}.{packed}"] = f"encoder.layer.{layer}.{native}"
    widths = {"fo.w": shape.inner}
    # never used, but a model without it is reported as incomplete on every load
    found = {
        "pooler.dense.weight": np.zeros((shape.hidden, shape.hidden), dtype=np.float32),
        "pooler.dense.bias": np.zeros(shape.hidden, dtype=np.float32),
    }
    for packed, native in names.items():
        values = model.tensors[packed]
        if native.endswith("weight") and "LayerNorm" not in native:
            values = values.reshape(-1, widths.get(packed.partition(".")[2], shape.hidden))
        found[native] = np.ascontiguousarray(values)
    return found


def _write_tokenizer(model: PackedModel, folder: Path) -> None:
    from tokenizers import (
        AddedToken,
        Regex,
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
    )

    ids = {text: number for number, (text, _) in enumerate(model.pieces)}
    tokenizer = Tokenizer(models.Unigram(model.pieces, unk_id=ids["<unk>"], byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(compiled_charsmap(model.character_map)),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always"),
        ]
    )
    tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", ids["<s>"]), ("</s>", ids["</s>"])],
    )
    tokenizer.add_special_tokens(
        [
            AddedToken(text, special=True, normalized=False)
            for text in sorted(set(_SPECIAL.values()))
        ]
    )
    tokenizer.save(str(folder / "tokenizer.json"))

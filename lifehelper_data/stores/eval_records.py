"""What an evaluation run says about itself, and the rows it stores."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, TypeAlias

from lifehelper_data.domain.errors import FormatVersionError

Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | int | float | bool | None"
"""A value that JSON can hold; no NaN, no infinity."""

EVAL_FORMAT: Final = 1
"""Version of the layout of a stored run."""


def canonical(value: Json) -> str:
    """Return a value as JSON: keys sorted, no spaces, equal values give equal texts.

    Raises:
        ValueError: it holds NaN or an infinity.

    >>> canonical({"b": [1, 2.5], "a": "가"})
    '{"a":"가","b":[1,2.5]}'
    """
    return json.dumps(
        value, ensure_ascii=False, sort_keys=True, allow_nan=False, separators=(",", ":")
    )


def digest_of(value: Json) -> str:
    """Return the sha256 of a value's canonical text."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


class RunStatus(StrEnum):
    """How far a run has come."""

    RUNNING = "running"  # at work, or killed: it can be resumed
    STOPPED = "stopped"  # the cost limit was reached; what is left counts as missing
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePin:
    """The release a run reads.

    Attributes:
        number: its number.
        identity: identity of its rows and indexes.
        bytes: hash over the hashes of all its files.
    """

    number: int
    identity: str
    bytes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPins:
    """Everything that decides the rows of a run. Equal pins give equal rows, timings aside.

    Attributes:
        suite: name of the suite.
        case_set: digest of the cases.
        seed: seed of samples, references and resampling.
        code_version: version of the package with a short hash of its source.
        code_hash: hash of the package's source.
        release: the release, or None for a suite that reads none.
        vector_space: id of the release's vector space; None without vectors.
        provider: who answered as language model: none, rules, recorded or live.
        model: its model id; None without a language model.
        prompts: prompt id -> version.
        tunables: every tunable, JSON-ready.
        systems: what was asked, in order, reference systems last.
    """

    suite: str
    case_set: str
    seed: int
    code_version: str
    code_hash: str
    release: ReleasePin | None
    vector_space: str | None
    provider: str
    model: str | None
    prompts: Mapping[str, str]
    tunables: Mapping[str, Json]
    systems: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the pins JSON-ready."""
        return {**asdict(self), "systems": list(self.systems)}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> "RunPins":
        """Read what `to_dict` gave."""
        release = value["release"]
        return cls(
            **{
                **value,
                "systems": tuple(value["systems"]),
                "release": None if release is None else ReleasePin(**release),
            }
        )

    @property
    def digest(self) -> str:
        """Digest of all pins."""
        return digest_of(self.to_dict())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """The head of a run: `run.json`.

    Attributes:
        run_id: its id; ids sort by time.
        created_at: when it began, UTC.
        finished_at: when it ended; None while it is running or after it was killed.
        status: how far it has come.
        label: what its owner calls it.
        pins: what decides its rows.
        cases: how many cases it has, repeats left out.
        max_cost: cost limit it was last given; None without one.
        facts: what else is shown: question, kind of data, file of the cases, repeated cases,
            notes, references that do not apply with their reasons.
    """

    run_id: str
    created_at: datetime
    finished_at: datetime | None = None
    status: RunStatus = RunStatus.RUNNING
    label: str | None = None
    pins: RunPins
    cases: int
    max_cost: float | None = None
    facts: Mapping[str, Json] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the head JSON-ready."""
        return {
            "format": EVAL_FORMAT,
            "run_id": self.run_id,
            "created_at": self.created_at.isoformat(),
            "finished_at": None if self.finished_at is None else self.finished_at.isoformat(),
            "status": str(self.status),
            "label": self.label,
            "cases": self.cases,
            "max_cost": self.max_cost,
            "pins_digest": self.pins.digest,
            "pins": self.pins.to_dict(),
            "facts": dict(self.facts),
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> "RunRecord":
        """Read what `to_dict` gave.

        Raises:
            FormatVersionError: another version of this package wrote it.
        """
        if value["format"] != EVAL_FORMAT:
            raise FormatVersionError(
                f"eval run {value['run_id']!r} has format {value['format']!r} and this package "
                f"reads {EVAL_FORMAT}; open it with the version that wrote it, or run it again"
            )
        finished = value["finished_at"]
        return cls(
            run_id=value["run_id"],
            created_at=datetime.fromisoformat(value["created_at"]),
            finished_at=None if finished is None else datetime.fromisoformat(finished),
            status=RunStatus(value["status"]),
            label=value["label"],
            pins=RunPins.from_dict(value["pins"]),
            cases=value["cases"],
            max_cost=value["max_cost"],
            facts=value["facts"],
        )

"""Cases: what systems are asked, and the set of them that a run pins."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from lifehelper_data.stores.eval_records import Json, canonical, digest_of
from lifehelper_data.stores.eval_users import UserDigest, user_ids_in


class DataKind(StrEnum):
    """Where cases come from. Titles say it; headline quality needs one of the last two."""

    GENERATED = "generated"
    LABELLED = "labelled"
    REAL_TEXT = "real text"
    REAL_BEHAVIOUR = "real behaviour"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A part of a case that is scored on its own, such as one claim of a draft.

    Attributes:
        unit_id: its name within the case, not empty.
        slices: slice name -> value, beside those of the case.
    """

    unit_id: str
    slices: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One thing to ask every system.

    Attributes:
        case_id: its key; runs are paired on it.
        family: cases of one family depend on each other (queries made from one book, turns of one
            user) and are resampled together.
        input: what the system is asked, JSON-ready. Two cases with equal inputs are one case.
        target: what is known of the right answer. For the scorer; no system under test reads it.
        slices: slice name -> value.
        units: parts that are scored on their own; known before anything is generated, so that a
            case without an output has as many missing units as it would have had values.
        note: why it was labelled so.
    """

    case_id: str
    family: str
    input: Json
    target: Json = None
    slices: Mapping[str, str] = field(default_factory=dict)
    units: tuple[Unit, ...] = ()
    note: str = ""

    @property
    def digest(self) -> str:
        """Digest of what decides its scores: all but its id, family and note."""
        units: list[Json] = [[u.unit_id, dict(u.slices)] for u in self.units]
        return digest_of([self.input, self.target, dict(self.slices), units])

    def hidden(self, users: UserDigest) -> "Case":
        """Return the case as it is stored: digests instead of user ids, in every text."""
        ids = user_ids_in(self.input) | user_ids_in(self.target)
        return replace(
            self,
            case_id=users.hide_in_text(self.case_id, ids),
            family=users.hide_in_text(self.family, ids),
            input=users.hide(self.input),
            target=users.hide(self.target),
            note=users.hide_in_text(self.note, ids),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """A case that was left out because it is there already.

    Attributes:
        case_id: id of the repeat.
        kept: id of the case that stays: the first one.
        reason: what is the same.
    """

    case_id: str
    kept: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSet:
    """The cases of a run, each once.

    Attributes:
        kind: where they come from.
        cases: in a fixed order, ids and inputs unique.
        repeats: what was left out, in the order it was met.
        notes: what else a reader must know, such as books that no query could be made from.
    """

    kind: DataKind
    cases: tuple[Case, ...]
    repeats: tuple[Repeat, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, kind: DataKind, cases: Iterable[Case], notes: Sequence[str] = ()) -> "CaseSet":
        """Return the set of some cases: the first of equal ids and of equal inputs stays."""
        kept: list[Case] = []
        by_id: dict[str, Case] = {}
        by_input: dict[str, str] = {}
        repeats: list[Repeat] = []
        for case in cases:
            asked = canonical(case.input)
            if case.case_id in by_id:
                same = by_id[case.case_id].digest == case.digest
                reason = "same id" if same else "same id, other content"
                repeats.append(Repeat(case_id=case.case_id, kept=case.case_id, reason=reason))
            elif asked in by_input:
                kept_id = by_input[asked]
                same = by_id[kept_id].digest == case.digest
                reason = "same input" if same else "same input, other labels"
                repeats.append(Repeat(case_id=case.case_id, kept=kept_id, reason=reason))
            else:
                by_id[case.case_id] = case
                by_input[asked] = case.case_id
                kept.append(case)
        return cls(kind=kind, cases=tuple(kept), repeats=tuple(repeats), notes=tuple(notes))

    @property
    def digest(self) -> str:
        """Digest of all cases in order; repeats and notes are not in it."""
        return digest_of(
            [str(self.kind), [[case.case_id, case.family, case.digest] for case in self.cases]]
        )

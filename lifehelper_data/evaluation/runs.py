"""Between suites and the store: what a run pins, and cases and outputs as stored rows."""

import json
import secrets
from datetime import datetime
from pathlib import Path, PurePosixPath

from lifehelper_data.code_version import code_hash, code_version
from lifehelper_data.domain.identity import combined_identity
from lifehelper_data.domain.ports import Clock
from lifehelper_data.domain.release import Release
from lifehelper_data.evaluation.cases import Case, Unit
from lifehelper_data.evaluation.suite import Output
from lifehelper_data.runtime.workspace import open_store, utc_now
from lifehelper_data.settings import EvaluationSettings, Settings
from lifehelper_data.stores.eval_records import Json, ReleasePin, RunPins, canonical
from lifehelper_data.stores.eval_rows import CaseRow, OutputRow
from lifehelper_data.stores.eval_runs import EvalRuns, NewRunId
from lifehelper_data.stores.eval_users import UserDigest, workspace_user_key
from lifehelper_data.stores.layout import Layout


def new_run_id(now: datetime) -> str:
    """Return an id that sorts by time and that two processes do not share."""
    return f"{now:%Y%m%dT%H%M%S%f}-{secrets.token_hex(3)}"


def open_runs(path: str | Path, *, clock: Clock = utc_now, ids: NewRunId = new_run_id) -> EvalRuns:
    """Return the evaluation runs of a workspace.

    Raises:
        NotFound: there is no workspace at `path`.
    """
    return EvalRuns(open_store(path, clock=clock).layout, clock, ids)


def users_of(layout: Layout, settings: EvaluationSettings) -> UserDigest:
    """Return the digest under the configured key, or else under the workspace's own."""
    if settings.user_key is not None:
        return UserDigest(settings.user_key.get_secret_value().encode())
    return UserDigest(workspace_user_key(layout))


def release_pin(release: Release) -> ReleasePin:
    """Return what identifies a release: number, rows, bytes.

    Vectors have no files of the release's own; their identity stands for their bytes.
    """
    hashes = {
        f"{name}/{part.bucket}": part.bytes_sha256
        for name, table in release.content.tables.items()
        for part in table.parts
    }
    for name, artifact in release.content.artifacts.items():
        hashes[f"artifact:{name}"] = artifact.identity
        for file in artifact.files:
            hashes[f"artifact:{name}/{PurePosixPath(file.path).name}"] = file.bytes_sha256
    return ReleasePin(
        number=release.number, identity=release.identity, bytes=combined_identity(hashes)
    )


def pins_of(
    *,
    suite: str,
    case_set: str,
    seed: int,
    release: Release | None,
    settings: Settings,
    systems: tuple[str, ...],
) -> RunPins:
    """Return the pins of a run without a language model."""
    space = None if release is None else release.content.facts.get("vector_space_id")
    tunables: dict[str, Json] = json.loads(json.dumps(settings.tunables()))
    return RunPins(
        suite=suite,
        case_set=case_set,
        seed=seed,
        code_version=code_version(),
        code_hash=code_hash(),
        release=None if release is None else release_pin(release),
        vector_space=None if space is None else str(space),
        provider="none",
        model=None,
        prompts={},
        tunables=tunables,
        systems=systems,
    )


def case_row(seq: int, case: Case) -> CaseRow:
    """Return a case, user ids hidden before, as its stored row."""
    units: list[Json] = [{"unit_id": u.unit_id, "slices": dict(u.slices)} for u in case.units]
    return CaseRow(
        seq=seq,
        case_id=case.case_id,
        family=case.family,
        digest=case.digest,
        slices=canonical(dict(case.slices)),
        input=canonical(case.input),
        target=canonical(case.target),
        units=canonical(units),
        note=case.note,
    )


def case_of(row: CaseRow) -> Case:
    """Return the case of a stored row."""
    return Case(
        case_id=row.case_id,
        family=row.family,
        input=json.loads(row.input),
        target=json.loads(row.target),
        slices=json.loads(row.slices),
        units=tuple(Unit(**unit) for unit in json.loads(row.units)),
        note=row.note,
    )


def output_of(row: OutputRow) -> Output | None:
    """Return the output of a stored row; None if generating failed."""
    if row.value is None:
        return None
    return Output(
        value=json.loads(row.value),
        ms=row.ms,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        cost=row.cost,
    )

"""Asking every system every case, once, in chunks that survive a kill."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lifehelper_data.domain.errors import LifehelperError
from lifehelper_data.domain.ports import Progress
from lifehelper_data.evaluation.cases import Case
from lifehelper_data.evaluation.suite import Generate
from lifehelper_data.stores.eval_records import canonical
from lifehelper_data.stores.eval_rows import OutputRow
from lifehelper_data.stores.eval_runs import EvalRuns
from lifehelper_data.stores.eval_users import UserDigest, user_ids_in

FLUSH_AFTER_S: Final = 10.0
"""A chunk is written after so many seconds even if it is not full: slow models lose little."""


@dataclass(slots=True)
class Budget:
    """What generating may cost.

    Attributes:
        limit: from this cost on nothing more is asked; None: no limit.
        spent: cost so far, earlier calls of the run included.
    """

    limit: float | None
    spent: float = 0.0

    @property
    def used_up(self) -> bool:
        """Whether nothing more may be asked."""
        return self.limit is not None and self.spent >= self.limit


def generate_missing(
    runs: EvalRuns,
    run_id: str,
    systems: Mapping[str, Generate],
    cases: Sequence[Case],
    stored: Sequence[OutputRow],
    *,
    title: str,
    budget: Budget,
    users: UserDigest,
    chunk: int,
    timer: Callable[[], float],
    progress: Progress,
) -> bool:
    """Ask what has no stored output yet, system by system, cases in order.

    Every chunk is on disk before the next is begun. What was answered before an interruption is
    written on the way out.

    Args:
        runs: the store; the caller is the run's writer.
        run_id: the run.
        systems: by name, in the order they are asked.
        cases: with real user ids; ids are hidden in what is stored.
        stored: outputs of earlier calls; failed ones stay failed.
        title: shown with the progress.
        budget: what it may cost; updated.
        users: stands for user ids.
        chunk: outputs written at a time.
        timer: seconds.
        progress: shown case by case.

    Returns:
        Whether the cost limit stopped it before the end.
    """
    done = {(row.system, row.seq) for row in stored}
    for name, generate in systems.items():
        waiting = [(seq, case) for seq, case in enumerate(cases) if (name, seq) not in done]
        rows: list[OutputRow] = []
        flushed_at = timer()
        try:
            for position, (seq, case) in enumerate(waiting, len(cases) - len(waiting)):
                if budget.used_up:
                    return True
                progress.step(f"{title}: {name}", position, len(cases))
                rows.append(_answered(name, seq, case, generate, users=users, timer=timer))
                budget.spent += rows[-1].cost
                if len(rows) >= chunk or timer() - flushed_at >= FLUSH_AFTER_S:
                    full, rows, flushed_at = rows, [], timer()
                    runs.append(run_id, full)
        finally:
            runs.append(run_id, rows)
        progress.step(f"{title}: {name}", len(cases), len(cases))
    return False


def _answered(
    system: str,
    seq: int,
    case: Case,
    generate: Generate,
    *,
    users: UserDigest,
    timer: Callable[[], float],
) -> OutputRow:
    hidden_id = case.hidden(users).case_id
    began = timer()
    try:
        output = generate(case)
    except LifehelperError as error:
        ids = user_ids_in(case.input) | user_ids_in(case.target)
        return OutputRow(
            system=system,
            seq=seq,
            case_id=hidden_id,
            value=None,
            error_type=type(error).__name__,
            error=users.hide_in_text(str(error), ids),
            ms=(timer() - began) * 1000,
            input_tokens=None,
            output_tokens=None,
            cost=0.0,
        )
    measured_ms = (timer() - began) * 1000
    return OutputRow(
        system=system,
        seq=seq,
        case_id=hidden_id,
        value=canonical(users.hide(output.value)),
        error_type=None,
        error=None,
        ms=measured_ms if output.ms is None else output.ms,
        input_tokens=output.input_tokens,
        output_tokens=output.output_tokens,
        cost=output.cost,
    )

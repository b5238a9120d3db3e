"""What runs store: every case once, no user id, readable by name, frame and SQL."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from lifehelper_data.domain.errors import (
    FormatVersionError,
    InvalidRequest,
    NotFound,
    Unavailable,
)
from lifehelper_data.evaluation.runner import Runner
from lifehelper_data.evaluation.runner_setup import Asked
from lifehelper_data.stores.eval_query import query_runs, run_frames, write_frame
from lifehelper_data.stores.eval_runs import EvalRuns, releases_of_runs
from tests.integration.eval_kit import Adder, Ticks, evaluation, run, sums, whole, workspace_runs


@pytest.fixture
def runs(tmp_path: Path) -> EvalRuns:
    return workspace_runs(tmp_path / "w")


def test_repeated_cases_count_once_and_are_reported(runs: EvalRuns, tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    lines = [{"case_id": i, "a": a, "b": 1} for i, a in (("x", 1), ("y", 2), ("x", 1), ("z", 2))]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    done = run(runs, sums(Adder()), cases_file=file)
    assert whole(done, "correct").total == 2
    assert done.record.facts["data"] == "labelled"
    assert done.record.facts["cases_file"] == "mine.jsonl"
    assert done.record.facts["repeats"] == [
        {"case_id": "x", "kept": "x", "reason": "same id"},
        {"case_id": "z", "kept": "y", "reason": "same input"},
    ]


def test_no_user_id_is_stored_anywhere_and_users_still_reach_the_system(
    runs: EvalRuns, tmp_path: Path
) -> None:
    file = tmp_path / "mine.jsonl"
    lines = [
        {"case_id": "user 987654", "a": 1, "b": 1, "user_id": 987654},
        {"case_id": "other", "a": 3, "b": 1, "user_id": 987655},
    ]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    adder = Adder(fails=frozenset({3}))
    done = run(runs, sums(adder), cases_file=file)
    assert adder.asked == ["user 987654", "other"]
    stored = list(runs.cases(done.record.run_id)), runs.outputs(done.record.run_id), done.scoring
    assert "98765" not in repr(stored) + json.dumps(done.record.to_dict())
    for path in runs.folder(done.record.run_id).rglob("*"):
        assert not path.is_file() or b"98765" not in path.read_bytes()
    lost = next(s for s in done.scoring.scores if s.system == "adder" and s.status == "missing")
    assert lost.reason is not None
    assert lost.reason.startswith("Unavailable: model down for user u-")
    key = runs.layout.eval / "user.key"
    assert key.stat().st_mode & 0o077 == 0


def test_a_run_with_hidden_users_is_resumed_with_the_same_file_only(
    runs: EvalRuns, tmp_path: Path
) -> None:
    file, other = tmp_path / "mine.jsonl", tmp_path / "other.jsonl"
    lines = [{"case_id": str(i), "a": i, "b": 1, "user_id": 100 + i} for i in range(6)]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    other.write_text("\n".join(map(json.dumps, lines[:-1])), encoding="utf-8")
    with pytest.raises(KeyboardInterrupt):
        run(runs, sums(Adder(dies_after=2)), cases_file=file)
    (run_id,) = runs.run_ids()
    runner, adder = Runner(runs=runs, timer=Ticks()), Adder()
    for wrong in (None, other):
        with pytest.raises(InvalidRequest, match="not the cases of eval run"):
            runner.resume(sums(adder), run_id, Asked(evaluation=evaluation(), cases_file=wrong))
    done = runner.resume(sums(adder), run_id, Asked(evaluation=evaluation(), cases_file=file))
    assert adder.asked == ["2", "3", "4", "5"]
    assert whole(done, "correct").mean == 1.0


def test_runs_of_two_workspaces_pair_on_users_under_one_configured_key(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text('{"case_id": "a", "a": 1, "b": 1, "user_id": 5}', encoding="utf-8")

    def pinned(name: str, **settings: Any) -> str:
        runs = workspace_runs(tmp_path / name)
        done = run(runs, sums(Adder()), cases_file=file, evaluation=evaluation(**settings))
        return done.record.pins.case_set

    key = SecretStr("a key for both of them")
    assert pinned("a") != pinned("b")
    assert pinned("c", user_key=key) == pinned("d", user_key=key)
    assert "user.key" not in {p.name for p in (tmp_path / "c" / "eval").iterdir()}


def test_runs_are_found_by_id_beginning_label_and_latest(runs: EvalRuns) -> None:
    first = run(runs, sums(Adder()), label="base").record.run_id
    second = run(runs, sums(Adder()), label="base").record.run_id
    assert runs.resolve("latest") == runs.resolve("base") == runs.resolve(second) == second
    assert runs.resolve(first[:-1] + "0") == first
    with pytest.raises(InvalidRequest, match="means 2 runs"):
        runs.resolve("2026")
    with pytest.raises(NotFound, match="no eval run 'absent'"):
        runs.resolve("absent")
    with pytest.raises(NotFound):
        runs.resolve("")


def test_a_damaged_or_foreign_head_is_named(runs: EvalRuns) -> None:
    run_id = run(runs, sums(Adder())).record.run_id
    head = runs.folder(run_id) / "run.json"
    value = json.loads(head.read_text(encoding="utf-8"))
    head.write_text(json.dumps(value | {"format": 99}), encoding="utf-8")
    with pytest.raises(FormatVersionError, match="format 99"):
        runs.load(run_id)
    head.write_text("{", encoding="utf-8")
    with pytest.raises(Unavailable, match="cannot be read"):
        runs.load(run_id)
    with pytest.raises(Unavailable, match="cannot be read"):
        releases_of_runs(runs.layout)


def test_analysts_read_frames_and_sql(runs: EvalRuns, tmp_path: Path) -> None:
    first, second = run(runs, sums(Adder()), label="a"), run(runs, sums(Adder()), label="b")
    frames = run_frames(runs, first.record.run_id)
    assert {name: frame.height for name, frame in frames.items()} == {
        "eval_cases": 40,
        "eval_outputs": 160,
        "eval_scores": 320,
        "eval_metrics": len(first.scoring.metrics),
    }
    found = query_runs(
        runs,
        "SELECT label, status, count(*) AS scores FROM eval_scores JOIN eval_runs USING (run_id) "
        "WHERE system = 'adder' AND eval_scores.status = 'evaluated' GROUP BY ALL ORDER BY label"
        .replace("SELECT label, status", "SELECT label, eval_runs.status AS status"),
    )  # fmt: skip
    assert found.rows() == [("a", "complete", 62), ("b", "complete", 62)]
    write_frame(found, tmp_path / "out.parquet")
    assert (tmp_path / "out.parquet").is_file()
    assert second.record.run_id in query_runs(runs, "FROM eval_runs")["run_id"].to_list()


def test_sql_on_runs_reads_nothing_else_and_writes_nothing(runs: EvalRuns, tmp_path: Path) -> None:
    run(runs, sums(Adder()))
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n", encoding="utf-8")
    for query in (
        f"FROM read_csv('{secret}')",
        "DROP TABLE eval_runs",
        f"COPY eval_runs TO '{tmp_path / 'x.csv'}'",
        "SELECT 1; SELECT 2",
        "FROM absent",
        "",
    ):
        with pytest.raises(InvalidRequest) as refused:
            query_runs(runs, query)
        assert "\n" not in str(refused.value)
    assert query_runs(workspace_runs(tmp_path / "empty"), "FROM eval_scores").height == 0

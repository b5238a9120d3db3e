"""A failed run goes on where it failed, on what it made itself."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from dagster_project.automation import RETRIES
from lifehelper_data.domain.build import BuildReport
from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.pipelines.build_keyword import build_keyword
from tests.integration.build_kit import TinyShop, build
from tests.integration.dagster_kit import Cockpit, open_cockpit, project

REST = {"keyword_indexes", "staged_release", "promoted_release", "report"}
DONE = {
    "tables",
    "catalog_texts",
    "popularity",
    "embeddings",
    "preset_vectors",
    "similarity_calibration",
}


def everything() -> dg.JobDefinition:
    """Return the job that is run again; a retry makes it anew, as another process would."""
    return project().resolve_job_def("build_all")


@pytest.fixture
def cockpit(tmp_path: Path) -> Iterator[Cockpit]:
    TinyShop.create(tmp_path / "shop")  # no descriptions: no encoder
    with open_cockpit(tmp_path, remembers=True) as opened:
        yield opened


def fail_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the keyword index fail at the first try, and only then."""
    tries = [0]

    def failing(*given: object) -> BuildReport:
        tries[0] += 1
        if tries[0] == 1:
            raise Unavailable("the analyser is away; try again")
        return build_keyword(*given)  # type: ignore[arg-type] # forwards

    monkeypatch.setattr("dagster_project.assets.search.build_keyword", failing)


def succeeded(result: dg.JobExecutionResult) -> set[str]:
    return {e.step_key for e in result.all_events if e.is_step_success and e.step_key}


def test_a_retry_runs_what_is_missing_on_what_the_first_run_made(
    cockpit: Cockpit, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_once(monkeypatch)
    job = dg.reconstructable(everything)
    with dg.execute_job(job, instance=cockpit.instance, tags=RETRIES) as first:
        assert not first.success
        assert succeeded(first) == DONE
        run_id = first.run_id
    assert cockpit.store.numbers() == []
    own = {name: cockpit.record(name, run_id) for name in ("tables", "catalog", "popularity")}

    # another build, of a shop with one book less and another price, leaves its outputs meanwhile
    shop = TinyShop.create(cockpit.folder / "other", books=49)
    shop.replace("books.csv", "7,책 7,9700,소설", "7,책 7,1700,소설")
    other = build(cockpit.workspace, shop.mapping, run__search_assets=True)
    assert other.release.release.number == 1
    assert cockpit.record("tables") != own["tables"]

    options = dg.ReexecutionOptions.from_failure(run_id, cockpit.instance)
    with dg.execute_job(job, instance=cockpit.instance, reexecution_options=options) as second:
        assert second.success
        assert succeeded(second) == REST
        retry = second.dagster_run
    assert (retry.parent_run_id, retry.root_run_id) == (run_id, run_id)
    assert {name: cockpit.record(name, run_id) for name in own} == own
    assert cockpit.current.number == 2
    assert (
        cockpit.current.content.tables["books"].identity == own["tables"].tables["books"].identity
    )
    assert len(cockpit.prices()) == 50
    assert cockpit.prices()[7] == 9700


def test_a_retry_after_a_step_that_had_nothing_to_do_reads_that_step(
    cockpit: Cockpit, monkeypatch: pytest.MonkeyPatch
) -> None:
    cockpit.run_job("build_all")
    cockpit.shop.replace("books.csv", "7,책 7,9700,소설", "7,책 칠,9700,소설")
    cockpit.run_job("load_tables")  # so that the load of the failing run has nothing to do
    fail_once(monkeypatch)
    job = dg.reconstructable(everything)
    with dg.execute_job(job, instance=cockpit.instance, tags=RETRIES) as first:
        assert not first.success
        run_id = first.run_id
    cockpit.shop.replace("books.csv", "7,책 칠,9700,소설", "7,책 칠,1700,소설")
    cockpit.run_job("load_tables")  # by another run
    options = dg.ReexecutionOptions.from_failure(run_id, cockpit.instance)
    with dg.execute_job(job, instance=cockpit.instance, reexecution_options=options) as second:
        assert second.success
    assert cockpit.current.number == 2
    assert cockpit.prices()[7] == 9700  # the price the run loaded; 1700 comes with the next run
    with cockpit.open() as opened:
        assert "책 칠" in opened.table("books")["title"].to_list()

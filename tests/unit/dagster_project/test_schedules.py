"""Which job runs when, over one day in Seoul."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import dagster as dg
import pytest
from dagster._utils.schedules import schedule_execution_time_iterator

from dagster_project.automation import JOBS, SCHEDULES
from dagster_project.definitions import definitions

SEOUL = ZoneInfo("Asia/Seoul")
MIDNIGHT = datetime(2026, 6, 1, tzinfo=SEOUL)

JOB_OF = {
    "every_5_minutes": "load_tables",
    "hourly_catalog": "index_catalog",
    "daily_popularity": "count_popularity",
    "nightly_full_read": "full_read",
    "freshness_checks": "check_freshness",
}


def times_of_a_day(name: str) -> list[datetime]:
    schedule = next(s for s in SCHEDULES if s.name == name)
    assert schedule.execution_timezone == "Asia/Seoul"
    found: list[datetime] = []
    for at in schedule_execution_time_iterator(
        MIDNIGHT.timestamp(), schedule.cron_schedule, schedule.execution_timezone
    ):
        if at >= MIDNIGHT + timedelta(days=1):
            return found
        found.append(at.astimezone(SEOUL))
    raise AssertionError("a schedule never ends")


def at(hour: int, minute: int) -> datetime:
    return MIDNIGHT + timedelta(hours=hour, minutes=minute)


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("every_5_minutes", [at(h, m) for h in range(24) for m in range(0, 60, 5)]),
        ("hourly_catalog", [at(h, 10) for h in range(24)]),
        ("daily_popularity", [at(4, 30)]),
        ("nightly_full_read", [at(3, 15)]),
        ("freshness_checks", [at(h, m) for h in range(24) for m in range(2, 60, 5)]),
    ],
)
def test_a_schedule_runs_at(name: str, times: list[datetime]) -> None:
    assert times_of_a_day(name) == times


def test_every_job_but_the_one_by_hand_has_a_schedule() -> None:
    assert {s.name for s in SCHEDULES} == set(JOB_OF)
    assert set(JOB_OF.values()) == {job.name for job in JOBS} - {"build_all"}


@pytest.mark.parametrize("name", JOB_OF)
def test_a_tick_asks_for_one_run_of_its_job(name: str) -> None:
    schedule = definitions().get_repository_def().get_schedule_def(name)
    context = dg.build_schedule_context(scheduled_execution_time=times_of_a_day(name)[0])
    ticked = schedule.evaluate_tick(context)
    assert schedule.job_name == JOB_OF[name]
    assert len(ticked.run_requests or []) == 1
    assert ticked.skip_message is None
    assert schedule.default_status is dg.DefaultScheduleStatus.RUNNING

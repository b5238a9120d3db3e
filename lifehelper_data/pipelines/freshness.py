"""The freshness of the release in service. A breach is reported and never blocks reading."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from lifehelper_data.domain.contract import HISTORY_TABLES
from lifehelper_data.domain.freshness import Freshness, Served, SourceTimes, measure_freshness
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.settings import Settings
from lifehelper_data.stores.load_times import LoadTime, load_load_times
from lifehelper_data.stores.measures import newest_popularity
from lifehelper_data.stores.releases import ReleaseReader, ReleaseStore


def current_freshness(context: BuildContext, store: ReleaseStore) -> tuple[Freshness, ...]:
    """Measure what is in service now; before the first promotion nothing has an age."""
    if store.current_number() is None:
        return tuple(
            Freshness(served=served, age=None, budget=budget, since="nothing is in service yet")
            for served, budget in budgets(context.settings).items()
        )
    with store.open() as reader:
        return release_freshness(
            reader, load_load_times(context.layout), context.settings, context.clock()
        )


def release_freshness(
    reader: ReleaseReader, loads: Mapping[str, LoadTime], settings: Settings, now: datetime
) -> tuple[Freshness, ...]:
    """Measure one release."""
    facts, counts = reader.release.content.facts, reader.release.content.table_counts
    watermarks = facts.get("source_watermarks")
    known = watermarks if isinstance(watermarks, dict) else {}
    loaded = {
        name: load.loaded_at for name, load in loads.items() if name in counts or name == "books"
    }
    times = SourceTimes(
        books_changed=_time(known.get("books")),
        waiting_since=_waiting_since(facts, reader.release.created_at),
        popularity_as_of=newest_popularity(reader),
        history={name: _time(known.get(name)) for name in HISTORY_TABLES if name in counts},
        loaded=loaded,
    )
    return measure_freshness(times, budgets(settings), now)


def freshness_when_published(reader: ReleaseReader, settings: Settings) -> tuple[Freshness, ...]:
    """Measure how old a release's content was when it was published: the same at any time."""
    published_at = reader.release.created_at
    loads = {
        name: LoadTime(loaded_at=published_at, watermark=None)
        for name in reader.release.content.table_counts
    }
    return release_freshness(reader, loads, settings, published_at)


def budgets(settings: Settings) -> dict[Served, timedelta]:
    """Return the configured budgets."""
    configured = settings.freshness
    return {
        Served.PRICE_STOCK: timedelta(seconds=configured.price_stock_s),
        Served.NEW_BOOKS: timedelta(seconds=configured.new_books_s),
        Served.POPULARITY: timedelta(seconds=configured.popularity_s),
        Served.HISTORY: timedelta(seconds=configured.history_s),
    }


def _waiting_since(facts: Mapping[str, object], published_at: datetime) -> datetime | None:
    waiting = facts.get("waiting")
    if not isinstance(waiting, dict) or not waiting.get("books"):
        return None
    return _time(facts.get("books_waiting_since")) or published_at


def _time(text: object) -> datetime | None:
    return datetime.fromisoformat(str(text)).astimezone(UTC) if text else None

"""Other weights, tried on stored leg rankings: what would each have found?

The fusion is the one of `domain.search.fusion` to the bit (a test compares them), for all queries
at once: reciprocal rank fusion, exact titles first, ties by book_id. The popularity boost is left
out. Choose on one split, report on another.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.domain.ports import Progress
from lifehelper_data.domain.search import KeywordWeights
from lifehelper_data.evaluation.cases import Case
from lifehelper_data.evaluation.metrics import Rankings, Relevance, ranking_metrics
from lifehelper_data.evaluation.search_pools import ABSENT, Candidates, QueryPools, ask_legs
from lifehelper_data.evaluation.search_systems import K, query_of
from lifehelper_data.evaluation.statistics import MetricRule, Paired, compare_all, summarise
from lifehelper_data.runtime.search import SearchEngine
from lifehelper_data.settings import SearchTunables

Floats = npt.NDArray[np.float64]

METRICS: Final = (f"ndcg@{K}", f"mrr@{K}", f"recall@{K}")
GRID: Final[Mapping[str, tuple[float, ...]]] = {
    "rrf_k": (1, 5, 10, 20, 40, 60, 100, 200),
    "vector_weight": (0, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 4),
    "keyword_pool": (20, 50, 100, 200, 500),
    "vector_pool": (10, 20, 50, 100, 200),
    "title_weight": (0.5, 1, 2, 3, 5, 8),
    "author_weight": (0.5, 1, 2, 4),
    "description_weight": (0, 0.25, 0.5, 1, 2, 3),
    "bigram_weight": (0, 0.1, 0.25, 0.5, 1, 2),
}
"""What is tried of each tunable, the others as they are. Of the legs' weights only their ratio
matters, so the keyword leg keeps its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepSetting:
    """Tunables of a fusion; names and meaning as in `SearchTunables`."""

    rrf_k: float = 60
    keyword_weight: float = 1
    vector_weight: float = 1
    keyword_pool: int = 200
    vector_pool: int = 50
    title_weight: float = 3
    author_weight: float = 2
    description_weight: float = 0.5
    bigram_weight: float = 0.5

    @classmethod
    def of(cls, tunables: SearchTunables) -> "SweepSetting":
        """Return the setting of a configuration."""
        return cls(**{name: getattr(tunables, name) for name in cls.__dataclass_fields__})

    @property
    def keyword_weights(self) -> KeywordWeights:
        """Weights of the fields."""
        return KeywordWeights(
            title=self.title_weight,
            author=self.author_weight,
            description=self.description_weight,
            bigrams=self.bigram_weight,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SweepCases:
    """Queries of one data set with what is relevant to each.

    Attributes:
        name: of the data set, as it is shown.
        pools: what the legs found.
        relevance: aligned with the queries.
        families: of the queries; those of one family are resampled together.
    """

    name: str
    pools: QueryPools
    relevance: Relevance
    families: tuple[str, ...]

    @classmethod
    def ask(
        cls,
        name: str,
        engine: SearchEngine,
        cases: Sequence[Case],
        *,
        progress: Progress | None = None,
    ) -> "SweepCases":
        """Ask the legs every query of some cases of the search suite, once.

        Raises:
            Unavailable: the keyword index, the vectors or the encoder cannot be had.
        """
        targets: list[Any] = [case.target for case in cases]
        return cls(
            name=name,
            pools=ask_legs(engine, [query_of(case) for case in cases], progress=progress),
            relevance=Relevance.from_grades(
                [{int(book): float(grade) for book, grade in each.items()} for each in targets]
            ),
            families=tuple(case.family for case in cases),
        )

    def __post_init__(self) -> None:
        counts = (len(self.pools.queries), len(self.relevance), len(self.families))
        if len(set(counts)) > 1:
            raise InvalidRequest(
                f"sweep {self.name!r} has {counts[0]} queries, {counts[1]} relevances and "
                f"{counts[2]} families; give one of each per query",
                field="families",
            )


def fused_rankings(candidates: Candidates, setting: SweepSetting, k: int = K) -> Rankings:
    """Return the first k books of every query under a setting.

    Args:
        candidates: what the legs found, at least as deep as the setting's pools.
        setting: weights, k and pools.
        k: how many books at most.

    Returns:
        One list per query: exact titles first, by id; then higher score, then lower id. A book
        whose score is 0 and whose title is another one is not found.
    """
    keyword = np.where(
        candidates.keyword_rank <= setting.keyword_pool, candidates.keyword_rank, np.inf
    )
    vector = np.where(candidates.vector_rank <= setting.vector_pool, candidates.vector_rank, np.inf)
    score = setting.keyword_weight / (setting.rrf_k + keyword)
    score = score + setting.vector_weight / (setting.rrf_k + vector)
    rows = np.flatnonzero((score > 0) | candidates.exact)
    query, exact = candidates.query[rows], candidates.exact[rows]
    books = candidates.book_ids[rows]
    by_score = np.where(exact, 0.0, -score[rows])
    order = np.lexsort((books, by_score, ~exact, query))
    starts = np.searchsorted(query[order], np.arange(candidates.n_queries + 1))
    rank = np.arange(len(order)) - starts[query[order]]
    shown = order[rank < k]
    sizes = np.bincount(query[shown], minlength=candidates.n_queries)
    return Rankings(
        items=books[shown], offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    )


def case_values(cases: SweepCases, setting: SweepSetting) -> dict[str, Floats]:
    """Return each metric per query, float64 (n,); NaN where nothing is relevant.

    Raises:
        InvalidRequest: the setting's pools are deeper than the legs were asked.
    """
    pools = cases.pools
    for name, depth in (("keyword_pool", pools.keyword_depth), ("vector_pool", pools.vector_depth)):
        if getattr(setting, name) > depth:
            raise InvalidRequest(
                f"{name} = {getattr(setting, name)!r} but the legs were asked for {depth} books; "
                "ask them deeper",
                field=name,
            )
    found = fused_rankings(pools.candidates(setting.keyword_weights), setting)
    return ranking_metrics(found, cases.relevance, METRICS)


def one_at_a_time(
    base: SweepSetting, grid: Mapping[str, Sequence[float]] = GRID
) -> list[tuple[str, SweepSetting]]:
    """Return every setting that differs from the base in one tunable, with its name."""
    made = []
    for name, values in grid.items():
        kind = type(getattr(SweepSetting(), name))
        for value in values:
            changed: Any = {name: kind(value)}
            made.append((name, replace(base, **changed)))
    return made


def sweep(
    cases: SweepCases,
    base: SweepSetting,
    settings: Iterable[tuple[str, SweepSetting]],
    *,
    margin: float = 0.02,
    seed: int = 7,
    resamples: int = 10_000,
) -> pl.DataFrame:
    """Compare settings with a base, paired on the same queries.

    p-values are corrected (Holm) over all settings of one metric.

    Args:
        cases: the queries.
        base: the setting in service.
        settings: (what is varied, setting), in the order of the result.
        margin: smallest difference that matters.
        seed: of the resamples.
        resamples: per interval.

    Returns:
        One row per setting and metric: data_set, varied, value, metric, mean, effect (setting -
        base), low, high (95 % interval of the effect), p_holm, verdict, queries.
    """
    listed = list(settings)
    clusters = _numbered(cases.families)
    standing = case_values(cases, base)
    tried = [case_values(cases, setting) for _, setting in listed]
    rows = []
    for metric in METRICS:
        rule = MetricRule(
            name=metric, higher_is_better=True, margin=margin, gated=False, kind="mean"
        )
        pairs = [
            Paired(rule=rule, base=standing[metric], new=values[metric], clusters=clusters)
            for values in tried
        ]
        compared = compare_all(pairs, seed=seed, resamples=resamples)
        for (varied, setting), found in zip(listed, compared, strict=True):
            rows.append(
                {
                    "data_set": cases.name,
                    "varied": varied,
                    "value": float(getattr(setting, varied)),
                    "metric": metric,
                    "mean": found.new_mean,
                    "effect": found.effect,
                    "low": found.interval.low if found.interval else None,
                    "high": found.interval.high if found.interval else None,
                    "p_holm": found.p_holm,
                    "verdict": str(found.verdict),
                    "queries": found.counts.evaluated,
                }
            )
    return pl.DataFrame(rows)


def setting_table(
    cases: SweepCases,
    settings: Mapping[str, SweepSetting],
    *,
    seed: int = 7,
    resamples: int = 10_000,
) -> pl.DataFrame:
    """Return the metrics of named settings with their 95 % intervals: one row each.

    Columns: data_set, setting, metric, mean, low, high, queries.
    """
    clusters = _numbered(cases.families)
    rows = []
    for name, setting in settings.items():
        for metric, values in case_values(cases, setting).items():
            rule = MetricRule(
                name=metric, higher_is_better=True, margin=0, gated=False, kind="mean"
            )
            found = summarise(values, rule=rule, clusters=clusters, seed=seed, resamples=resamples)
            rows.append(
                {
                    "data_set": cases.name,
                    "setting": name,
                    "metric": metric,
                    "mean": found.mean,
                    "low": found.interval.low if found.interval else None,
                    "high": found.interval.high if found.interval else None,
                    "queries": found.counts.evaluated,
                }
            )
    return pl.DataFrame(rows)


def _within(rank: Floats, pool: int) -> Floats:
    return np.where(rank <= pool, rank, ABSENT)


def _numbered(families: Sequence[str]) -> list[int] | None:
    numbers: dict[str, int] = {}
    found = [numbers.setdefault(family, len(numbers)) for family in families]
    return found if len(numbers) < len(found) else None

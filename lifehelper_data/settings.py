"""Configuration: one file `lifehelper.toml`; file < environment < flag.

Every tunable number has its default here. Tunables decide results: their hash is part of a
release. Operational settings (threads, memory, waiting) do not, and are left out of the hash.
"""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.domain.popularity import PopularityMethod
from lifehelper_data.domain.retention import Retention

ENV_PREFIX: Final = "LIFEHELPER__"
TUNABLE_SECTIONS: Final = {"load", "popularity", "encoder", "search", "vectors"}
"""Sections that decide results; the others say how the work is done, kept and reported."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LoadTunables(_Section):
    """How forgiving a load is."""

    max_bad_share: float = Field(
        0.05,
        ge=0,
        le=1,
        description="largest share of a table's rows with a bad value, and of a file's lines "
        "rejected, that a load survives",
    )


class PopularityTunables(_Section):
    """How sales and ratings become a value between 0 and 1."""

    method: PopularityMethod = PopularityMethod.LOG_SALES
    window_days: int = Field(90, ge=1, description="purchases counted as sales, days back")
    half_life_days: float = Field(30, gt=0, description="half-life of time_decayed")
    prior_ratings: float = Field(
        10, gt=0, description="average ratings the prior of bayesian_rating is worth"
    )


class EncoderTunables(_Section):
    """Which model turns text into vectors."""

    model: str = Field(
        "multilingual-e5-small",
        min_length=1,
        description="the default (comes with a package), a model folder, or a hub id",
    )
    precision: Literal["auto", "fp32", "bf16"] = Field(
        "auto", description="auto: bf16 where the processor has it and it is proven"
    )
    query_runtime: Literal["auto", "torch", "quantised"] = Field(
        "auto", description="auto: the light runtime for queries where it is proven"
    )


class SearchTunables(_Section):
    """How search ranks."""

    keyword_pool: int = Field(200, ge=1, le=10_000, description="books the keyword leg delivers")
    vector_pool: int = Field(50, ge=1, le=10_000, description="books the vector leg delivers")
    sort_vector_pool: int = Field(
        20, ge=0, le=10_000, description="of the vector leg, books that a sort rule may order"
    )
    popularity_boost: float = Field(
        0, ge=0, description="weight of popularity (0-1) added to the fused score"
    )
    rrf_k: float = Field(60, gt=0, description="k of reciprocal rank fusion")
    keyword_weight: float = Field(1, ge=0, description="weight of the keyword leg")
    vector_weight: float = Field(1, ge=0, description="weight of the vector leg")
    title_weight: float = Field(3, ge=0, description="BM25 weight of the title")
    author_weight: float = Field(2, ge=0, description="BM25 weight of the author")
    description_weight: float = Field(0.5, ge=0, description="BM25 weight of the description")
    bigram_weight: float = Field(0.5, ge=0, description="factor of bigram against morpheme matches")
    keyword_engine: Literal["postings", "rank_bm25"] = Field(
        "postings", description="rank_bm25: the reference library, for small catalogs"
    )
    bm25_formula: Literal["okapi", "lucene"] = Field("lucene", description="formula of BM25")


class VectorTunables(_Section):
    """How vectors are kept and found."""

    index_from_rows: int = Field(
        100_000, ge=0, description="an approximate index is built from so many vectors on"
    )
    calibration_pairs: int = Field(10_000, ge=100, description="random pairs behind the floor")
    calibration_neighbours: int = Field(
        1_000, ge=100, description="books whose nearest neighbour is behind the ceiling"
    )
    seed: int = Field(7, description="seed of the samples")


class RunSettings(_Section):
    """How the work is done; never what comes out."""

    threads: int = Field(2, ge=1, le=256, description="threads of the table engine")
    memory_limit: str = Field(
        "512MB", pattern=r"^[0-9]+(MB|GB)$", description="memory of each scratch database"
    )
    history_buckets: int = Field(
        16, ge=1, le=4096, description="parts a history table is spread over, by user"
    )
    encoder_batch: int = Field(32, ge=1, le=4096, description="texts the encoder takes at a time")
    search_assets: bool = Field(
        True, description="false: tables only, for a workspace that is never searched"
    )
    lock_wait_s: float | None = Field(
        None, ge=0, description="seconds to wait for another writer; unset waits for ever"
    )


class RetentionSettings(_Section):
    """How long releases are kept."""

    keep_last: int = Field(10, ge=1)
    keep_younger_than_s: float = Field(3600, ge=0)
    keep_daily_days: int = Field(30, ge=0)

    def rule(self) -> Retention:
        """Return the rule as a domain value."""
        return Retention(
            keep_last=self.keep_last,
            keep_younger_than=timedelta(seconds=self.keep_younger_than_s),
            keep_daily_days=self.keep_daily_days,
        )


class FreshnessSettings(_Section):
    """How old what is served may be before it is reported; it is served all the same."""

    price_stock_s: float = Field(300, gt=0, description="prices and stock, seconds")
    new_books_s: float = Field(3600, gt=0, description="new books with their vectors, seconds")
    popularity_s: float = Field(86_400, gt=0, description="popularity, seconds")
    history_s: float = Field(300, gt=0, description="purchases, library and reviews, seconds")


class CursorSettings(_Section):
    """How cursors are signed."""

    secret: SecretStr | None = Field(
        None,
        description="key of the signature; unset: a random one kept in the workspace. Set the same "
        "in every process that serves a copy of the workspace",
    )


class AlertSettings(_Section):
    """Who is told when a scheduled run fails."""

    webhook_url: str | None = Field(
        None,
        pattern=r"^https?://",
        description="address that gets a JSON document by POST for every failed run",
    )
    timeout_s: float = Field(5, gt=0, description="seconds to wait for the address")


class EvaluationSettings(_Section):
    """How evaluations are made and judged; nothing of it changes a release."""

    seed: int = Field(7, ge=0, description="seed of samples, references and resampling")
    sample: int = Field(200, ge=1, le=100_000, description="books that known-item cases come from")
    resamples: int = Field(10_000, ge=100, description="resamples per bootstrap interval")
    chunk_cases: int = Field(50, ge=1, description="outputs written at a time")
    margins: dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(
        default_factory=dict,
        description='suite.metric -> smallest difference that matters, such as "search.ndcg@10"',
    )
    user_key: SecretStr | None = Field(
        None,
        min_length=16,
        description="key of the digests that stand for user ids; unset: one made per workspace, "
        "so that runs of two workspaces pair on users only if both set the same key",
    )


class Settings(_Section):
    """A whole configuration."""

    source: str | None = Field(
        None, description="mapping file, relative to the workspace unless absolute"
    )
    load: LoadTunables = LoadTunables()
    popularity: PopularityTunables = PopularityTunables()
    encoder: EncoderTunables = EncoderTunables()
    search: SearchTunables = SearchTunables()
    vectors: VectorTunables = VectorTunables()
    run: RunSettings = RunSettings()
    retention: RetentionSettings = RetentionSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    freshness: FreshnessSettings = FreshnessSettings()
    alerts: AlertSettings = AlertSettings()
    cursor: CursorSettings = CursorSettings()

    def tunables(self) -> dict[str, object]:
        """Return what decides results, JSON-ready."""
        return self.model_dump(mode="json", include=TUNABLE_SECTIONS)

    def tunables_hash(self) -> str:
        """Return the sha256 of the tunables."""
        text = json.dumps(self.tunables(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


def load_settings(
    file: Path | None,
    environment: Mapping[str, str],
    flags: Mapping[str, object] | None = None,
) -> Settings:
    """Read the configuration.

    Args:
        file: `lifehelper.toml`; None or a missing file gives the defaults.
        environment: variables such as `LIFEHELPER__POPULARITY__WINDOW_DAYS=30`.
        flags: dotted names -> values, such as {"run.threads": 1}; None values are left out.

    Raises:
        InvalidRequest: not TOML, an unknown name, or a bad value; names the setting.
    """
    values: dict[str, object] = {}
    if file is not None and file.is_file():
        try:
            values = tomllib.loads(file.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InvalidRequest(f"{str(file)!r} is not valid TOML: {error}") from error
    for name, text in sorted(environment.items()):
        if name.startswith(ENV_PREFIX):
            _put(values, name.removeprefix(ENV_PREFIX).lower().split("__"), text)
    for dotted, value in (flags or {}).items():
        if value is not None:
            _put(values, dotted.split("."), value)
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InvalidRequest(
            f"setting {field!r} = {first.get('input')!r}: {first['msg']}; see `lifehelper schema "
            "config`",
            field=field,
        ) from error


def _put(values: dict[str, object], path: list[str], value: object) -> None:
    *sections, last = path
    here = values
    for section in sections:
        below = here.setdefault(section, {})
        if not isinstance(below, dict):
            raise InvalidRequest(f"setting {'.'.join(path)!r}: {section!r} is not a section")
        here = below
    here[last] = value

"""ISO 8601 text becomes UTC microseconds."""

from datetime import UTC, datetime
from typing import Final

import polars as pl

_PATTERN: Final = (
    r"^(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[ T](?P<hm>[0-9]{2}:[0-9]{2})(?::(?P<s>[0-9]{2})(?:[.,](?P<f>[0-9]{1,9}))?)?"
    r"\s*(?P<offset>[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?)?$"
)
UTC_MICROSECONDS: Final = pl.Datetime("us", "UTC")
EARLIEST: Final = datetime(1, 1, 1, tzinfo=UTC)


def cast_timestamp(text: pl.Expr, naive_timezone: str | None) -> tuple[pl.Expr, pl.Expr]:
    """Cast trimmed text to UTC timestamps.

    Accepts `YYYY-MM-DD`, with `HH:MM`, seconds and a fraction (cut at microseconds), and an offset
    (`Z`, `+09`, `+0900`, `+09:00`). Text without an offset is read in `naive_timezone`; of a
    local time that occurred twice the earlier is meant.

    Args:
        text: trimmed text, null where absent.
        naive_timezone: IANA name, or None to refuse text without an offset.

    Returns:
        (value, reason): reason is null where the value is good, else `not_a_timestamp`,
        `naive_timestamp`, `nonexistent_local_time` or `out_of_range` (in UTC before year 1, which
        Python cannot hold).
    """
    groups = text.str.extract_groups(_PATTERN)
    offset = groups.struct.field("offset")
    local = pl.concat_str(
        groups.struct.field("date"),
        pl.lit(" "),
        groups.struct.field("hm").fill_null("00:00"),
        pl.lit(":"),
        groups.struct.field("s").fill_null("00"),
        pl.lit("."),
        groups.struct.field("f").fill_null("0").str.pad_end(6, "0").str.head(6),
    ).str.to_datetime("%Y-%m-%d %H:%M:%S%.6f", strict=False, time_unit="us")
    minutes = _offset_minutes(offset)
    aware = (local - pl.duration(minutes=minutes)).dt.replace_time_zone("UTC")
    naive = (
        local.dt.replace_time_zone(
            naive_timezone, ambiguous="earliest", non_existent="null"
        ).dt.convert_time_zone("UTC")
        if naive_timezone
        else pl.lit(None, dtype=UTC_MICROSECONDS)
    )
    value = pl.when(offset.is_not_null()).then(aware).otherwise(naive)
    wrong = local.is_null() | (offset.is_not_null() & minutes.is_null())
    reason = (
        pl.when(text.is_null())
        .then(pl.lit(None, dtype=pl.String))
        .when(wrong)
        .then(pl.lit("not_a_timestamp"))
        .when(value < EARLIEST)
        .then(pl.lit("out_of_range"))
        .when(value.is_not_null())
        .then(pl.lit(None, dtype=pl.String))
        .otherwise(pl.lit("nonexistent_local_time" if naive_timezone else "naive_timestamp"))
    )
    return value, reason


def _offset_minutes(offset: pl.Expr) -> pl.Expr:
    """Minutes east of UTC; null for an offset beyond +-18:00 or with minutes over 59."""
    sign = pl.when(offset.str.starts_with("-")).then(-1).otherwise(1)
    hours = offset.str.slice(1, 2).cast(pl.Int32, strict=False)
    rest = offset.str.slice(3).str.strip_prefix(":")
    minutes = pl.when(rest == "").then(0).otherwise(rest.cast(pl.Int32, strict=False))
    within = (hours <= 18) & (minutes <= 59)
    return (
        pl.when(offset.str.to_uppercase() == "Z")
        .then(0)
        .when(within)
        .then(sign * (hours * 60 + minutes))
    )

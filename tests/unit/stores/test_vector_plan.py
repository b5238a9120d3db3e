import polars as pl
import pytest

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.stores.vector_plan import sync_plan


def rows(**digests: str | None) -> pl.DataFrame:
    """`rows(i3="aa")` is item 3 with digest "aa"."""
    return pl.DataFrame(
        {
            "item_id": [int(name.removeprefix("i")) for name in digests],
            "text_digest": list(digests.values()),
        },
        schema={"item_id": pl.Int64, "text_digest": pl.String},
    )


def test_new_and_changed_are_embedded_and_unwanted_deleted() -> None:
    stored = rows(i1="aa", i2="bb", i3="cc", i9="ff")
    plan = sync_plan(stored, rows(i4="dd", i3="cc", i2="changed", i1="aa"))
    assert plan.to_embed.tolist() == [2, 4]
    assert plan.to_delete.tolist() == [9]
    assert plan.unchanged == 2


def test_nothing_wanted_deletes_all_and_nothing_stored_embeds_all() -> None:
    some = rows(i2="bb", i1="aa")
    gone, new = sync_plan(some, rows()), sync_plan(rows(), some)
    assert (gone.to_embed.tolist(), gone.to_delete.tolist(), gone.unchanged) == ([], [1, 2], 0)
    assert (new.to_embed.tolist(), new.to_delete.tolist(), new.unchanged) == ([1, 2], [], 0)
    assert new.to_embed.dtype == "int64"


def test_swapped_digests_are_two_changes() -> None:
    plan = sync_plan(rows(i1="aa", i2="bb"), rows(i1="bb", i2="aa"))
    assert (plan.to_embed.tolist(), plan.unchanged) == ([1, 2], 0)


def test_ambiguous_wishes_are_refused() -> None:
    twice = pl.concat([rows(i1="aa", i5="bb"), rows(i5="cc")])
    with pytest.raises(InvalidRequest, match="item 5 is wanted more than once"):
        sync_plan(rows(), twice)
    with pytest.raises(InvalidRequest, match="item 7 has no text digest"):
        sync_plan(rows(), rows(i1="aa", i7=None))

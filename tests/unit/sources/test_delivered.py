import pytest

from lifehelper_data.domain.contract import TABLES
from lifehelper_data.domain.errors import MappingError
from lifehelper_data.sources.delivered import Delivered, delivered_columns
from lifehelper_data.sources.postgres import DatabaseColumn, Shape

PURCHASES = TABLES["user_purchases"]


def columns(**shapes: Shape) -> list[DatabaseColumn]:
    return [DatabaseColumn(name=n, type_name=f"t_{n}", shape=s) for n, s in shapes.items()]


def purchases(**shapes: Shape) -> Delivered:
    base: dict[str, Shape] = {"user_id": "scalar", "book_id": "scalar", "purchased_at": "scalar"}
    return delivered_columns(PURCHASES, "select 1 -- x", columns(**base | shapes))


def test_columns_of_the_contract_are_wanted_and_others_ignored() -> None:
    found = purchases(Arrived_At="scalar", Note="scalar", cover="binary", amount="nested")
    assert found.columns == ("arrived_at", "book_id", "purchased_at", "user_id")
    assert found.ignored == ("amount", "cover", "note")
    assert found.types["arrived_at"] == "t_Arrived_At"


def test_only_wanted_columns_are_asked_for_as_text() -> None:
    found = delivered_columns(
        TABLES["onboarding"], "select 1 -- x", columns(user_id="scalar", Tags="nested", z="scalar")
    )
    assert found.select("1 AS extra", "a > 1") == (
        """SELECT nullif(to_json("Tags")::text, '') AS "tags", """
        """nullif("user_id"::text, '') AS "user_id", 1 AS extra """
        "FROM (\nselect 1 -- x\n) AS source WHERE a > 1"
    )
    assert found.select() == (
        """SELECT nullif(to_json("Tags")::text, '') AS "tags", """
        """nullif("user_id"::text, '') AS "user_id" FROM (\nselect 1 -- x\n) AS source"""
    )


def test_required_columns_must_be_there() -> None:
    with pytest.raises(
        MappingError,
        match=r"tables.user_purchases.query does not return 'user_id', 'purchased_at'; the",
    ):
        delivered_columns(PURCHASES, "q", columns(book_id="scalar"))


def test_a_name_may_stand_once_whatever_its_case() -> None:
    with pytest.raises(MappingError, match=r"query returns 'arrived_at' twice; name each column"):
        purchases(arrived_at="scalar", ARRIVED_AT="scalar")


def test_bytes_are_no_text() -> None:
    with pytest.raises(
        MappingError, match=r"query returns 'arrived_at' as t_arrived_at: bytes are not text; write"
    ) as refused:
        purchases(arrived_at="binary")
    assert refused.value.field == "user_purchases"

"""Search requests: what is refused, and how it is named."""

from typing import Any

import pytest

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.domain.search.messages_ko import MESSAGES, SearchMessage
from lifehelper_data.runtime.requests import parse_search_request


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({}, "query"),
        ({"query": ""}, "query"),
        ({"query": "  \u3000"}, "query"),
        ({"query": "가" * 201}, "query"),
        ({"query": 7}, "query"),
        ({"query": "a\x00b"}, "query"),
        ({"query": "a\ud800"}, "query"),
        ({"query": "책", "size": 0}, "size"),
        ({"query": "책", "size": 51}, "size"),
        ({"query": "책", "size": "15"}, "size"),
        ({"query": "책", "size": True}, "size"),
        ({"query": "책", "sort": "best"}, "sort"),
        ({"query": "책", "page": 2}, "page"),
        ({"query": "책", "filters": {"colour": "red"}}, "filters.colour"),
        ({"query": "책", "filters": {"price_min": -1}}, "filters.price_min"),
        ({"query": "책", "filters": {"price_max": 2**31}}, "filters.price_max"),
        ({"query": "책", "filters": {"price_min": 2, "price_max": 1}}, "filters"),
        ({"query": "책", "filters": {"pub_year_from": 2, "pub_year_to": 1}}, "filters"),
        ({"query": "책", "filters": {"category": " "}}, "filters.category"),
        ({"query": "책", "filters": {"in_stock_only": "yes"}}, "filters.in_stock_only"),
        ({"query": "책", "filters": None}, "filters"),
    ],
)
def test_a_wrong_request_names_its_field(request_: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_search_request(request_)
    assert refused.value.field == field
    assert "\n" not in str(refused.value)


def test_a_request_is_trimmed_and_has_defaults() -> None:
    request = parse_search_request({"query": " 투자 \t", "filters": {"price_max": 20_000}})
    assert (request.query, request.size, request.sort) == ("투자", 15, "relevance")
    assert request.filters.to_domain().price_max == 20_000
    assert len(parse_search_request({"query": " " + "가" * 200}).query) == 200


def test_every_message_code_has_a_korean_text() -> None:
    assert set(MESSAGES) == set(SearchMessage)
    assert all(any("가" <= mark <= "힣" for mark in text) for text in MESSAGES.values())

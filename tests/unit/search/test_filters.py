"""Filters as masks."""

import numpy as np
import pytest

from lifehelper_data.domain.search.filters import (
    BookColumns,
    SearchFilters,
    filter_classes,
    filter_mask,
)

COLUMNS = BookColumns(
    book_ids=np.array([1, 2, 3, 5], dtype=np.int64),
    price=np.array([10_000, -1, 20_000, 30_000], dtype=np.int64),
    pub_year=np.array([2020, 2021, -1, 2023], dtype=np.int64),
    in_stock=np.array([True, True, False, True]),
    class_codes=np.array([0, 1, 1, -1], dtype=np.int64),
    classes=("시", "역사"),
)


@pytest.mark.parametrize(
    ("filters", "passing"),
    [
        (SearchFilters(price_min=10_000), [1, 3, 5]),
        (SearchFilters(price_max=20_000), [1, 3]),
        (SearchFilters(price_min=10_001, price_max=29_999), [3]),
        (SearchFilters(price_max=0), []),
        (SearchFilters(pub_year_from=2021), [2, 5]),
        (SearchFilters(pub_year_to=2021), [1, 2]),
        (SearchFilters(in_stock_only=True), [1, 2, 5]),
        (SearchFilters(in_stock_only=True, price_min=1, pub_year_from=2021), [5]),
    ],
)
def test_bounds_are_inclusive_and_unknown_values_do_not_pass(
    filters: SearchFilters, passing: list[int]
) -> None:
    mask = filter_mask(COLUMNS, filters, None)
    assert mask is not None
    assert COLUMNS.book_ids[mask].tolist() == passing


def test_without_conditions_there_is_no_mask() -> None:
    assert filter_mask(COLUMNS, SearchFilters(), None) is None


def test_a_category_lets_its_classes_through() -> None:
    mask = filter_mask(COLUMNS, SearchFilters(category="역사"), {"역사"})
    assert mask is not None
    assert COLUMNS.book_ids[mask].tolist() == [2, 3]


def test_category_means_core_classes_or_the_class_of_that_name_or_both() -> None:
    core = {"소설": {"한국소설", "영미소설"}, "역사": {"한국사"}}
    classes = {"한국소설", "역사", "시"}
    assert filter_classes("소설", core, classes) == frozenset({"한국소설", "영미소설"})
    assert filter_classes("시", core, classes) == frozenset({"시"})
    assert filter_classes("역사", core, classes) == frozenset({"한국사", "역사"})
    assert filter_classes("요가", core, classes) is None


def test_rows_of_books_the_catalog_has_not_are_minus_one() -> None:
    assert COLUMNS.rows_of(np.array([5, 4, 1, 9], dtype=np.int64)).tolist() == [3, -1, 0, -1]

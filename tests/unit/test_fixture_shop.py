"""The committed fixture shop has the properties that other tests and evaluations rely on."""

from __future__ import annotations

import csv
import json
import random
import re
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FIXTURES = Path(__file__).parents[2] / "fixtures"
NOW = "2026-11-15 00:00:00"
TEST_FROM = "2026-09-16 00:00:00"  # the last 60 days
CATEGORIES = "소설 에세이 인문 경제경영 자기계발 라이프스타일 과학 외국어 철학 역사 여행 사회 IT"
HISTORY = {"purchases": "purchased_at", "library": "added_at", "reviews": "created_at"}


@cache
def table(name: str) -> list[dict[str, str]]:
    with (FIXTURES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


@cache
def objects(name: str) -> list[dict[str, Any]]:
    text = (FIXTURES / "shop" / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@cache
def catalog() -> dict[str, dict[str, Any]]:
    documents = [
        tomllib.loads(path.read_text(encoding="utf-8"))
        for path in sorted((FIXTURES / "generator" / "catalog").glob("*.toml"))
    ]
    return {book["title"]: book | {"class": d["class"]} for d in documents for book in d["books"]}


@cache
def books() -> dict[str, dict[str, str]]:
    return {row["book_id"]: row for row in table("shop/books")}


def lead_author(book_id: str) -> str:
    return books()[book_id]["author"].split(" (")[0]


def event(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(text for column, text in row.items() if column != "arrived_at")


def hours_between(earlier: str, later: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds() / 3600


def test_generator_reproduces_what_is_committed(tmp_path: Path) -> None:
    command = [sys.executable, "-B", "-m", "fixtures.generator", "--check"]
    check = subprocess.run(
        command, cwd=FIXTURES.parent, capture_output=True, text=True, check=False
    )
    assert check.returncode == 0, check.stdout + check.stderr
    empty = subprocess.run(
        [*command, "--out", str(tmp_path)],
        cwd=FIXTURES.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert empty.returncode == 1
    assert "differs: shop/books.csv" in empty.stdout.splitlines()


def test_files_are_small() -> None:
    folders = [FIXTURES / "shop", FIXTURES / "shop_dirty"]
    sizes = [p.stat().st_size for folder in folders for p in folder.rglob("*") if p.is_file()]
    assert sum(sizes) < 3_000_000


def test_books_have_the_promised_gaps() -> None:
    rows = table("shop/books")
    missing = {column: sum(not row[column] for row in rows) for column in rows[0]}
    assert len(rows) == len(books()) == len({row["title"] for row in rows}) == 600
    assert missing["description"] == 150
    assert (missing["author"], missing["price"], missing["in_stock"]) == (10, 12, 6)
    assert (missing["pub_year"], missing["category"]) == (8, 6)
    assert 0.82 < missing["cover_url"] / 600 < 0.86
    prices = [int(row["price"]) for row in rows if row["price"]]
    assert sum(price < 1000 or price > 500_000 for price in prices) == 5
    assert all(price % 100 == 0 for price in prices)
    assert sum(9_000 <= price <= 33_000 for price in prices) == len(prices) - 5
    assert 0.10 < sum(row["in_stock"] == "false" for row in rows) / 600 < 0.14
    assert sum(row["listed_at"] >= "2025-05-15" for row in rows) == 60
    assert all("2019" <= row["listed_at"] <= row["updated_at"] <= NOW for row in rows)
    assert not {row["title"] for row in rows} & {"NA", "X"}
    assert max(map(int, books())) - min(map(int, books())) > 1000  # ids have gaps


def test_authors_and_publishers_look_like_a_real_catalogue() -> None:
    written = Counter(lead_author(book_id) for book_id in books())
    del written[""]
    assert 80 <= len(written) <= 90
    assert sum(8 <= n <= 15 for n in written.values()) >= 12
    assert max(written.values()) <= 15
    assert sum("(옮긴이)" in row["author"] for row in table("shop/books")) >= 30
    houses = {row["publisher"] for row in table("shop/books")}
    plain = {re.sub(r"\(주\)|주식회사|\s", "", house) for house in houses}
    assert len(plain) == 25
    assert len(houses) > len(plain)  # the same house in two spellings
    series = defaultdict(set)
    for book_id, row in books().items():
        if "series" in (entry := catalog()[row["title"]]) and row["author"]:
            series[entry["series"]].add(lead_author(book_id))
    assert len(series) >= 4
    assert all(len(authors) == 1 for authors in series.values())


def test_descriptions_share_no_stock_phrases() -> None:
    holders: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for book_id, row in books().items():
        words = row["description"].split()
        for at in range(len(words) - 5):
            holders[tuple(words[at : at + 6])].add(book_id)
    shared = {run: ids for run, ids in holders.items() if len(ids) > 1}
    others: dict[str, set[str]] = defaultdict(set)
    for ids in shared.values():
        for book_id in ids:
            others[book_id] |= ids - {book_id}
    assert max(map(len, others.values()), default=0) <= 3


@pytest.mark.parametrize(("name", "low", "high"), [
    ("purchases", 6000, 8000), ("library", 2600, 3600), ("reviews", 2500, 3500),
])  # fmt: skip
def test_history_rates(name: str, low: int, high: int) -> None:
    rows, time = table(f"shop/{name}"), HISTORY[name]
    assert low <= len(rows) <= high
    assert all("2025-05-15" <= row[time] <= row["arrived_at"] <= NOW for row in rows)
    delays = [hours_between(row[time], row["arrived_at"]) for row in rows]
    assert 0.02 < sum(delay > 47 for delay in delays) / len(rows) < 0.045
    assert sum(delay < 1 for delay in delays) / len(rows) > 0.94
    newest, behind = "", 0
    for row in rows:
        behind += row["arrived_at"] < newest
        newest = max(newest, row["arrived_at"])
    assert 0.035 < behind / len(rows) < 0.065
    repeats = len(rows) - len({event(row) for row in rows})
    identical = len(rows) - len({tuple(row.values()) for row in rows})
    assert 0.007 < repeats / len(rows) < 0.013
    assert 1 <= identical < repeats
    orphans = [row for row in rows if row["book_id"] not in books()]
    assert 0.003 < len(orphans) / len(rows) < 0.008
    known = [row for row in rows if row["book_id"] in books()]
    assert all(row[time] >= books()[row["book_id"]]["listed_at"] for row in known)


def test_users_differ_in_activity() -> None:
    tastes = {str(row["user_id"]): row for row in objects("hidden_tastes")}
    users = {name: {row["user_id"] for row in table(f"shop/{name}")} for name in HISTORY}
    seen = set().union(*users.values())
    assert len(tastes) == 400
    assert seen <= set(tastes)
    cold = set(tastes) - seen
    assert len(cold) == 25
    assert len(users["reviews"] - users["purchases"] - users["library"]) == 8
    bought = Counter(row["user_id"] for row in table("shop/purchases"))
    assert sum(n <= 2 for n in bought.values()) >= 15
    assert sum(n >= 80 for n in bought.values()) >= 8
    answered = {str(row["user_id"]) for row in objects("onboarding")}
    assert len(answered & cold) == 15
    assert sum(bool(row["drift"]) for row in tastes.values()) > 80


def test_ratings_follow_fit_and_some_buyers_are_disappointed() -> None:
    rows = table("shop/reviews")
    ratings = [float(row["rating"]) for row in rows]
    assert all(0.5 <= r <= 5.0 and (r * 2).is_integer() for r in ratings)
    bought = {(row["user_id"], row["book_id"]) for row in table("shop/purchases")}
    low = {(r["user_id"], r["book_id"]) for r in rows if float(r["rating"]) <= 2.0}
    assert len(low & bought) >= 100
    events = {event(row) for row in rows}
    assert sum(n > 1 for n in Counter((u, b) for u, b, _, _ in events).values()) >= 50
    assert sum(n > 1 for n in Counter((u, b, at) for u, b, _, at in events).values()) == 3
    tastes = {str(row["user_id"]): row for row in objects("hidden_tastes")}
    by_fit: dict[bool, list[float]] = {True: [], False: []}
    for row in rows:
        taste = tastes[row["user_id"]]
        if row["book_id"] in books() and taste["kind"] == "active":
            fits = books()[row["book_id"]]["category"] in taste["classes"]
            by_fit[fits].append(float(row["rating"]))
    mean = {fits: sum(values) / len(values) for fits, values in by_fit.items()}
    assert mean[True] > mean[False] + 0.4
    times = Counter((u, b) for u, b, _ in {event(r) for r in table("shop/purchases")})
    assert sum(n > 1 for n in times.values()) >= 50


def test_readers_of_a_first_volume_go_on_to_the_second() -> None:
    numbered: dict[str, list[str]] = defaultdict(list)
    ids = {row["title"]: book_id for book_id, row in books().items()}
    for title, entry in catalog().items():
        if "series" in entry:
            numbered[entry["series"]].append(ids[title])
    bought = {(row["user_id"], row["book_id"]) for row in table("shop/purchases")}
    users = {user for user, _ in bought}
    first = [(u, v) for v in numbered.values() for u in users if (u, v[0]) in bought]
    second = sum((u, v[1]) in bought for u, v in first) / len(first)
    anyone = sum((u, v[1]) in bought for v in numbered.values() for u in users)
    assert second > 3 * anyone / (len(users) * len(numbered))


def test_onboarding_keeps_its_limits() -> None:
    rows = objects("onboarding")
    tags = set(tomllib.loads((FIXTURES / "generator/phrases.toml").read_text("utf-8"))["moods"])
    assert len(rows) == 340
    assert len(tags) == 40
    for row in rows:
        assert len(row["categories"]) <= 3
        assert set(row["categories"]) <= set(CATEGORIES.split())
        assert len(row["tags"]) <= 9
        assert set(row["tags"]) <= tags
        assert set(map(str, row["liked_book_ids"])) <= set(books())
        assert len(set(row["liked_book_ids"])) == len(row["liked_book_ids"])
        assert len(row["reading_times"]) <= 5
        assert len(row["criteria"]) <= 3
    assert sum(len(row["liked_book_ids"]) > 50 for row in rows) == 2
    assert sum(len(row["liked_book_ids"]) <= 12 for row in rows) == 338


def test_memories_are_natural_and_true_to_the_taste() -> None:
    rows = objects("memories")
    patterns = tomllib.loads((FIXTURES / "generator/phrases.toml").read_text("utf-8"))["memories"]
    kinds = ("mood", "topic", "author", "condition")
    assert sum(len(patterns[kind]) for kind in kinds) >= 60
    assert len(rows) == 1200
    assert len({row["user_id"] for row in rows}) == 240
    assert {row["type"] for row in rows} == set(kinds)
    assert all(0 <= row["confidence"] <= 1 and row["created_at"] <= NOW for row in rows)
    assert all(row["vector"] is row["dim"] is row["vector_space_id"] is None for row in rows)
    assert all(re.fullmatch(r"c-\d{6}", row["source_conversation_id"]) for row in rows)
    assert not [row["value"] for row in rows if "{" in row["value"] or "/" in row["value"]]
    tastes = {row["user_id"]: row for row in objects("hidden_tastes")}
    for row in rows:
        if row["type"] == "author":
            assert any(name in row["value"] for name in tastes[row["user_id"]]["authors"])


def test_category_map_reaches_every_class() -> None:
    rows = table("category_map")
    classes = {book["class"] for book in catalog().values()}
    assert {row["category"] for row in rows} == set(CATEGORIES.split())
    assert {row["class"] for row in rows} == classes
    assert {row["class"] for row in rows if row["strength"] == "core"} == classes
    assert len({(row["category"], row["class"]) for row in rows}) == len(rows)
    assert "역사" in classes
    assert len(classes) == 30


Recommend = Callable[[str], list[str]]


def test_taste_can_be_learned_and_popularity_is_a_baseline() -> None:
    """Hit@10 of users on new books of the last 60 days: profile >= 1.5 x popularity >> random."""
    events = sorted({event(row) for row in table("shop/purchases")})
    known: dict[str, set[str]] = defaultdict(set)
    target: dict[str, set[str]] = defaultdict(set)
    popularity: Counter[str] = Counter()
    for user, book_id, time in events:
        if time < TEST_FROM and book_id in books():
            known[user].add(book_id)
            popularity[book_id] += 1
    for user, book_id, time in events:
        if time >= TEST_FROM and book_id in books() and book_id not in known[user]:
            target[user].add(book_id)
    features = {
        book_id: [("class", row["category"]), ("author", lead_author(book_id))]
        + [("mood", mood) for mood in catalog()[row["title"]]["moods"]]
        for book_id, row in books().items()
    }
    weights = {"class": 1.0, "author": 1.0, "mood": 0.15}

    def top(user: str, score: Callable[[str], float]) -> list[str]:
        left = sorted(set(books()) - known[user])
        return sorted(left, key=lambda b: (-score(b), -popularity[b], b))[:10]

    def by_profile(user: str) -> list[str]:
        profile = Counter(f for book_id in known[user] for f in features[book_id] if f[1])
        return top(user, lambda b: sum(weights[f[0]] * profile[f] for f in features[b]))

    def by_chance(user: str) -> list[str]:
        return random.Random(user).sample(sorted(set(books()) - known[user]), 10)

    def hit_rate(recommend: Recommend) -> float:
        return sum(bool(target[u] & set(recommend(u))) for u in sorted(target)) / len(target)

    assert len(target) > 150
    profile, popular = hit_rate(by_profile), hit_rate(lambda user: top(user, lambda _: 0.0))
    chance = hit_rate(by_chance)
    assert profile >= 1.5 * popular, (profile, popular, chance)
    assert popular >= 2.5 * chance, (profile, popular, chance)


# The dirty copy, read by a second, independent reader.

DRESS = {
    "books.csv": (b",", "cp949"),
    "purchases.tsv": (b"\t", "utf-8-sig"),
    "library/part-1.csv": (b",", "utf-8"),
    "library/part-2.csv": (b",", "utf-8"),
    "library/part-3.csv": (b",", "utf-8"),
}
GOOD_TEXTS = {
    "user_id": re.compile(r"\d+"),
    "book_id": re.compile(r"\d+"),
    "title": re.compile(r".*\S.*"),
    "price": re.compile(r"\d*"),
    "rating": re.compile(r"[1-4]\.[05]|0\.5|5\.0"),
}
BOOK_HEADERS = "도서번호 제목 저자 출판사 판매가 재고 표지 분류 출간연도 소개 등록일 수정일"
CONTRACT = {
    "books": dict(zip(BOOK_HEADERS.split(), table("shop/books")[0], strict=True)),
    "user_purchases": {c: c for c in ("user_id", "book_id", "purchased_at", "arrived_at")},
    "user_library": {c: c for c in ("user_id", "book_id", "added_at", "arrived_at")},
    "user_reviews": {
        "user": "user_id",
        "book": "book_id",
        "score": "rating",
        "written_at": "created_at",
        "arrived_at": "arrived_at",
    },
}


def field_end(data: bytes, start: int, delimiter: bytes) -> int | None:
    """Where the field that starts here ends; None when its quote is never closed."""
    if data[start : start + 1] != b'"':
        stop = re.compile(delimiter + rb"|\r?\n").search(data, start)
        return len(data) if stop is None else stop.start()
    at = start + 1
    while (at := data.find(b'"', at)) >= 0:
        if data[at + 1 : at + 2] == b'"':
            at += 2
        elif data[at + 1 :].startswith((delimiter, b"\r\n", b"\n")) or at + 1 == len(data):
            return at + 1
        else:
            return None
    return None


def records(data: bytes, delimiter: bytes) -> Iterator[list[bytes] | None]:
    """Raw fields of every non-blank logical line, None for an unclosed quote."""
    at = 0
    while at < len(data):
        line_start, fields = at, []
        while True:
            end = field_end(data, at, delimiter)
            if end is None:
                yield None
                at = data.index(b"\n", line_start) + 1
                break
            fields.append(data[at:end])
            if data[end : end + 1] == delimiter:
                at = end + 1
                continue
            at = end + (2 if data[end : end + 2] == b"\r\n" else 1)
            if fields != [b""]:
                yield fields
            break


def read_delimited(name: str) -> tuple[list[dict[str, str]], Counter[str]]:
    delimiter, encoding = DRESS[name]
    lines = records((FIXTURES / "shop_dirty" / name).read_bytes(), delimiter)
    header = [field.decode(encoding) for field in next(lines) or []]
    rows, reasons = [], Counter[str]()
    for fields in lines:
        if fields is None:
            reasons["unclosed_quote"] += 1
        elif any(b"\0" in field for field in fields):
            reasons["nul"] += 1
        elif len(fields) != len(header):
            reasons["column_count"] += 1
        else:
            try:
                texts = [field.decode(encoding) for field in fields]
            except UnicodeDecodeError:
                reasons["broken_encoding"] += 1
                continue
            plain = [t[1:-1].replace('""', '"') if t.startswith('"') else t for t in texts]
            rows.append(dict(zip(header, plain, strict=True)))
    return rows, reasons


def read_json_lines(name: str) -> tuple[list[dict[str, str]], Counter[str]]:
    rows, reasons = [], Counter[str]()
    for line in (FIXTURES / "shop_dirty" / name).read_bytes().split(b"\n"):
        if not line:
            continue
        try:
            body = json.loads(line.decode())
        except UnicodeDecodeError:
            reasons["broken_encoding"] += 1
        except json.JSONDecodeError:
            reasons["nul" if b"\0" in line else "not_json"] += 1
        else:
            if isinstance(body, dict):
                rows.append({key: str(body.get(key, "")) for key in CONTRACT["user_reviews"]})
            else:
                reasons["not_object"] += 1
    return rows, reasons


def is_bad(column: str, text: str) -> bool:
    if column.endswith("_at") and text:
        try:
            return datetime.fromisoformat(text) > datetime.fromisoformat(NOW)
        except ValueError:
            return True
    return column in GOOD_TEXTS and not GOOD_TEXTS[column].fullmatch(text)


def test_dirty_copy_holds_exactly_the_dirt_that_was_counted() -> None:
    expected = json.loads((FIXTURES / "shop_dirty/expected.json").read_text(encoding="utf-8"))
    rows_of: dict[str, list[dict[str, str]]] = defaultdict(list)
    names = {
        "books.csv": "books",
        "purchases.tsv": "user_purchases",
        "reviews.jsonl": "user_reviews",
    }
    for name, counted in expected["files"].items():
        rows, reasons = (read_delimited if name in DRESS else read_json_lines)(name)
        assert (len(rows), dict(sorted(reasons.items()))) == (counted["rows"], counted["reasons"])
        assert counted["lines"] == counted["rows"] + counted["rejected"]
        assert counted["rejected"] == sum(counted["reasons"].values()) <= 0.05 * counted["lines"]
        rows_of[names.get(name, "user_library")] += rows
    standing: dict[str, dict[str, str]] = {}  # the line of each book that wins
    for name, counted in expected["tables"].items():
        good: list[tuple[str, ...]] = []
        bad_columns = Counter[str]()
        for row in rows_of[name]:
            null_values = ("NA", "X") if name == "books" else ()
            named = {c: "" if row[h] in null_values else row[h] for h, c in CONTRACT[name].items()}
            bad = next((column for column, text in named.items() if is_bad(column, text)), None)
            if bad is not None:
                bad_columns[bad] += 1
            elif name == "books":
                good.append((named["book_id"],))
                rival = standing.setdefault(named["book_id"], named)
                if named["updated_at"] >= rival["updated_at"]:
                    standing[named["book_id"]] = named
            else:
                good.append(event(named))
        lost = "duplicates" if name == "books" else "repeated"
        assert dict(bad_columns) == counted["bad_columns"]
        assert (len(set(good)), len(good) - len(set(good))) == (counted["kept"], counted[lost])
        parts = ("kept", "repeated", "duplicates", "quarantined")
        assert counted["returned"] == len(rows_of[name]) == sum(counted[part] for part in parts)
        assert counted["quarantined"] == sum(bad_columns.values()) < 0.05 * counted["returned"]
        if name != "books":
            orphans = [row for row in set(good) if row[1] not in standing]
            assert len(orphans) == expected["orphans"][name]
    winners = expected["winners"]
    assert {book_id: int(standing[book_id]["price"]) for book_id in winners} == winners

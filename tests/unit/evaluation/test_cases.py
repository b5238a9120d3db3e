"""Cases count once, pin what they say, and carry no user id when stored."""

from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.evaluation.cases import Case, CaseSet, DataKind, Repeat, Unit
from lifehelper_data.stores.eval_records import Json
from lifehelper_data.stores.eval_users import UserDigest

USERS = UserDigest(b"a key of the test")


def case(case_id: str, asked: Json = "q", target: Json = None, **more: object) -> Case:
    return Case(case_id=case_id, family=case_id, input=asked, target=target, **more)  # type: ignore[arg-type]


def test_equal_ids_and_equal_inputs_count_once_and_are_reported() -> None:
    found = CaseSet.of(
        DataKind.LABELLED,
        [
            case("a", "1", "x"),
            case("a", "1", "x"),
            case("a", "2", "x"),
            case("b", "1", "x"),
            case("c", "1", "y"),
            case("d", "3", "x"),
        ],
    )
    assert [each.case_id for each in found.cases] == ["a", "d"]
    assert found.repeats == (
        Repeat(case_id="a", kept="a", reason="same id"),
        Repeat(case_id="a", kept="a", reason="same id, other content"),
        Repeat(case_id="b", kept="a", reason="same input"),
        Repeat(case_id="c", kept="a", reason="same input, other labels"),
    )


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 3))))
def test_every_case_is_kept_or_reported(pairs: list[tuple[str, int]]) -> None:
    found = CaseSet.of(DataKind.GENERATED, [case(name, asked) for name, asked in pairs])
    assert len(found.cases) + len(found.repeats) == len(pairs)
    assert len({each.case_id for each in found.cases}) == len(found.cases)
    assert len({each.input for each in found.cases}) == len(found.cases)


def test_the_digest_sees_input_target_slices_and_units_and_no_note() -> None:
    plain = case("a")
    assert case("b", note="why").digest == plain.digest
    others = [
        case("a", "other"),
        case("a", target={"1": 1}),
        case("a", slices={"kind": "x"}),
        case("a", units=(Unit(unit_id="claim 1"),)),
        case("a", units=(Unit(unit_id="claim 1", slices={"kind": "price"}),)),
    ]
    assert len({each.digest for each in [plain, *others]}) == 1 + len(others)


def test_the_digest_of_a_set_sees_order_ids_families_and_kind() -> None:
    a, b = case("a", "1"), case("b", "2")
    family = Case(case_id="a", family="f", input="1")
    sets = [
        CaseSet.of(DataKind.LABELLED, [a, b]),
        CaseSet.of(DataKind.LABELLED, [b, a]),
        CaseSet.of(DataKind.GENERATED, [a, b]),
        CaseSet.of(DataKind.LABELLED, [a, case("c", "2")]),
        CaseSet.of(DataKind.LABELLED, [family, b]),
    ]
    assert len({each.digest for each in sets}) == len(sets)
    assert CaseSet.of(DataKind.LABELLED, [a, b, a]).digest == sets[0].digest


def test_a_stored_case_holds_digests_instead_of_user_ids_everywhere() -> None:
    asked: Json = {"user_id": 1234, "nested": [{"user_ids": [1234, "kim"]}], "book_id": 1234}
    real = Case(
        case_id="user 1234 at 3", family="1234", input=asked, target={"user_id": "kim"},
        note="kim bought 12345",
    )  # fmt: skip
    known, kim = USERS.of(1234), USERS.of("kim")
    stored = real.hidden(USERS)
    assert stored.case_id == f"user {known} at 3"
    assert stored.family == known
    assert stored.input == {
        "user_id": known, "nested": [{"user_ids": [known, kim]}], "book_id": 1234,
    }  # fmt: skip
    assert stored.target == {"user_id": kim}
    assert stored.note == f"{kim} bought 12345"
    assert stored.hidden(USERS) == stored


def test_digests_of_users_depend_on_the_key_and_tell_users_apart() -> None:
    assert USERS.of(7) == USERS.of("7") != USERS.of(8)
    assert UserDigest(b"another key of the test").of(7) != USERS.of(7)
    assert USERS.of(7).startswith("u-")
    assert len(USERS.of(7)) == 2 + 24


def test_what_only_looks_like_a_digest_is_hidden_too() -> None:
    assert USERS.of("u-12") != "u-12"
    assert USERS.of("u-" + "x" * 24) != "u-" + "x" * 24


def test_null_users_and_flags_stay() -> None:
    assert USERS.hide({"user_id": None, "user_ids": True}) == {"user_id": None, "user_ids": True}

"""What users did and said."""

from typing import Final

from lifehelper_data.domain.contract.columns import Column, Kind
from lifehelper_data.domain.contract.common import arrived_at, book_id, text, time, user_id
from lifehelper_data.domain.contract.table import Duplicates, Table

USER_PURCHASES: Final = Table(
    name="user_purchases",
    meaning="one row per purchase; a book can be bought twice at different times",
    key=("user_id", "book_id", "purchased_at"),
    duplicates=Duplicates.REPEATED_DELIVERY,
    event_time="purchased_at",
    freshness_time="purchased_at",
    bucketed_by="user_id",
    columns=(
        user_id(),
        book_id(),
        time("purchased_at", "when it was bought"),
        arrived_at(),
    ),
)

USER_LIBRARY: Final = Table(
    name="user_library",
    meaning="one row per book put on a user's shelf",
    key=("user_id", "book_id", "added_at"),
    duplicates=Duplicates.REPEATED_DELIVERY,
    event_time="added_at",
    freshness_time="added_at",
    bucketed_by="user_id",
    columns=(user_id(), book_id(), time("added_at", "when it was added"), arrived_at()),
)

USER_REVIEWS: Final = Table(
    name="user_reviews",
    meaning="one row per review",
    key=("user_id", "book_id", "rating", "created_at"),
    duplicates=Duplicates.REPEATED_DELIVERY,
    event_time="created_at",
    freshness_time="created_at",
    bucketed_by="user_id",
    columns=(
        user_id(),
        book_id(),
        Column(
            name="rating",
            kind=Kind.FLOAT,
            nullable=False,
            minimum=0.5,
            maximum=5.0,
            half_steps=True,
            meaning="stars in half steps, 0.5-5.0",
        ),
        time("created_at", "when it was written"),
        arrived_at(),
    ),
)

ONBOARDING: Final = Table(
    name="onboarding",
    meaning="what a user said when signing up",
    key=("user_id",),
    duplicates=Duplicates.LAST_WINS,
    columns=(
        user_id(),
        Column(
            name="categories",
            kind=Kind.TEXT_LIST,
            max_items=3,
            meaning="chosen onboarding categories, at most 3",
        ),
        Column(name="tags", kind=Kind.TEXT_LIST, max_items=9, meaning="chosen tags, at most 9"),
        Column(
            name="liked_book_ids",
            kind=Kind.INT_LIST,
            id_space="books",
            meaning="books the user said to like; the first 50 are used",
        ),
        Column(
            name="reading_times",
            kind=Kind.TEXT_LIST,
            max_items=5,
            meaning="when the user reads, at most 5; carried, not scored",
        ),
        Column(
            name="criteria",
            kind=Kind.TEXT_LIST,
            max_items=3,
            meaning="what matters when choosing, at most 3; carried, not scored",
        ),
    ),
)

MEMORIES: Final = Table(
    name="memories",
    meaning="sentences remembered from conversations",
    key=("user_id", "created_at"),
    duplicates=Duplicates.REPEATED_ROW,
    event_time="created_at",
    ordered_within=("user_id", "created_at"),
    columns=(
        user_id(),
        Column(
            name="type",
            kind=Kind.TEXT,
            nullable=False,
            choices=("mood", "topic", "author", "condition"),
            meaning="what the sentence is about",
        ),
        text("value", "the sentence", nullable=False),
        Column(
            name="confidence",
            kind=Kind.FLOAT,
            minimum=0,
            maximum=1,
            meaning="how sure the extractor was, 0-1",
        ),
        Column(
            name="vector",
            kind=Kind.FLOAT_LIST,
            meaning="vector of the sentence; null is embedded at build",
        ),
        Column(
            name="dim", kind=Kind.INT32, minimum=1, maximum=65_536, meaning="length of the vector"
        ),
        text("vector_space_id", "space of the vector"),
        text("source_conversation_id", "conversation it was heard in"),
        time("created_at", "when it was heard"),
        Column(
            name="seq",
            kind=Kind.INT64,
            nullable=False,
            derived=True,
            meaning="source order among rows of one user and time, from 1",
        ),
    ),
)

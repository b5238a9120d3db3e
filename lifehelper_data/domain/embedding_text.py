"""What of an item is turned into a vector, and the digest that says whether it changed."""

import hashlib

TEXT_VERSION = 1
"""Raised whenever a formula below changes."""


def book_text(title: str, description: str) -> str:
    """Return the text of a book: its title, then its blurb."""
    return f"{title}\n{description}"


def habit_text(title: str, summary: str | None) -> str:
    """Return the text of a habit: its title, then its summary."""
    return f"{title}\n{summary}" if summary else title


def text_digest(vector_space_id: str, role: str, text: str) -> str:
    """Return the digest under which a vector is kept.

    Args:
        vector_space_id: weights, pooling and prompts.
        role: "document" or "query": which prompt is put before the text.
        text: the text without the prompt.
    """
    return hashlib.sha256(f"{vector_space_id}|{role}|{text}".encode()).hexdigest()

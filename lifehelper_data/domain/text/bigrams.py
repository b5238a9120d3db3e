"""Character bigrams: how a name is found without its spaces or with one wrong letter."""

from lifehelper_data.domain.text.normalize import squash


def bigrams(text: str) -> list[str]:
    """Return the overlapping pairs of characters of a text, in order, repeats included.

    The text is squashed first and only its letters and digits count, so that "메타포, 워즈" and
    "메타포워즈" have the same bigrams. A text of one letter is its own bigram; one without a letter
    or digit has none.

    >>> bigrams("메타포, 워즈")
    ['메타', '타포', '포워', '워즈']
    >>> bigrams("숨"), bigrams("?!")
    (['숨'], [])
    """
    letters = "".join(character for character in squash(text) if character.isalnum())
    if len(letters) == 1:
        return [letters]
    return [letters[start : start + 2] for start in range(len(letters) - 1)]

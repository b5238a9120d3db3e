"""One delimited record with quotes, read line by line: no line is looked at twice."""


class BrokenQuote(ValueError):
    """Text follows a closing quote."""


class QuotedRecord:
    r"""Fields of a record that may span lines.

    Args:
        delimiter: one character between fields.
        quote: one character around fields; doubled inside them.

    Attributes:
        fields: the fields read so far, without the one that is open.

    >>> record = QuotedRecord(",", '"')
    >>> record.feed('1,"a ""b"", c')
    >>> record.open
    True
    >>> record.feed('d",e')
    >>> record.open, record.fields
    (False, ['1', 'a "b", c\nd', 'e'])
    """

    __slots__ = ("_delimiter", "_pieces", "_quote", "fields")

    def __init__(self, delimiter: str, quote: str) -> None:
        self.fields: list[str] = []
        self._delimiter = delimiter
        self._quote = quote
        self._pieces: list[str] | None = None

    @property
    def open(self) -> bool:
        """Whether the text so far ends inside a quoted field."""
        return self._pieces is not None

    def feed(self, line: str) -> None:
        """Read the next line, without its terminator.

        Raises:
            BrokenQuote: a closing quote is followed by something else than the delimiter.
        """
        position: int | None = 0
        if self._pieces is not None:
            self._pieces.append("\n")
            position = self._quoted(line, 0, self._pieces)
        while position is not None:
            if line.startswith(self._quote, position):
                position = self._quoted(line, position + 1, [])
            else:
                position = self._plain(line, position)

    def _plain(self, line: str, start: int) -> int | None:
        """Read a field without quotes; returns where the next one starts, None if none does."""
        end = line.find(self._delimiter, start)
        if end < 0:
            self.fields.append(line[start:])
            return None
        self.fields.append(line[start:end])
        return end + 1

    def _quoted(self, line: str, start: int, pieces: list[str]) -> int | None:
        """Read on inside quotes; returns where the next field starts, None if none does."""
        while True:
            end = line.find(self._quote, start)
            if end < 0:
                pieces.append(line[start:])
                self._pieces = pieces
                return None
            if line.startswith(self._quote, end + 1):
                pieces.append(line[start : end + 1])
                start = end + 2
                continue
            pieces.append(line[start:end])
            self.fields.append("".join(pieces))
            self._pieces = None
            if end + 1 == len(line):
                return None
            if line[end + 1] != self._delimiter:
                raise BrokenQuote(f"text after a closing quote at {end + 1}")
            return end + 2

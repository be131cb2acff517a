"""The error that all readers raise."""

from sdgs._utils._text import one_line

_MAX_LENGTH = 1600  # of a message; names in a file may have any length


class DataFileError(ValueError):
    """A data file cannot be read. The message says which file, where in it, and what to do, in one printable line."""

    def __init__(self, message: str) -> None:
        text = one_line(message)
        if len(text) > _MAX_LENGTH:
            text = f"{text[: _MAX_LENGTH // 2]} ... {text[-_MAX_LENGTH // 2 :]}"
        super().__init__(text)

"""The error of all readers."""


class DataFileError(ValueError):
    """A data file cannot be read. The message says which, where, and what to do."""

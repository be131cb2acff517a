"""The error that all readers raise."""


class DataFileError(ValueError):
    """A data file cannot be read. The message says which file, where in it, and what to do."""

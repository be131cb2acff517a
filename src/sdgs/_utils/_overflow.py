"""Samples with entries that are too large: an error that the command line tells from bugs."""


class TooLargeError(ValueError):
    """Entries of X are too large to compute with."""


def too_large_for_model(what: str) -> TooLargeError:
    """The error of samples that overflow in a fitted model, where ``what`` happens."""
    return TooLargeError(
        f"X has entries that are too large for this model: {what}. Are they in the units of the training samples?"
    )

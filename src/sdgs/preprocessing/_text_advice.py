"""Columns of text that could be numbers or dates: what a user should know of them."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sdgs._utils._marked_numbers import Notation
from sdgs._utils._number_parsing import MAX_TYPO_SHARE, abbreviate
from sdgs.preprocessing._date_parsing import DATE_FORMATS, parse_date

HOW_TO_CONVERT = "read the file by sdgs.datasets.read_table, which understands them, or convert the column to numbers"


@dataclass(frozen=True)
class TextAdvice:
    """A note on a column of text; ``is_warning`` if all its cells are numbers."""

    note: str = ""
    is_warning: bool = False


NO_ADVICE = TextAdvice()


def advise_on_text(name: str, counts: Counter[str], is_plain: Callable[[str], bool]) -> TextAdvice:
    """What to know of a column that is read neither as numbers nor as dates.

    The rule is that of :func:`sdgs.datasets.read_table`: a column of numbers with at most a tenth of other cells is
    text, with a note. ``is_plain`` tells which numbers the encoder reads itself.
    """
    n, notation, marked = counts.total(), Notation(), ""
    for text, count in counts.items():
        n_before = notation.n_numbers
        notation.add_cell(text, count)
        if not marked and notation.n_numbers > n_before and not is_plain(text):
            marked = text
        if notation.n_others > MAX_TYPO_SHARE * n:
            return _advise_on_dates(name, counts)
    if not notation.n_others and not notation.decimals:
        return TextAdvice("some numbers have a decimal point, and others a decimal comma: convert them")
    if not notation.n_others:
        return TextAdvice(f"numbers such as {abbreviate(marked)} are not parsed: {HOW_TO_CONVERT}", is_warning=True)
    what = f"{notation.n_numbers:,} of {n:,} cells are numbers, but {abbreviate(notation.other)} is not"
    if marked:
        return TextAdvice(f"{what}: correct it, and {HOW_TO_CONVERT}")
    return TextAdvice(f"{what}: correct it, or choose kinds={{{name!r}: 'number'}}, which makes it missing")


def _advise_on_dates(name: str, counts: Counter[str]) -> TextAdvice:
    form, others = most_frequent_date_format(counts, max_others=MAX_TYPO_SHARE * counts.total())
    if form is None or not others:
        return NO_ADVICE
    n_dates = counts.total() - sum(counts[text] for text in others)
    return TextAdvice(
        f"{n_dates:,} of {counts.total():,} cells are dates, but {abbreviate(others[0])} is not: correct it, or choose "
        f"kinds={{{name!r}: 'date'}}, which makes it missing"
    )


def most_frequent_date_format(counts: Counter[str], max_others: float) -> tuple[str | None, tuple[str, ...]]:
    """The form in which most texts are dates, and the texts that are not.

    None if there is none with at most ``max_others`` other texts, or if as many texts are dates of another form, as
    where day and month may be swapped.
    """
    others: dict[str, list[str]] = {form: [] for form in DATE_FORMATS}
    n_others: Counter[str] = Counter()
    for text, count in counts.items():
        for form in tuple(others):
            if np.isnat(parse_date(text, form)):
                others[form].append(text)
                n_others[form] += count
                if n_others[form] > max_others:
                    del others[form]
        if not others:
            return None, ()
    fewest = min(n_others[form] for form in others)
    best = [form for form in others if n_others[form] == fewest]
    if len(best) > 1 or fewest == counts.total():
        return None, ()
    return best[0], tuple(others[best[0]])

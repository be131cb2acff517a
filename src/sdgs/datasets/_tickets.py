"""Support tickets with tags: a table with text, categories, dates, numbers and missing values, for examples.

The file ``tickets.csv`` beside this module is what ``make_tickets().to_csv()`` returns, which a test checks. After a
change write it again: ``tickets_path().write_bytes(make_tickets().to_csv().encode())``.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._validation import check_int
from sdgs.datasets._ticket_phrases import ABOUT, CLOSINGS, NOT_ABOUT, OPENINGS, WITHOUT_TAG, WORDS

TAGS = tuple(ABOUT)
_TAG_SHARES = (0.2, 0.18, 0.1, 0.16, 0.16, 0.11, 0.09)  # of the first tag of a ticket, in the order of TAGS
_OFTEN_TOGETHER = {
    "shipping": ("refund", "refund", "cancellation", "billing"),
    "billing": ("refund", "cancellation", "login", "bug"),
    "refund": ("shipping", "cancellation", "billing"),
    "login": ("bug", "bug", "cancellation", "billing"),
    "bug": ("feature_request", "login", "billing", "refund"),
    "feature_request": ("bug", "billing"),
    "cancellation": ("refund", "billing", "bug"),
}
_NUMBERS_OF_TAGS = ((0, 1, 2, 3), (0.04, 0.58, 0.3, 0.08))  # and their shares
_ABOUT_MONEY = {"shipping", "billing", "refund", "cancellation"}
_PLANS = ("free", "basic", "pro", "business")
_PLAN_SHARES = {"feature_request": (0.1, 0.2, 0.4, 0.3), "login": (0.4, 0.3, 0.2, 0.1)}
_CHANNELS = ("email", "chat", "phone", "web form")
_CHANNEL_SHARES = {"shipping": (0.3, 0.2, 0.4, 0.1), "bug": (0.25, 0.35, 0.05, 0.35)}
_FIRST_DAY, _N_DAYS = date(2025, 1, 2), 150
_WRONG_SHARE = 0.03  # of the tickets
_MISSING_SHARE = 0.03  # of plans and of channels
_TYPO_SHARE = 0.2  # of the messages
_MIN_TYPO_LENGTH = 5  # letters of a word


@dataclass(frozen=True)
class Tickets:
    """Support tickets as a table of text, as in a CSV file.

    Attributes
    ----------
    columns : dict from names to tuples of str
        ``ticket``, ``message``, ``plan``, ``channel``, ``opened``, ``amount`` and ``tags``, which are separated by
        semicolons; missing values are empty.
    right_tags : tuple of str
        The column ``tags`` without mistakes.
    """

    columns: dict[str, tuple[str, ...]]
    right_tags: tuple[str, ...]

    @property
    def wrong(self) -> NDArray[np.intp]:
        """Indices of the tickets with a mistake: a tag that is missing, replaced by another, or added."""
        return np.flatnonzero(np.array(self.columns["tags"]) != np.array(self.right_tags))

    def to_csv(self) -> str:
        """The text of a CSV file."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([tuple(self.columns), *zip(*self.columns.values(), strict=True)])
        return file.getvalue()


def tickets_path() -> Path:
    """Path of a CSV file with 400 support tickets, to try the package with: what :func:`make_tickets` makes.

    Returns
    -------
    Path

    Examples
    --------
    >>> import csv
    >>> from sdgs.datasets import tickets_path
    >>> with open(tickets_path(), newline="") as file:
    ...     tickets = list(csv.DictReader(file))
    >>> len(tickets)
    400
    >>> list(tickets[0])
    ['ticket', 'message', 'plan', 'channel', 'opened', 'amount', 'tags']
    """
    return Path(__file__).with_name("tickets.csv")


def make_tickets(n_samples: int = 400, *, random_state: int = 0) -> Tickets:
    """Make support tickets with a message, a plan, a channel, a date, an amount and tags.

    Messages are put together from sentences about each tag, greetings, and sentences that name a tag in order to deny
    it; sentences about different tags share words, and a fifth of the messages have a typing error. About 3 % of the
    tickets have a wrong tag, as if tagged by mistake.

    Parameters
    ----------
    n_samples : int, default=400
    random_state : int, default=0

    Returns
    -------
    Tickets
    """
    n = check_int(n_samples, "n_samples", minimum=1)
    rng = np.random.RandomState(check_int(random_state, "random_state", minimum=0))  # whose stream never changes
    tags = [_draw_tags(rng) for _ in range(n)]
    days = np.sort(rng.randint(_N_DAYS, size=n))
    first = [own[0] if own else "" for own in tags]
    columns = {
        "ticket": [f"T-{10001 + i}" for i in range(n)],
        "message": [_draw_message(rng, own) for own in tags],
        "plan": [_draw_category(rng, _PLANS, _PLAN_SHARES.get(tag)) for tag in first],
        "channel": [_draw_category(rng, _CHANNELS, _CHANNEL_SHARES.get(tag)) for tag in first],
        "opened": [(_FIRST_DAY + timedelta(days=int(day))).isoformat() for day in days],
        "amount": [_draw_amount(rng, own) for own in tags],
    }
    right_tags = tuple(map(_join, tags))
    for i in rng.permutation(n)[: round(_WRONG_SHARE * n)]:
        tags[i] = _make_mistake(rng, tags[i])
    columns["tags"] = [_join(own) for own in tags]
    return Tickets({name: tuple(cells) for name, cells in columns.items()}, right_tags)


def _draw_one(rng: Any, values: Sequence[Any], shares: Sequence[float] | None = None) -> Any:
    """One of ``values``, with equal shares by default."""
    if shares is None:
        return values[rng.randint(len(values))]
    return values[min(int(np.searchsorted(np.cumsum(shares), rng.random_sample())), len(values) - 1)]


def _draw_tags(rng: Any) -> list[str]:
    tags: list[str] = []
    for _ in range(_draw_one(rng, *_NUMBERS_OF_TAGS)):
        tag = _draw_one(rng, _OFTEN_TOGETHER[tags[0]]) if tags else _draw_one(rng, TAGS, _TAG_SHARES)
        tags += [] if tag in tags else [tag]
    return tags


def _draw_message(rng: Any, tags: Sequence[str]) -> str:
    """One to three sentences, and sometimes a typing error."""
    sentences = [_draw_one(rng, ABOUT[tag]) for tag in tags] or [_draw_one(rng, WITHOUT_TAG)]
    if len(sentences) < 3 and rng.random_sample() < 0.2:
        sentences.append(_draw_one(rng, NOT_ABOUT[_draw_one(rng, [tag for tag in TAGS if tag not in tags])]))
    if len(sentences) < 3 and rng.random_sample() < 0.3:
        sentences.append(_draw_one(rng, CLOSINGS))
    text = " ".join(_fill(rng, sentence) for sentence in sentences)
    if rng.random_sample() < 0.35:
        text = _draw_one(rng, OPENINGS) + text
    return _mistype(rng, text) if rng.random_sample() < _TYPO_SHARE else text


def _fill(rng: Any, sentence: str) -> str:
    """The sentence with a word for each field in braces."""
    fields = [field for _, field, _, _ in Formatter().parse(sentence) if field]
    return sentence.format(**{field: _draw_one(rng, WORDS[field]) for field in fields})


def _mistype(rng: Any, text: str) -> str:
    """The text with two letters of a long word swapped, or one left out."""
    words = text.split(" ")
    long = [i for i, word in enumerate(words) if word.isalpha() and len(word) >= _MIN_TYPO_LENGTH]
    if not long:
        return text
    i = _draw_one(rng, long)
    at = 1 + rng.randint(len(words[i]) - 2)
    swapped = words[i][at + 1] + words[i][at] if rng.randint(2) else words[i][at + 1]
    words[i] = words[i][:at] + swapped + words[i][at + 2 :]
    return " ".join(words)


def _draw_category(rng: Any, values: Sequence[str], shares: Sequence[float] | None) -> str:
    value = _draw_one(rng, values, shares)
    return "" if rng.random_sample() < _MISSING_SHARE else str(value)


def _draw_amount(rng: Any, tags: Sequence[str]) -> str:
    """The amount of the order or invoice that a ticket is about; often empty if it is not about money."""
    amount = f"{np.exp(3.8 + 0.9 * rng.standard_normal()):.2f}"
    return amount if rng.random_sample() < (0.9 if _ABOUT_MONEY & set(tags) else 0.4) else ""


def _make_mistake(rng: Any, tags: list[str]) -> list[str]:
    """The tags with one left out, replaced or added."""
    other = _draw_one(rng, [tag for tag in TAGS if tag not in tags])
    if not tags or rng.random_sample() < 0.3:
        return [*tags, other]
    return tags[1:] if len(tags) > 1 and rng.random_sample() < 0.5 else [other, *tags[1:]]


def _join(tags: Sequence[str]) -> str:
    return ";".join(tag for tag in TAGS if tag in tags)

"""Tables for tests: one that is fixed, and generated ones."""

import datetime

import numpy as np
from hypothesis import strategies as st

MESSAGES = (
    "The parcel is late and damaged", "I want a refund, please", None, "Refund for the late parcel", "parcel parcel"
)  # fmt: skip


def small_table():
    """Twenty rows with a column of every kind, as a dict."""
    n = 20
    rng = np.random.default_rng(0)
    return {
        "id": [f"T-{i:03}" for i in range(n)],
        "message": [f"{MESSAGES[i % 5]} {i % 7}x{i % 3}" if MESSAGES[i % 5] else None for i in range(n)],
        "channel": [("mail", "chat", "phone", None)[i % 4] for i in range(n)],
        "amount": np.where(np.arange(n) % 6 == 0, np.nan, rng.normal(100, 20, n)),
        "paid": [bool(i % 2) for i in range(n)],
        "created": [f"2025-0{1 + i % 6}-1{i % 9}" for i in range(n)],
        "topics": [["a", "b"][: i % 3] for i in range(n)],
        "country": ["DE"] * n,
        "empty": [None] * n,
    }


cells = {
    "text": st.text(max_size=30),
    "words": st.lists(st.sampled_from(["late", "parcel", "Größe", "配達", "naïve", "x"]), max_size=4).map(" ".join),
    "category": st.sampled_from(["a", "b", "c c", "Ä", ""]),
    "many": st.integers(0, 10_000).map(lambda i: f"c{i}"),
    "number": st.floats(allow_infinity=False) | st.integers(-(10**20), 10**20),
    "huge": st.floats(allow_infinity=False, width=64),
    "boolean": st.booleans(),
    "date": st.datetimes(min_value=datetime.datetime(1, 1, 2), max_value=datetime.datetime(9999, 12, 30)),
    "written date": st.dates().map(str),
    "number as text": st.floats(allow_nan=False, allow_infinity=False).map(str),
    "list": st.lists(st.sampled_from(["a", "b", "ü"]), max_size=3),
    "mixed": st.one_of(st.text(max_size=5), st.integers(), st.booleans(), st.floats()),
}


@st.composite
def tables(draw, min_rows=1, max_rows=30):
    """A dict of columns of mixed types, with missing cells."""
    n = draw(st.integers(min_rows, max_rows))
    kinds = draw(st.lists(st.sampled_from(sorted(cells)), min_size=1, max_size=4))
    missing = st.sampled_from([None, float("nan")])
    return {
        f"{kind} {i}": draw(
            st.lists(cells[kind] | missing if draw(st.booleans()) else cells[kind], min_size=n, max_size=n)
        )
        for i, kind in enumerate(kinds)
    }

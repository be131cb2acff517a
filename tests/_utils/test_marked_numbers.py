"""Numbers with decimal commas, thousands marks, currencies and percent signs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdgs._utils._marked_numbers import Notation, is_code, parse_marked, parse_marked_numbers
from sdgs._utils._number_parsing import BadCellError


@pytest.mark.parametrize(
    ("text", "point", "comma", "unit"),
    [
        ("12", 12, 12, ""),
        ("-1.5", -1.5, None, ""),
        ("-1,5", None, -1.5, ""),
        ("\u22123", -3, -3, ""),
        ("1,234", 1234, 1.234, ""),
        ("1.234", 1.234, 1234, ""),
        ("0.123", 0.123, None, ""),
        ("1,234.5", 1234.5, None, ""),
        ("1.234,5", None, 1234.5, ""),
        ("1.234.567", None, 1234567, ""),
        ("1 234,5", None, 1234.5, ""),
        ("1\u202f234.5", 1234.5, None, ""),
        ("1'234.50", 1234.5, None, ""),
        ("1e-3", 0.001, 0.001, ""),
        (".5", 0.5, None, ""),
        (" $5.00 ", 5, None, "$"),
        ("-$5", -5, -5, "$"),
        ("$-5", -5, -5, "$"),
        ("1.234,50 €", None, 1234.5, "€"),
        ("EUR 7", 7, 7, "EUR"),
        ("7 USD", 7, 7, "USD"),
        ("CHF 1'234.50", 1234.5, None, "CHF"),
        ("12 %", 12, 12, "%"),
    ],
)
def test_numbers(text, point, comma, unit):
    number = parse_marked(text)
    assert (number.with_point, number.with_comma, number.unit) == (point, comma, unit)
    assert number.ambiguous == (point is not None and comma is not None and point != comma)


@pytest.mark.parametrize(
    "text",
    [
        *("", "abc", "1,23,456", "12 34", "1.2.3", "1,2,3", "2025-01-31", "31.01.2025", "--1", "-$-1", "$5€", "1_000"),
        *("1e999", "0x10", "12:30", "EUROPE 7", "7 kg", "5 5 5", "1 234 56", "1" * 65, "%5", ","),
    ],
)
def test_other_texts_are_not_numbers(text):
    assert parse_marked(text) is None


@given(
    st.integers(-(10**12), 10**12), st.integers(0, 99), st.sampled_from([".,", ",.", ". ", ", ", ".'", ".\u202f", ". "])
)
def test_what_was_written_is_read(whole, cents, marks):
    decimal, group = marks
    text = f"{whole:,}".replace(",", group) + f"{decimal}{cents:02d}"
    expected = float(f"{whole}.{cents:02d}")
    assert parse_marked(text).value(decimal) == expected
    np.testing.assert_array_equal(parse_marked_numbers([text, "", "NA"], decimal), [expected, math.nan, math.nan])


def test_cells_that_do_not_fit():
    with pytest.raises(BadCellError) as caught:
        parse_marked_numbers(["1.5", "2,5"], ".")
    assert (caught.value.row, caught.value.problem) == (1, "not a number with a decimal point")
    with pytest.raises(BadCellError) as caught:
        parse_marked_numbers(["1.5", "many", "2_5"], ".")
    assert (caught.value.row, caught.value.problem) == (1, "not a number")
    np.testing.assert_array_equal(parse_marked_numbers(["1", "2_5", "many"], ".", others_missing=True)[1:], math.nan)


@pytest.mark.parametrize(
    ("text", "code"), [("007", True), ("01234", True), ("0", False), ("0.5", False), ("10", False)]
)
def test_leading_zeros(text, code):
    assert is_code(text) == code


@pytest.mark.parametrize(
    ("cells", "decimals", "n_numbers", "n_others"),
    [
        (["1", "2", ""], ".,", 2, 0),
        (["1.5", "2"], ".", 2, 0),
        (["1,5", "2"], ",", 2, 0),
        (["1,5", "1.5"], "", 2, 0),
        (["1,234", "NA", "2"], ".,", 2, 0),
        (["1", "x", "x"], ".,", 1, 2),
        (["007", "8"], ".,", 1, 1),
    ],
)
def test_the_notation_of_a_column(cells, decimals, n_numbers, n_others):
    for parts in ([cells], [[cell] for cell in cells]):
        notation = Notation()
        for part in parts:
            notation.add(part)
        assert (notation.decimals, notation.n_numbers, notation.n_others) == (decimals, n_numbers, n_others)


def test_plain_parts_change_nothing():
    notation = Notation()
    for part in (["1.25", "3.5"], ["4.125", ""], ["1e5", "-2"]):
        notation.add(part)
    assert (notation.decimals, notation.n_numbers, notation.ambiguous) == (".", 5, "")
    notation.add(["012"])
    assert (notation.n_others, notation.other) == (1, "012")

import numpy as np
import pytest

from sdgs._utils._number_parsing import BadCellError, count_text_cells, parse_binary, parse_numbers

NAN = np.nan


def test_numbers():
    np.testing.assert_array_equal(parse_numbers(["1", " -2.5e1 ", "", "NA", "yes", "False"]), [1, -25, NAN, NAN, 1, 0])


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ("x", "not a number"),
        ("2021_03", "not a number"),
        ("y", "not a number"),
        ("inf", "infinite"),
        ("0,5", "a number with a decimal comma"),
    ],
)
def test_cells_that_are_not_numbers(cell, problem):
    with pytest.raises(BadCellError) as error:
        parse_numbers(["1", cell])
    assert (error.value.row, error.value.text, error.value.problem) == (1, cell, problem)


def test_binary():
    np.testing.assert_array_equal(parse_binary(["1", "0.0", "Y", "-", "?", "TRUE"]), [1, 0, 1, 0, NAN, 1])
    with pytest.raises(BadCellError, match="2"):
        parse_binary(["1", "2"])


def test_text_is_counted_but_numbers_with_typing_errors_are_not():
    assert count_text_cells(["calm", "1_2", "0,5", "inf", "", "no", "3"]) == 2

import numpy as np
import pandas as pd
import pytest

from sdgs.datasets import split_labels


def test_labels_are_split_in_the_form_of_the_texts():
    texts, expected = ["calm; sad;", "", "happy"], [["calm", "sad"], [], ["happy"]]
    assert split_labels(texts, ";") == expected
    assert split_labels(tuple(texts), ";") == expected
    array = split_labels(np.array(texts), ";")
    assert (array.dtype, array.tolist()) == (np.dtype(object), expected)
    series = pd.Series(texts, index=[3, 1, 2], name="tags")
    pd.testing.assert_series_equal(split_labels(series, ";"), pd.Series(expected, index=[3, 1, 2], name="tags"))
    assert split_labels(["rock | roll, loud"], " | ") == [["rock", "roll, loud"]]


@pytest.mark.parametrize(
    ("texts", "separator", "message"),
    [
        (["a", None], ";", "texts has None in row 1. Leave out samples"),
        (["a", float("nan")], ";", "texts has nan in row 1"),
        ("a;b", ";", "one text per sample"),
        (np.eye(2), ";", "one text per sample"),
        (["a"], "", "separator must be a text"),
    ],
)
def test_errors(texts, separator, message):
    with pytest.raises(ValueError, match=message):
        split_labels(texts, separator)

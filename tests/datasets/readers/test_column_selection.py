import pytest

from sdgs.datasets import DataFileError
from sdgs.datasets.readers._column_selection import join_names, match_columns

NAMES = ["id", "is_calm", "is_sad", "is_[odd]", "x*"]


def test_columns_are_matched_in_the_order_of_the_patterns():
    assert match_columns(["x*", "is_s*", "is_*"], NAMES, "file") == ["x*", "is_sad", "is_calm", "is_[odd]"]
    assert match_columns(["is_[odd]"], NAMES, "file") == ["is_[odd]"]
    assert match_columns([], NAMES, "file") == []


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("is", r"Several names start with it: 'is\*' matches them\."),
        ("Is_Calm", r"Similar: 'is_calm'"),
        ("zzz", r"The columns are 'id', 'is_calm'"),
    ],
)
def test_a_name_that_does_not_exist(pattern, hint):
    with pytest.raises(
        DataFileError, match=rf"^file: no column is named {pattern!r}, which should be a label\. {hint}"
    ):
        match_columns([pattern], NAMES, "file")


def test_long_lists_of_names_are_shortened():
    assert join_names(["a", "b"]) == "'a', 'b'"
    assert join_names(list("abcdefgh")) == "'a', 'b', 'c', 'd', 'e', 'f' and 2 more"

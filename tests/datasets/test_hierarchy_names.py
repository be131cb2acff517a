import pytest

from sdgs.datasets import label_hierarchy_from_names


def test_the_parent_is_the_longest_path_that_is_a_label():
    names = ["b/c/d", "b", "b/c", "a/x/y", "a", "bc", "e/f"]
    assert label_hierarchy_from_names(names) == {"b/c/d": "b/c", "b/c": "b", "a/x/y": "a"}
    assert label_hierarchy_from_names(["a", "a::b"], separator="::") == {"a::b": "a"}
    assert label_hierarchy_from_names([]) == {}


@pytest.mark.parametrize(
    ("names", "separator", "message"), [([1], "/", "must be strings, got 1"), (["a"], "", "a text")]
)
def test_errors(names, separator, message):
    with pytest.raises(ValueError, match=message):
        label_hierarchy_from_names(names, separator)

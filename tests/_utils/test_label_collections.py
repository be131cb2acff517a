"""Lists of labels as matrices and back: which targets they are, names, forms, and errors."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.preprocessing import MultiLabelBinarizer

from sdgs._utils._label_collections import (
    align_label_lists,
    as_label_matrix,
    binarize_label_lists,
    has_label_lists,
    label_list_form,
    object_array,
    warn_of_similar_names,
)

ROWS = [["b", "a"], [], ["c"], ["a"]]
CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "array": object_array,
    "series": lambda rows: pd.Series(rows, index=[3, 1, 4, 2], name="tags"),
    "frame": lambda rows: pd.DataFrame({"tags": rows}, index=[3, 1, 4, 2]),
}


@pytest.mark.parametrize(
    "y",
    [
        [{"a"}, {"b", "c"}],
        [{1}, {0}],
        ({"a"}, frozenset()),
        [["a"], ["b", "c"]],
        [["a", "b"], ["b", "c"]],
        [(), (1, 2)],
        [np.array(["a", "b"]), np.array(["a", "c"])],
        object_array([[1, 2], [3, 4]]),
        pd.Series([["a"], ["b"]]),
        pd.Series([np.array(["a"]), np.array(["b"])]),
        pd.DataFrame({"tags": [("a",), ("b",)]}),
    ],
)
def test_targets_with_lists_of_labels(y):
    assert has_label_lists(y)


@pytest.mark.parametrize(
    "y",
    [
        [[0, 1], [1, 0]],
        [["0", "1"], ["1", "0"]],
        [[3], [5]],
        [np.zeros(2), np.ones(2)],
        ["a", "b"],
        ["calm;sad", "sad"],
        pd.Series(["calm;sad", "sad"]),
        np.array(["calm;sad", None], dtype=object),
        np.eye(2),
        pd.DataFrame({"a": [0, 1]}),
        pd.DataFrame({"a": [["x"]], "b": [["y"]]}),
        csr_array(np.eye(2)),
        [],
    ],
)
def test_matrices_and_classes_are_no_lists_of_labels(y):
    assert not has_label_lists(y)
    assert as_label_matrix(y, np.array(["a"])) is y


@pytest.mark.parametrize("row", [list, tuple, set, frozenset])
@pytest.mark.parametrize("container", CONTAINERS)
def test_what_goes_in_comes_out_in_the_same_form(container, row):
    y = CONTAINERS[container]([row(labels) for labels in ROWS])
    labels, classes = binarize_label_lists(y, "y")
    assert classes.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(labels.toarray(), [[1, 1, 0], [0, 0, 0], [0, 0, 1], [1, 0, 0]])
    restored = label_list_form(y).restore(labels, classes, getattr(y, "index", None))
    expected = CONTAINERS[container]([row(sorted(labels)) for labels in ROWS])  # labels are in the order of classes
    assert type(restored) is type(expected)
    if container == "series":
        pd.testing.assert_series_equal(restored, expected)
    elif container == "frame":
        pd.testing.assert_frame_equal(restored, expected)
    else:
        assert list(restored) == list(expected)


@given(
    st.one_of(
        st.lists(st.lists(st.text(max_size=3), max_size=4), min_size=1, max_size=6),
        st.lists(st.lists(st.integers(-5, 5), max_size=4), min_size=1, max_size=6),
    )
)
def test_matrices_are_those_of_scikit_learn(lists):
    y = [set(labels) for labels in lists]
    binarizer = MultiLabelBinarizer()
    expected = binarizer.fit_transform(y)
    if not any(y):
        with pytest.raises(ValueError, match="all empty"):
            binarize_label_lists(y, "y")
        return
    labels, classes = binarize_label_lists(y, "y")
    np.testing.assert_array_equal(labels.toarray(), expected)
    np.testing.assert_array_equal(classes, binarizer.classes_)
    assert classes.dtype == binarizer.classes_.dtype


def test_rows_that_are_arrays_or_of_several_kinds_come_out_as_lists():
    for rows in ([np.array(["a"]), np.array(["b"])], [["a"], ("b",)]):
        assert label_list_form(pd.Series(rows)).row == "list"
    labels, classes = binarize_label_lists([np.array(["a", "b"]), np.array(["b"])], "y")
    assert (labels.sum(), classes.tolist()) == (3, ["a", "b"])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([["a"], "b"], "y has 'b' in row 1, and lists of labels in other rows"),
        (pd.Series([["a"], None]), "y has None in row 1"),
        ([["a"], [None]], "y has the label None in row 1"),
        ([["a"], [["b"]]], r"the label \['b'\] in row 1"),
        ([{1.5}], "the label 1.5 in row 0"),
        ([{True}], "the label True in row 0"),
        ([{2**63}], "integers of 64 bits"),
        ([{"a"}, {1}], "Make them all strings"),
        ([[0, 1], [1]], "numpy.array"),
        (pd.Series([[0, 1], [1, 0]]), "If 0 and 1 are names of labels, pass sets"),
        ([set(), set()], "all empty"),
    ],
)
def test_errors_say_where_and_what_to_do(y, message):
    assert has_label_lists(y)
    with pytest.raises(ValueError, match=message):
        binarize_label_lists(y, "y")


def test_labels_that_the_model_does_not_know_are_an_error_that_names_them():
    with pytest.raises(ValueError, match="y has the label 'x' in row 1, which is not one of the 2 labels"):
        as_label_matrix([["a"], ["x", "b"]], np.array(["a", "b"], dtype=object))


def test_targets_are_aligned_by_names():
    true, pred = align_label_lists([["b"], ["a", "b"]], object_array([("c",), ("a",)]), ["d"])
    np.testing.assert_array_equal(true.toarray(), [[0, 1, 0, 0], [1, 1, 0, 0]])
    np.testing.assert_array_equal(pred.toarray(), [[0, 0, 1, 0], [1, 0, 0, 0]])
    both_empty = align_label_lists([{"a"}, set()], [[], []])
    assert [labels.shape for labels in both_empty] == [(2, 1), (2, 1)]
    with pytest.raises(ValueError, match="Y_true has a list of labels for each sample, and Y_pred has not"):
        align_label_lists([["b"], ["a"]], np.eye(2))


def test_names_that_differ_only_in_case_or_spaces_are_reported_and_kept():
    classes = object_array(["Late", "late", "on time", "on  time", "sad", "calm "])
    with pytest.warns(UserWarning, match=r"'Late' / 'late', 'on time' / 'on  time', 'calm '\. Each is a label"):
        warn_of_similar_names(classes, "y")
    with pytest.warns(UserWarning, match="and 2 more"):
        warn_of_similar_names(object_array([f"{name} " for name in "abcdefg"]), "y")
    warn_of_similar_names(object_array(["a", "b c"]), "y")  # no warning
    warn_of_similar_names(np.array([1, 2]), "y")

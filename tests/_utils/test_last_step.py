"""Names of features and labels, and the samples of the last step of a pipeline."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler

from sdgs import SDGSClassifier, load
from sdgs._utils._last_step import (
    feature_names_of,
    known_feature_names,
    known_label_names,
    label_names_of,
    last_step,
    samples_of_last_step,
)
from sdgs.datasets import make_label_subspaces

DATA = make_label_subspaces(60, 3, 3, n_components=1, noise=0.1, random_state=0)
FRAME = pd.DataFrame(DATA.X, columns=["a", "b", "c"])
LABELS = pd.DataFrame(DATA.Y, columns=["red", "green", "blue"])


def model():
    return SDGSClassifier(1, gamma=None, penalty=1.0, scaling=None, random_state=0)


def fitted(*steps, X=FRAME, y=LABELS):
    return make_pipeline(*steps, model()).fit(X, y)


def test_given_names_precede_stored_ones_which_precede_those_of_the_target(tmp_path):
    named = SDGSClassifier(1, random_state=0).fit(FRAME, LABELS)
    named.save(tmp_path / "model.sdgs", feature_names=["A", "B", "C"], label_names=["x", "y", "z"])
    stored = load(tmp_path / "model.sdgs")
    unnamed = SDGSClassifier(1, random_state=0).fit(DATA.X, DATA.Y)
    for estimator, features, labels in (
        (named, ["a", "b", "c"], ["red", "green", "blue"]),
        (stored, ["A", "B", "C"], ["x", "y", "z"]),
        (unnamed, ["x0", "x1", "x2"], [0, 1, 2]),
        (object(), ["x0", "x1", "x2"], [0, 1, 2]),
    ):
        assert list(feature_names_of(estimator, None, 3)) == features
        assert list(label_names_of(estimator, None, 3)) == labels
        assert list(feature_names_of(estimator, (1, 2, 3), 3)) == [1, 2, 3]
        assert list(label_names_of(estimator, (1, 2, 3), 3)) == [1, 2, 3]
    with pytest.raises(ValueError, match="label_names must have 3 names, got 1"):
        label_names_of(named, ["x"], 3)


def test_the_classes_of_each_label_are_not_names_of_labels():
    forest = RandomForestClassifier(2).fit(DATA.X, DATA.Y)
    assert isinstance(forest.classes_, list)
    assert known_label_names(forest) is None


@pytest.mark.parametrize(
    ("steps", "names"),
    [
        ((), ["a", "b", "c"]),
        (("passthrough",), ["a", "b", "c"]),
        ((StandardScaler(),), ["a", "b", "c"]),
        ((PolynomialFeatures(2, interaction_only=True, include_bias=False),), ["a", "b", "c", "a b", "a c", "b c"]),
        ((StandardScaler().set_output(transform="pandas"),), ["a", "b", "c"]),
    ],
    ids=str,
)
def test_the_steps_of_a_pipeline_transform_and_name(steps, names):
    pipeline = fitted(*steps)
    samples = samples_of_last_step(pipeline, FRAME)
    expected = FRAME
    for _, step in pipeline.steps[:-1]:
        expected = expected if step == "passthrough" else step.transform(expected)
    np.testing.assert_array_equal(samples, expected)
    assert last_step(pipeline) is pipeline[-1]
    assert list(feature_names_of(pipeline, None, len(names))) == names
    assert list(label_names_of(pipeline, None, 3)) == list(LABELS.columns)


def test_a_pipeline_may_end_with_a_pipeline():
    inner = make_pipeline(PolynomialFeatures(2, interaction_only=True, include_bias=False), model())
    outer = make_pipeline(StandardScaler(), inner).fit(FRAME, LABELS)
    scaled = outer[0].transform(FRAME)
    np.testing.assert_array_equal(samples_of_last_step(outer, FRAME), outer[-1][0].transform(scaled))
    assert last_step(outer) is outer[-1][-1]
    assert list(known_feature_names(outer)) == ["a", "b", "c", "a b", "a c", "b c"]


def test_words_are_the_names_of_a_pipeline_that_starts_with_text():
    texts = ["broken box", "broken late", "late box", "paid late"]
    labels = pd.DataFrame({"damage": [1, 1, 0, 0], "delay": [0, 1, 1, 1]})
    pipeline = fitted(CountVectorizer(), X=texts, y=labels)
    assert list(known_feature_names(pipeline)) == ["box", "broken", "late", "paid"]
    assert samples_of_last_step(pipeline, ["late late"]).toarray().tolist() == [[0, 0, 2, 0]]


def test_a_step_without_names_is_an_error_unless_names_are_given():
    pipeline = fitted(FunctionTransformer(np.asarray))
    with pytest.raises(ValueError, match=r"functiontransformer does not provide get_feature_names_out\. Pass feature"):
        feature_names_of(pipeline, None, 3)
    assert list(feature_names_of(pipeline, ["p", "q", "r"], 3)) == ["p", "q", "r"]

"""Explaining and saving models and pipelines by functions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, RobustScaler, StandardScaler

import sdgs
from sdgs import ModelFileError, SDGSClassifier
from sdgs.datasets import make_label_subspaces

DATA = make_label_subspaces(60, 4, 3, n_components=1, noise=0.1, random_state=0)
FRAME = pd.DataFrame(DATA.X, columns=["a", "b", "c", "d"], index=[f"sample {i}" for i in range(60)])
LABELS = pd.DataFrame(DATA.Y, columns=["red", "green", "blue"])


def model():
    return SDGSClassifier(1, gamma=None, penalty=1.0, scaling=None, random_state=0)


@pytest.fixture(scope="module")
def pipeline():
    return make_pipeline(StandardScaler(), model()).fit(FRAME, LABELS)


def test_of_a_model_the_function_does_what_the_method_does():
    fitted = model().fit(FRAME, LABELS)
    by_function, by_method = sdgs.explain(fitted, FRAME[:5]), fitted.explain(FRAME[:5])
    np.testing.assert_array_equal(by_function.contributions(), by_method.contributions())
    pd.testing.assert_frame_equal(by_function.to_frame(), by_method.to_frame())


def test_a_pipeline_explains_what_its_last_step_gets(pipeline):
    explanation = sdgs.explain(pipeline, FRAME[3:6], LABELS[3:6])
    scaled = pipeline[0].transform(FRAME[3:6])
    np.testing.assert_array_equal(
        explanation.contributions(), pipeline[-1].explain(scaled, LABELS[3:6]).contributions()
    )
    total = explanation.contributions().sum(axis=1) + explanation.residual()
    np.testing.assert_allclose(total, scaled, atol=1e-12)
    assert list(explanation.terms.feature_names) == list(FRAME.columns)
    assert list(explanation.terms.label_names) == list(LABELS.columns)
    assert [sample.name for sample in explanation] == ["sample 3", "sample 4", "sample 5"]
    P = pipeline.predict_proba(FRAME)
    for row, sample in enumerate(explanation, 3):
        np.testing.assert_array_equal(sample.probabilities, P.iloc[row][sample.label_names])


def test_a_pipeline_gives_reasons_of_what_its_last_step_gets(pipeline):
    scaled, names = pipeline[0].transform(FRAME[3:6]), {"feature_names": list("abcd")}
    explanation = sdgs.explain_prediction(pipeline, FRAME[3:6], "all")
    by_method = pipeline[-1].explain_prediction(scaled, "all", **names)
    pd.testing.assert_frame_equal(explanation.to_frame().drop(columns="sample"), by_method.to_frame().iloc[:, 1:])
    assert [sample.name for sample in explanation] == ["sample 3", "sample 4", "sample 5"]
    np.testing.assert_array_equal(explanation.probabilities, pipeline.predict_proba(FRAME[3:6]))
    marked, by_method = sdgs.explain_labels(pipeline, FRAME), pipeline[-1].explain_labels(pipeline[0].transform(FRAME))
    np.testing.assert_array_equal(marked.features, by_method.features)
    assert list(marked.terms.feature_names) == list("abcd")
    results = sdgs.counterfactual(pipeline, FRAME[3:6], "green")
    expected = pipeline[-1].counterfactual(scaled, "green", **names)
    assert [result.text() for result in results] == [result.text() for result in expected]
    with pytest.raises(ValueError, match="whose last step is LogisticRegression"):
        sdgs.explain_prediction(make_pipeline(StandardScaler(), LogisticRegression()), FRAME)


def test_a_series_of_texts_names_samples_and_words():
    texts = pd.Series(["broken box", "broken late", "late box", "paid late"], index=["p", "q", "r", "s"])
    labels = pd.DataFrame({"damage": [1, 1, 0, 0], "delay": [0, 1, 1, 1]})
    pipeline = make_pipeline(CountVectorizer(), model()).fit(texts, labels)
    explanation = sdgs.explain(pipeline, texts[1:2], [[1, 1]])
    assert explanation[0].name == "q"
    assert list(explanation.terms.feature_names) == ["box", "broken", "late", "paid"]
    assert sdgs.explain(pipeline, list(texts))[0].name == 0


def test_names_can_be_given(pipeline):
    explanation = sdgs.explain(pipeline, FRAME, feature_names=list("pqrs"), label_names=["x", "y", "z"])
    assert "".join(explanation.terms.feature_names) == "pqrs"
    assert "".join(explanation.terms.label_names) == "xyz"


def test_a_pipeline_is_saved_as_a_whole(pipeline, tmp_path):
    sdgs.save(pipeline, tmp_path / "model.sdgs", label_names=["x", "y", "z"])
    loaded = sdgs.load(tmp_path / "model.sdgs")
    assert [name for name, _ in loaded.steps] == [name for name, _ in pipeline.steps]
    assert loaded[-1].label_names_ == ("x", "y", "z")
    pd.testing.assert_frame_equal(loaded.predict_proba(FRAME), pipeline.predict_proba(FRAME))
    assert list(sdgs.explain(loaded, FRAME[:1]).terms.feature_names) == ["a", "b", "c", "d"]


def test_names_of_a_saved_pipeline_are_those_of_its_samples(tmp_path):
    fitted = make_pipeline(StandardScaler(), model()).fit(FRAME.to_numpy(), LABELS)
    sdgs.save(fitted, tmp_path / "model.sdgs", feature_names=["e", "f", "g", "h"])
    for _ in range(2):
        loaded = sdgs.load(tmp_path / "model.sdgs")
        assert loaded.feature_names_ == ("e", "f", "g", "h")
        assert list(sdgs.explain(loaded, FRAME.to_numpy()[:1]).terms.feature_names) == ["e", "f", "g", "h"]
        sdgs.save(loaded, tmp_path / "model.sdgs")


def test_of_a_pipeline_with_other_steps_the_last_is_saved_with_the_names_of_its_features(tmp_path):
    pipeline = make_pipeline(RobustScaler(), StandardScaler(), model()).fit(FRAME, LABELS)
    path = tmp_path / "model.sdgs"
    with pytest.warns(
        UserWarning, match="cannot hold robustscaler, so the file does not hold the steps robustscaler, s"
    ):
        sdgs.save(pipeline, path)
    loaded = sdgs.load(path)
    assert loaded.feature_names_ == ("a", "b", "c", "d")
    expected = pipeline.predict_proba(FRAME)
    np.testing.assert_array_equal(loaded.predict_proba(pipeline[:-1].transform(FRAME)), expected)
    joined = make_pipeline(pipeline[:-1], loaded)
    pd.testing.assert_frame_equal(joined.predict_proba(FRAME), expected)
    assert list(sdgs.explain(joined, FRAME[:1]).terms.feature_names) == ["a", "b", "c", "d"]


def test_a_pipeline_that_does_not_transform_is_saved_too(tmp_path):
    for estimator in (model(), make_pipeline("passthrough", model())):
        fitted = estimator.fit(FRAME, LABELS)
        sdgs.save(fitted, tmp_path / "model.sdgs", label_names=["x", "y", "z"])
        loaded = sdgs.load(tmp_path / "model.sdgs")
        last = loaded[-1] if isinstance(loaded, Pipeline) else loaded
        assert last.label_names_ == ("x", "y", "z")
        assert not hasattr(last, "feature_names_")  # the model itself has them
        pd.testing.assert_frame_equal(loaded.predict_proba(FRAME), fitted.predict_proba(FRAME))


@pytest.mark.parametrize("function", [lambda e: sdgs.explain(e, FRAME), lambda e: sdgs.save(e, "model.sdgs")])
def test_what_cannot_be_explained_or_saved_is_an_error(function):
    target = DATA.Y[:, 0]
    search = GridSearchCV(model(), {"alpha": [0.1, 0.2]}, cv=2).fit(FRAME, LABELS)
    for estimator, message in (
        (make_pipeline(PCA(2), LogisticRegression()).fit(FRAME, target), "whose last step is LogisticRegression"),
        (make_pipeline(model(), "passthrough"), "whose last step is 'passthrough'"),
        (LogisticRegression().fit(FRAME, target), "got LogisticRegression"),
        (search, "got GridSearchCV. Pass its best_estimator_"),
        (make_pipeline(FunctionTransformer(np.asarray), model()).fit(FRAME, LABELS), "Pass feature_names"),
    ):
        with pytest.raises(ValueError, match=message):
            function(estimator)


def test_names_that_occur_twice_cannot_be_saved(pipeline, tmp_path):
    with pytest.raises(ModelFileError, match="two features are named 'a'"):
        sdgs.save(pipeline, tmp_path / "model.sdgs", feature_names=["a", "a", "b", "c"])
    assert not (tmp_path / "model.sdgs").exists()

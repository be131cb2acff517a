"""Out-of-fold probabilities of training samples, and the labels that they make suspicious."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import sdgs
from sdgs import SDGSClassifier, SDGSClassifierCV
from sdgs.audit import rank_suspicious_labels
from sdgs.datasets import make_label_subspaces, make_tickets
from sdgs.readout._samples import ArraySamples
from sdgs.selection._candidate_evaluator import CandidateEvaluator
from sdgs.selection._defaults import PENALTIES

DATA = make_label_subspaces(150, 12, 4, n_components=2, noise=0.3, random_state=0)
CLASSES = np.array(["d", "b", "c", "a"])[(DATA.Y * np.random.default_rng(0).random(DATA.Y.shape)).argmax(axis=1)]
RIDGE = SDGSClassifier(2, gamma=None, scaling="rows", random_state=0)
SEARCH = SDGSClassifierCV(n_components=(1, 2), gammas=None, hubers=None, scaling="rows", budget=4, random_state=0)


def mistaken(Y, row=7, label=1):
    Y = Y.copy()
    Y[row, label] = 1 - Y[row, label]
    return Y


@pytest.mark.parametrize("estimator", [RIDGE, SEARCH], ids=["classifier", "search"])
def test_probabilities_are_those_of_models_that_have_not_seen_the_sample(estimator):
    model = clone(estimator).fit(DATA.X, DATA.Y)
    P, rows = model.out_of_fold_probabilities_, model.out_of_fold_rows_
    assert (P.dtype, P.shape) == (np.float32, (150, 4))
    np.testing.assert_array_equal(rows, np.arange(150))
    log_loss = [-np.log(np.where(DATA.Y, p, 1 - p)).mean() for p in (P, model.predict_proba(DATA.X))]
    assert log_loss[0] > log_loss[1]  # the model has seen the samples
    held_out = np.zeros(P.shape)
    for train, test in KFold(3, shuffle=True, random_state=0).split(DATA.X):
        held_out[test] = clone(estimator).fit(DATA.X[train], DATA.Y[train]).predict_proba(DATA.X[test])
    assert np.abs(P - held_out).mean() < 0.08
    assert np.corrcoef(P.ravel(), held_out.ravel())[0, 1] > 0.95


def test_probabilities_are_the_calibrated_scores_of_the_chosen_candidate():
    model = clone(RIDGE).fit(DATA.X, DATA.Y)
    samples, labels = ArraySamples(DATA.X), csr_array(DATA.Y.astype(bool))
    evaluator = CandidateEvaluator(samples, labels, model._context(samples, labels), PENALTIES)
    result = evaluator.evaluate(model._pipelines[0].features.parameters)
    expected = model._calibration.probabilities(result.scores)
    np.testing.assert_allclose(model.out_of_fold_probabilities_, expected, atol=1e-6)


def test_probabilities_of_classes_sum_to_one():
    model = clone(RIDGE).fit(DATA.X, CLASSES)
    np.testing.assert_allclose(model.out_of_fold_probabilities_.sum(axis=1), 1, atol=1e-6)
    assert (
        model.out_of_fold_probabilities_.argmax(axis=1) == np.searchsorted(model.classes_, CLASSES)
    ).mean() > 0.4  # of four


@pytest.mark.slow
def test_of_many_samples_some_folds_are_checked():
    n = 16_000
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    Y = (X[:, :2] + 0.1 * rng.standard_normal((n, 2)) > 0).astype(int)
    Y[5] = 1 - Y[5]
    model = SDGSClassifier(1, gamma=None, scaling="rows", penalty=1.0, random_state=0).fit(X, Y)
    rows = model.out_of_fold_rows_
    assert 10_000 <= rows.size < n
    assert (np.diff(rows) > 0).all()
    suspicious = model.suspicious_labels(n_pairs=None)
    assert suspicious.n_samples == rows.size
    np.testing.assert_array_equal(np.unique(suspicious.rows), rows)
    np.testing.assert_array_equal(suspicious.given, Y[suspicious.rows, suspicious.labels] == 1)


@pytest.mark.parametrize("target", ["matrix", "sparse", "frame"])
def test_a_planted_mistake_comes_first(target):
    Y = mistaken(DATA.Y)
    y = {"matrix": Y, "sparse": csr_array(Y), "frame": pd.DataFrame(Y, columns=list("pqrs"))}[target]
    suspicious = clone(RIDGE).fit(DATA.X, y).suspicious_labels()
    assert (suspicious.rows[0], suspicious.labels[0], bool(suspicious.given[0])) == (7, 1, bool(Y[7, 1]))
    assert suspicious.label_names[1] == ("q" if target == "frame" else 1)
    assert suspicious.sample_names[0] == 7
    assert suspicious.n_given == Y.sum()


def test_a_wrong_class_comes_early_and_the_right_one_is_suggested():
    y = CLASSES.copy()
    model = clone(RIDGE).fit(DATA.X, y)
    certain = int(model.out_of_fold_probabilities_.max(axis=1).argmax())
    right = model.classes_[model.out_of_fold_probabilities_[certain].argmax()]
    y[certain] = next(name for name in model.classes_ if name != right)
    suspicious = clone(RIDGE).fit(DATA.X, y).suspicious_labels(n_pairs=15)
    assert len(suspicious) == 15
    position = list(suspicious.rows).index(certain)
    assert suspicious.label_names[suspicious.labels[position]] == y[certain]
    assert suspicious.label_names[suspicious.suggested[position]] == right
    assert suspicious.given.all()


@pytest.mark.parametrize("y", [DATA.Y, CLASSES], ids=["labels", "classes"])
def test_other_samples_are_compared_with_their_predicted_probabilities(y):
    model = clone(RIDGE).fit(DATA.X[:100], y[:100])
    X = pd.DataFrame(DATA.X[100:], index=[f"s{i}" for i in range(50)])
    suspicious = model.suspicious_labels(DATA.X[100:], y[100:], n_pairs=None)
    given = y[100:] if y.ndim == 2 else y[100:, None] == model.classes_
    expected = rank_suspicious_labels(
        given.astype(int), model.predict_proba(DATA.X[100:]), n_pairs=None, one_label=y.ndim == 1
    )
    np.testing.assert_array_equal(suspicious.rows, expected.rows)
    np.testing.assert_array_equal(suspicious.probability, expected.probability)
    named = model.suspicious_labels(X, y[100:], n_pairs=1)
    assert named.sample_names[0] == f"s{named.rows[0]}"


@pytest.mark.parametrize("y", [DATA.Y, CLASSES], ids=["labels", "classes"])
@pytest.mark.parametrize("estimator", [RIDGE, SEARCH], ids=["classifier", "search"])
def test_a_loaded_model_finds_the_same_with_the_stored_names(tmp_path, estimator, y):
    model = clone(estimator).fit(DATA.X, y)
    names = [f"label {i}" for i in range(4)]
    model.save(tmp_path / "model.sdgs", label_names=names)
    loaded = sdgs.load(tmp_path / "model.sdgs")
    found, again = model.suspicious_labels(label_names=names), loaded.suspicious_labels()
    pd.testing.assert_frame_equal(found.to_frame(), again.to_frame())
    assert again.summary() == found.summary()
    assert sdgs.suspicious_labels(loaded, n_pairs=2, label_names=list("abcd")).label_names[0] == "a"


def test_without_probabilities_there_are_no_suspicious_labels():
    model = SDGSClassifier(2, readout="norm", random_state=0).fit(DATA.X, DATA.Y)
    assert not hasattr(model, "suspicious_labels")
    assert not hasattr(model, "out_of_fold_probabilities_")
    with pytest.raises(AttributeError, match="suspicious_labels") as error:
        model.suspicious_labels()
    assert 'readout="ridge"' in str(error.value.__cause__)
    with pytest.raises(NotFittedError, match='fitted with readout="norm"'):
        model.set_params(readout="ridge").suspicious_labels()
    refitted = clone(RIDGE).fit(DATA.X, DATA.Y).set_params(readout="norm", gamma=None).fit(DATA.X, DATA.Y)
    assert not hasattr(refitted, "out_of_fold_rows_")
    with pytest.raises(NotFittedError):
        SDGSClassifier().suspicious_labels()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((DATA.X, None), "pass both X and y"),
        ((None, DATA.Y), "pass both X and y"),
        ((DATA.X, DATA.Y[:5]), "same number of rows, got 150 and 5"),
        ((DATA.X, DATA.Y[:, :2]), "y must have one column for each of the 4 labels, got 2"),
        ((DATA.X, pd.DataFrame(DATA.Y, columns=list("srqp"))), "columns of the y that the model was fitted to"),
        ((DATA.X[:, :3], DATA.Y), "X has 3 features"),
    ],
)
def test_wrong_arguments_are_rejected(arguments, message):
    model = clone(RIDGE).fit(DATA.X, pd.DataFrame(DATA.Y, columns=list("pqrs")))
    with pytest.raises(ValueError, match=message):
        model.suspicious_labels(*arguments)


def test_an_unknown_class_is_rejected():
    model = clone(RIDGE).fit(DATA.X, CLASSES)
    with pytest.raises(ValueError, match="y has the class 'e'"):
        model.suspicious_labels(DATA.X[:2], ["a", "e"])


def test_pipelines():
    tickets = make_tickets()
    messages = pd.Series(tickets.columns["message"], index=tickets.columns["ticket"])
    tags = pd.Series(tickets.columns["tags"]).str.get_dummies(";").drop(columns="", errors="ignore")
    pipeline = make_pipeline(CountVectorizer(), clone(RIDGE)).fit(messages, tags)
    suspicious = sdgs.suspicious_labels(pipeline)
    assert np.isin(suspicious.rows[:8], tickets.wrong).all()
    assert set(suspicious.label_names) == set(tags.columns)
    half = make_pipeline(CountVectorizer(), clone(RIDGE)).fit(messages[:300], tags[:300])
    others = sdgs.suspicious_labels(half, messages[300:], tags[300:], n_pairs=1)
    assert others.sample_names[0] == messages.index[300 + others.rows[0]]
    np.testing.assert_array_equal(
        sdgs.suspicious_labels(half[-1], half[0].transform(messages[300:]), tags[300:], n_pairs=1).rows, others.rows
    )


def test_what_is_no_model_of_ours_is_an_error():
    scaled = make_pipeline(StandardScaler(), LogisticRegression()).fit(DATA.X, CLASSES)
    with pytest.raises(ValueError, match="whose last step is LogisticRegression"):
        sdgs.suspicious_labels(scaled)
    nameless = make_pipeline(FunctionTransformer(np.asarray), clone(RIDGE)).fit(DATA.X, DATA.Y)
    assert sdgs.suspicious_labels(nameless).n_samples == 150  # names of features are not needed

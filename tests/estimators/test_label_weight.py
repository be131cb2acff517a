"""Weights of labels, and the metrics that estimators decide for."""

import numpy as np
import pytest
from model_file_helpers import assert_same, assert_same_predictions, forge, save_and_load
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

import sdgs
from sdgs import AveragingClassifier, DecisionClassifier, SDGSClassifier, SDGSClassifierCV, metrics
from sdgs.datasets import make_label_subspaces
from sdgs.estimators._decision_parameters import resolve_label_weight
from sdgs.persistence._container import ModelFileError
from sdgs.readout._decision import TARGET_METRICS, weighted_probabilities


@pytest.fixture(scope="module")
def data():
    return make_label_subspaces(150, 12, 4, noise=0.6, random_state=0)


def estimators(**options):
    options = {"random_state": 0, **options}
    return {
        "sdgs": SDGSClassifier(2, gamma=None, **options),
        "search": SDGSClassifierCV(
            n_components=(1, 2), gammas=None, hubers=None, alphas=0.1, budget=3, cv=2, **options
        ),
        "decision": DecisionClassifier(LogisticRegression(), **options),
        "average": AveragingClassifier([LogisticRegression(), LogisticRegression(C=0.01)], **options),
    }


@pytest.mark.parametrize("name", estimators())
def test_weights_change_labels_and_not_probabilities(name, data):
    plain = estimators(metric="hamming_loss")[name].fit(data.X, data.Y)
    weight = [1.0, 5.0, 0.2, 1.0]
    weighted = estimators(metric="hamming_loss", label_weight=weight)[name].fit(data.X, data.Y)
    np.testing.assert_array_equal(weighted.predict_proba(data.X), plain.predict_proba(data.X))
    np.testing.assert_array_equal(weighted.decision_function(data.X), plain.decision_function(data.X))
    difference = weighted.predict(data.X).sum(axis=0) - plain.predict(data.X).sum(axis=0)
    assert difference[1] > 0 > difference[2]
    half = estimators(label_weight=weight, decision=0.5, at_least_one=False)[name].fit(data.X, data.Y)
    expected = weighted_probabilities(half.predict_proba(data.X), np.asarray(weight)) >= 0.5
    np.testing.assert_array_equal(half.predict(data.X), expected)


@pytest.mark.parametrize("name", estimators())
def test_the_odds_of_classes_are_multiplied(name, data):
    y = np.array(["low", "middle", "high"])[np.digitize(data.X[:, 0], [-0.5, 0.5])]
    weight = np.array([0.3, 1, 4])
    plain = estimators()[name].fit(data.X, y)
    model = estimators(label_weight=weight)[name].fit(data.X, y)
    P = model.predict_proba(data.X)
    np.testing.assert_array_equal(P, plain.predict_proba(data.X))
    np.testing.assert_array_equal(model.predict(data.X), model.classes_[(weight * P / (1 - P)).argmax(axis=1)])
    assert (model.predict(data.X) != plain.predict(data.X)).any()
    two = estimators(label_weight=[1, 100])[name].fit(data.X, y == "low")
    assert two.predict(data.X).sum() > estimators()[name].fit(data.X, y == "low").predict(data.X).sum()


def test_balanced_weights_are_those_of_frequencies():
    Y = np.zeros((98, 3))
    Y[:49, 0] = Y[:3, 1] = 1
    expected = np.array([50, 4, 1]) / 100
    expected = np.sqrt(expected.mean() / expected)
    np.testing.assert_allclose(resolve_label_weight("balanced", csr_array(Y)), expected)
    # Weights are numbers of samples, and labels that are not observed are left out.
    half, ones = np.repeat(Y[:50], 2, axis=0), np.full(50, 2.0)
    np.testing.assert_allclose(
        resolve_label_weight("balanced", csr_array(Y[:50]), ones), resolve_label_weight("balanced", csr_array(half))
    )
    Y[90:, 1] = np.nan
    found = resolve_label_weight("balanced", csr_array(Y))
    frequencies = np.array([50 / 100, 4 / 92, 1 / 100])
    np.testing.assert_allclose(found, np.sqrt(frequencies.mean() / frequencies))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ("even", "label_weight must be"),
        (2.0, "label_weight must be None"),
        ([[1, 2]], "label_weight must be None"),
        ([1, 2], "one number for each of the 4 labels, got 2"),
        ([1, 2, 3, 0], "label_weight must be a finite number > 0, got 0"),
        ([1, 2, 3, np.inf], "label_weight must be a finite number > 0"),
        ([1, 2, 3, "4"], "label_weight must be a finite number > 0"),
    ],
)
@pytest.mark.parametrize("name", ["sdgs", "decision"])
def test_invalid_weights_are_rejected(name, weight, message, data):
    with pytest.raises(ValueError, match=message):
        estimators(label_weight=weight)[name].fit(data.X, data.Y)


@pytest.mark.parametrize("metric", TARGET_METRICS)
@pytest.mark.parametrize("name", ["sdgs", "decision"])
def test_models_with_weights_come_back(name, metric, data, tmp_path):
    model = estimators(metric=metric, label_weight="balanced")[name].fit(data.X, data.Y)
    assert (model._decision.label_sets is not None) == (metric == "subset_accuracy")
    loaded = save_and_load(model, tmp_path)
    assert_same_predictions(model, loaded, data.X)
    assert_same(vars(model._decision), vars(loaded._decision))


@pytest.mark.parametrize("name", ["sdgs", "decision"])
def test_forged_decisions_are_rejected(name, data, tmp_path):
    model = estimators(metric="subset_accuracy", label_weight="balanced")[name].fit(data.X, data.Y)
    sdgs.save(model, tmp_path / "model.sdgs")
    prefix = "" if name == "sdgs" else "_decision."

    def change(entry, values):
        def forged(document, arrays):  # noqa: ARG001
            arrays[f"{prefix}{entry}"] = values(arrays[f"{prefix}{entry}"])

        return forged

    for forged in (
        change("label_weight", lambda w: -w),
        change("label_weight", lambda w: w[1:].copy()),
        change("label_sets.sets", lambda sets: sets + np.uint8(1)),
        change("label_sets.sets", lambda sets: sets[:, 1:].copy()),
        change("label_sets.sets", lambda sets: sets[:0]),
        change("label_sets.log_ratios", lambda ratios: ratios[1:].copy()),
        change("label_sets.log_ratios", lambda ratios: ratios * np.nan),
    ):
        with pytest.raises(ModelFileError):
            sdgs.load(forge(tmp_path / "model.sdgs", tmp_path, forged))


def test_given_weights_of_classifiers_near_the_largest_number(data):
    members = [LogisticRegression(), LogisticRegression(C=0.01)]
    model = AveragingClassifier(members, weights=[1e308, 1e308], random_state=0).fit(data.X, data.Y)
    assert model.weights_.tolist() == [0.5, 0.5]
    equal = AveragingClassifier(members, weights=[1, 1], random_state=0).fit(data.X, data.Y)
    np.testing.assert_array_equal(model.predict_proba(data.X), equal.predict_proba(data.X))


@pytest.mark.parametrize("metric", TARGET_METRICS)
def test_explanations_say_at_which_probability_a_label_with_a_weight_is_predicted(metric, data):
    weight = np.array([1, 4, 0.25, 1])
    model = SDGSClassifier(2, gamma=None, metric=metric, label_weight=weight, at_least_one=False, random_state=0)
    model.fit(data.X[:80], data.Y[:80])
    P, labels = model.predict_proba(data.X[80:110]), model.predict(data.X[80:110])
    for i, sample in enumerate(model.explain_prediction(data.X[80:110], labels="all")):
        for j in range(4):
            decision = sample.decision(j)
            assert decision.predicted == labels[i, j]
            assert decision.probability == pytest.approx(P[i, j])
            assert decision.label_weight == weight[j]
            if decision.threshold is not None:
                assert (decision.probability >= decision.threshold - 1e-12) == labels[i, j]
            if decision.value_with is not None:
                sign = -1 if metric == "hamming_loss" else 1
                assert (sign * (decision.value_with - decision.value_without) >= -1e-12) == labels[i, j]
            assert f"multiplied by {weight[j]:g}" in decision.text()


def test_weights_raise_macro_f1_of_rare_labels():
    rng = np.random.default_rng(0)
    X, noise = rng.standard_normal((2, 2000, 6))
    Y = (X + noise > [0.5, 0.5, 2, 2.5, 3, 3]).astype(int)
    train, test = slice(0, 1000), slice(1000, None)
    found = {}
    for weight in (None, "balanced"):
        model = DecisionClassifier(LogisticRegression(), label_weight=weight, random_state=0).fit(X[train], Y[train])
        predicted = model.predict(X[test])
        found[weight] = metrics.macro_f1(Y[test], predicted), metrics.f1(Y[test], predicted)
    assert found["balanced"][0] > found[None][0] + 0.02
    assert found["balanced"][1] > found[None][1] - 0.02

"""Classifier chains."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from sdgs.methods import ClassifierChains
from sdgs.methods._base_learners import FittedLearner
from sdgs.methods._chain_inference import FittedChain, LabelDistribution, beam_search, latin_hypercube, mixture
from sdgs.readout._joint_f1 import best_expected_f1_of_sets


class PlainRegression(LogisticRegression):
    """Logistic regression, of which chains do not know that it is linear."""


@pytest.fixture
def dependent():
    """Four labels that depend on features and on each other."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((160, 5))
    Y = (X @ rng.standard_normal((5, 4)) + rng.standard_normal((160, 4)) > 0).astype(int)
    Y[:, 1] ^= Y[:, 0] & (rng.random(160) < 0.7)
    Y[:, 3] = Y[:, 2] ^ (rng.random(160) < 0.2)
    return X[:120], Y[:120], X[120:]


def joint_distribution(model, X, label_weight=1.0):
    """All label sets (2^k, k) and their probabilities (n, 2^k), by the definition."""
    k = model.order_.shape[1]
    sets = np.array(list(product([0, 1], repeat=k)))
    P = np.zeros((len(X), len(sets)))
    for order, links in zip(model.order_, model.estimators_, strict=True):
        for s, labels in enumerate(sets):
            chain = np.ones(len(X))
            for t, link in enumerate(links):
                before = np.tile(label_weight * labels[order[:t]], (len(X), 1))
                chain *= link.predict_proba(np.hstack([X, before]))[:, labels[order[t]]]
            P[:, s] += chain / len(model.order_)
    return sets.astype(bool), P


@pytest.mark.parametrize("order", [None, [2, 0, 3, 1]])
@pytest.mark.parametrize("estimator", [LogisticRegression(), PlainRegression(), DecisionTreeClassifier(max_depth=3)])
@pytest.mark.parametrize("convert", [np.asarray, csr_array])
def test_greedy_chain_equals_that_of_scikit_learn(dependent, order, estimator, convert):
    X, Y, X_test = dependent
    estimator = estimator if isinstance(estimator, LogisticRegression) else estimator.set_params(random_state=0)
    model = ClassifierChains(estimator, order=order).fit(convert(X), Y)
    expected = ClassifierChain(estimator, order=order).fit(X, Y)
    np.testing.assert_array_equal(model.predict(convert(X_test)), expected.predict(X_test))
    np.testing.assert_allclose(model.predict_proba(convert(X_test)), expected.predict_proba(X_test), atol=1e-4)


def test_greedy_chain_with_scores_only(dependent):
    X, Y, X_test = dependent
    model = ClassifierChains(SVC(kernel="linear")).fit(X, Y)
    expected = ClassifierChain(SVC(kernel="linear")).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X_test), expected.predict(X_test))


def test_agrees_with_scikit_multilearn(dependent):
    transform = pytest.importorskip("skmultilearn.problem_transform")
    X, Y, X_test = dependent
    expected = transform.ClassifierChain(LogisticRegression()).fit(X, Y).predict(X_test).toarray()
    model = ClassifierChains().fit(X, Y)
    np.testing.assert_array_equal(model.predict(X_test), expected)
    expected = transform.ProbabilisticClassifierChain(LogisticRegression()).fit(X, Y).predict(X_test).toarray()
    np.testing.assert_array_equal(model.set_params(decision="mode").predict(X_test), expected)


@pytest.mark.parametrize("n_chains", [1, 3])
@pytest.mark.parametrize("estimator", [None, PlainRegression()], ids=["linear", "any"])
@pytest.mark.parametrize("label_weight", [1.0, 0.2])
def test_exact_inference_agrees_with_the_definition(dependent, n_chains, estimator, label_weight):
    X, Y, X_test = dependent
    model = ClassifierChains(
        estimator, n_chains=n_chains, decision="mode", inference="exact", label_weight=label_weight, random_state=0
    ).fit(X, Y)
    sets, P = joint_distribution(model, X_test, label_weight)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X_test), sets[P.argmax(axis=1)])
    np.testing.assert_allclose(model.predict_proba(X_test), P @ sets, atol=1e-12)
    np.testing.assert_array_equal(model.set_params(decision="marginals").predict(X_test), P @ sets > 0.5)
    best = best_expected_f1_of_sets(sets, P)
    np.testing.assert_array_equal(model.set_params(decision="f1").predict(X_test), best)


def test_the_mode_is_more_probable_than_the_greedy_prediction(dependent):
    X, Y, X_test = dependent
    model = ClassifierChains(order=[3, 2, 1, 0]).fit(X, Y)
    sets, P = joint_distribution(model, X_test)

    def probability(predicted):
        return P[np.arange(len(X_test)), (predicted[:, None] == sets).all(axis=2).argmax(axis=1)]

    greedy = probability(model.predict(X_test))
    mode = probability(model.set_params(decision="mode").predict(X_test))
    assert (mode >= greedy).all()
    assert (mode > greedy).any()


def test_beams(dependent):
    X, Y, X_test = dependent
    model = ClassifierChains(inference="beam", beam_width=1).fit(X, Y)
    greedy = model.predict(X_test)
    np.testing.assert_array_equal(model.set_params(decision="mode").predict(X_test), greedy)
    exact = ClassifierChains(decision="f1", inference="exact").fit(X, Y)
    model.set_params(decision="f1", beam_width=16)
    np.testing.assert_allclose(model.predict_proba(X_test), exact.predict_proba(X_test))
    np.testing.assert_array_equal(model.predict(X_test), exact.predict(X_test))


@pytest.mark.parametrize("width", [2, 3, 5])
def test_beams_agree_with_the_definition(dependent, width):
    X, Y, X_test = dependent
    order = [2, 0, 3, 1]
    model = ClassifierChains(order=order, decision="mode", inference="beam", beam_width=width).fit(X, Y)
    for x in X_test:
        beam = [(1.0, ())]
        for link in model.estimators_[0]:
            extended = []
            for p, labels in beam:
                q = link.predict_proba([[*x, *labels]])[0]
                extended += [(p * q[0], (*labels, 0)), (p * q[1], (*labels, 1))]
            beam = sorted(extended, reverse=True)[:width]
        expected = sum(p * np.array(labels) for p, labels in beam) / sum(p for p, _ in beam)
        np.testing.assert_allclose(model.predict_proba([x])[0, order], expected)
        np.testing.assert_array_equal(model.predict([x])[0, order], beam[0][1])


def test_beams_of_long_chains_do_not_underflow():
    coin = DummyClassifier().fit(np.zeros((2, 1)), [0, 1])
    chain = FittedChain(np.arange(1100), [FittedLearner(2, coin)] * 1100, 1.0)
    distribution = beam_search(chain, np.zeros((2, 1)), 2)
    np.testing.assert_allclose(distribution.weights, 0.5)
    np.testing.assert_array_equal(distribution.rows, [0, 0, 1, 1])


@pytest.mark.parametrize("estimator", [None, PlainRegression()], ids=["linear", "any"])
def test_monte_carlo_converges(dependent, estimator):
    X, Y, X_test = dependent
    model = ClassifierChains(
        estimator, order=[2, 0, 3, 1], decision="marginals", inference="monte_carlo", random_state=0
    ).fit(X, Y)
    sets, P = joint_distribution(model, X_test)
    errors = [
        np.sqrt(np.mean((model.set_params(n_draws=n_draws).predict_proba(X_test) - P @ sets) ** 2))
        for n_draws in (10, 100, 10_000)
    ]
    assert errors[0] < 0.05
    assert errors[1] < 0.01
    assert errors[2] < 0.001
    best = best_expected_f1_of_sets(sets, P)
    assert (model.set_params(decision="f1").predict(X_test) == best).mean() > 0.98


def test_predictions_do_not_depend_on_other_samples(dependent):
    X, Y, X_test = dependent
    model = ClassifierChains(n_chains=2, decision="f1", inference="monte_carlo", random_state=0).fit(X, Y)
    many = np.tile(X_test, (40, 1))  # several blocks
    np.testing.assert_array_equal(model.predict(many), np.tile(model.predict(X_test), (40, 1)))
    np.testing.assert_allclose(model.predict_proba(many), np.tile(model.predict_proba(X_test), (40, 1)), atol=1e-12)


def test_latin_hypercube():
    U = latin_hypercube(np.random.default_rng(0), 50, 3)
    np.testing.assert_array_equal(np.sort(np.floor(50 * U), axis=0), np.tile(np.arange(50)[:, None], 3))


def test_mixture_of_distributions():
    first = LabelDistribution(
        np.array([[0.4, 0.6], [1, 1]]),
        np.array([0, 0, 1]),
        np.array([[0, 1], [1, 0], [1, 1]]) == 1,
        np.array([0.6, 0.4, 1]),
    )
    second = LabelDistribution(
        np.array([[1, 0], [0.3, 0.3]]),
        np.array([0, 1, 1]),
        np.array([[1, 0], [0, 0], [1, 1]]) == 1,
        np.array([1, 0.7, 0.3]),
    )
    mean = mixture([first, second])
    np.testing.assert_array_equal(mean.rows, [0, 0, 1, 1])
    np.testing.assert_array_equal(mean.sets, [[0, 1], [1, 0], [0, 0], [1, 1]])
    np.testing.assert_allclose(mean.weights, [0.3, 0.7, 0.35, 0.65])
    np.testing.assert_array_equal(mean.mode(), [[1, 0], [1, 1]])
    np.testing.assert_allclose(mean.marginals, [[0.7, 0.3], [0.65, 0.65]])


def test_ensembles_average_chains(dependent):
    X, Y, X_test = dependent
    orders = [[0, 1, 2, 3], [3, 1, 0, 2]]
    model = ClassifierChains(n_chains=2, order=orders, bootstrap=False).fit(X, Y)
    chains = [ClassifierChain(LogisticRegression(), order=order).fit(X, Y) for order in orders]
    mean = np.mean([chain.predict_proba(X_test) for chain in chains], axis=0)
    np.testing.assert_allclose(model.predict_proba(X_test), mean, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X_test), mean > 0.5)


def test_orders_and_samples_of_ensembles(dependent):
    X, Y, _ = dependent

    class Recorder(LogisticRegression):
        def fit(self, X, y):
            self.n_samples_, self.n_distinct_ = len(X), len(np.unique(X[:, 0]))
            return super().fit(X, y)

    def recorded(**parameters):
        model = ClassifierChains(Recorder(), random_state=0, **parameters).fit(X, Y)
        return model, [(links[0].n_samples_, links[0].n_distinct_) for links in model.estimators_]

    model, sizes = recorded(n_chains=4)
    assert len({tuple(order) for order in model.order_}) > 1
    assert all(size == 120 and 60 < distinct < 100 for size, distinct in sizes)
    assert recorded(n_chains=2, bootstrap=False, max_samples=0.67)[1] == [(80, 80), (80, 80)]
    model, sizes = recorded(max_samples=0.5)
    assert sizes == [(120, 120)]
    np.testing.assert_array_equal(model.order_, [[0, 1, 2, 3]])
    np.testing.assert_array_equal(recorded(n_chains=3, order=[3, 2, 1, 0])[0].order_, [[3, 2, 1, 0]] * 3)


@pytest.mark.parametrize("order", [[0, 1, 2], [0, 1, 2, 2], [[0, 1, 2, 3]] * 3, [1, 2, 3, 4], [0.5, 1, 2, 3]])
def test_bad_orders_are_rejected(dependent, order):
    X, Y, _ = dependent
    with pytest.raises(ValueError, match="order must be a permutation of the 4 labels' indices"):
        ClassifierChains(n_chains=2, order=order).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_chains": 0}, "n_chains must be an integer"),
        ({"order": "columns"}, "order must be one of 'random'"),
        ({"max_samples": 1.5}, "max_samples must be a share"),
        ({"decision": "set"}, "decision must be one of"),
        ({"inference": "greedy"}, "inference must be one of"),
        ({"label_weight": 0}, "label_weight must be a finite number > 0"),
        ({"bootstrap": "yes"}, "bootstrap must be one of"),
    ],
)
def test_bad_parameters_are_rejected(dependent, parameters, message):
    X, Y, _ = dependent
    with pytest.raises(ValueError, match=message):
        ClassifierChains(**parameters).fit(X, Y)


def test_exact_inference_is_for_few_labels():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((40, 2)), rng.integers(0, 2, (40, 16))
    model = ClassifierChains(decision="f1", inference="exact").fit(X, Y)
    with pytest.raises(ValueError, match="at most 15 labels, and 16 labels are not constant"):
        model.predict(X)
    assert model.set_params(inference="auto").predict(X).shape == (40, 16)
    Y[:, 3:] = 0  # constant labels do not count
    assert ClassifierChains(decision="f1", inference="exact").fit(X, Y).predict(X).shape == (40, 16)


@pytest.mark.slow
def test_reference_values_of_emotions(emotions, measures):
    X, Y, X_test, Y_test = emotions
    model = ClassifierChains(LogisticRegression(max_iter=2000)).fit(X, Y)

    def check(expected, atol=6e-4):
        P = model.predict_proba(X_test) if len(expected) > 6 else None
        values = measures(Y_test, model.predict(X_test), P)
        np.testing.assert_allclose(list(values.values()), expected, atol=atol)

    check([0.2417, 0.2129, 0.5749, 0.4851, 0.6190, 0.6007, 0.1846, 0.7798, 0.3168, 1.980])
    model.set_params(decision="mode")
    check([0.2360, 0.2525, 0.5950, 0.5107, 0.6371, 0.6284, 0.1693, 0.7983, 0.2772, 1.926])
    model.set_params(decision="marginals")
    check([0.2285, 0.1980, 0.5728, 0.4810, 0.6252, 0.6054])
    model.set_params(decision="f1")
    assert measures(Y_test, model.predict(X_test))["f1"] > 0.64
    ensemble = ClassifierChains(LogisticRegression(max_iter=2000), n_chains=10, random_state=0).fit(X, Y)
    values = measures(Y_test, ensemble.predict(X_test), ensemble.predict_proba(X_test))
    expected = [0.2203, 0.2376, 0.5898, 0.5041, 0.6445, 0.6318, 0.1636, 0.8115, 0.2624, 1.886]
    np.testing.assert_allclose(list(values.values())[:8], expected[:8], atol=0.03)


@pytest.mark.slow
def test_reference_values_of_medical(medical, measures):
    X, Y, X_test, Y_test = medical
    model = ClassifierChains(LogisticRegression(C=10, max_iter=2000)).fit(X, Y)
    values = measures(Y_test, model.predict(X_test), model.predict_proba(X_test))
    expected = [0.0144, 0.5085, 0.5883, 0.5687, 0.6828, 0.2017, 0.0328, 0.8535, 0.1876, 2.172]
    np.testing.assert_allclose(list(values.values()), expected, atol=6e-4)
    f1 = measures(Y_test, model.set_params(decision="f1", random_state=0).predict(X_test))["f1"]
    assert f1 > 0.65  # greedy: 0.588

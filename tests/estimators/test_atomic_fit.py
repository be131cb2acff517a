"""A fit that fails or is interrupted leaves the estimator as it was."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from helpers import interrupted
from sdgs import AveragingClassifier, DecisionClassifier, SDGSClassifier, SDGSClassifierCV, methods
from sdgs.datasets import make_label_subspaces
from sdgs.experiments._most_frequent_labels import MostFrequentLabels
from sdgs.methods import MDDM, BinaryRelevance, MLkNN

DATA = make_label_subspaces(60, 8, 3, n_components=1, noise=0.1, random_state=0)
OTHER = make_label_subspaces(50, 6, 4, n_components=1, noise=0.1, random_state=1)
INTERRUPTIONS = [RuntimeError, KeyboardInterrupt, MemoryError]

ESTIMATORS = [
    pytest.param(SDGSClassifier(1, cv=2, scaling="rows", random_state=0), id="SDGSClassifier"),
    pytest.param(SDGSClassifier(1, readout="norm", random_state=0), id="SDGSClassifier-norm"),
    pytest.param(
        SDGSClassifierCV(n_components=1, alphas=0.1, hubers=None, gammas=None, scaling="rows", cv=2, random_state=0),
        id="SDGSClassifierCV",
        marks=pytest.mark.slow,
    ),
    BinaryRelevance(random_state=0),
    MLkNN(3),
    MDDM(2),
    MDDM(2, projection="orthonormal", label_kernel="rbf"),
    MostFrequentLabels(),
    DecisionClassifier(MLkNN(3), cv=2, random_state=0),
    AveragingClassifier([MLkNN(3), MLkNN(5)], cv=2, random_state=0),
    methods.LabelPowerset(),
    methods.RAkEL(labelset_size=2, random_state=0),
    methods.ClassifierChains(random_state=0),
    methods.HOMER(branching_factor=2, random_state=0),
    methods.HierarchicalRelevance(),
    methods.StackedRelevance(cv=2),
    methods.CurdsAndWhey(),
    methods.CurdsAndWheyCV(cv=2),
    methods.SharedSubspace(),
    methods.SharedSubspaceCV(cv=2),
    methods.ReducedRankRidge(),
    methods.ReducedRankRidgeCV(cv=2),
    methods.SparseLowRank(),
    pytest.param(methods.SparseLowRankCV(cv=2), marks=pytest.mark.slow),
    methods.CompressedLabels(2, random_state=0),
    methods.PLST(1),
]


def _fit(estimator, X, Y, point=None, exception=None):
    """The number of calls in a fit, which is interrupted at one of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return interrupted(lambda: estimator.fit(X, Y), point, exception)


def _output(estimator, X):
    return estimator.predict(X) if hasattr(estimator, "predict") else estimator.transform(X)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(estimator):
    estimator.fit(DATA.X, DATA.Y)
    state, output = dict(vars(estimator)), _output(estimator, DATA.X)
    n_calls = min(_fit(clone(estimator), OTHER.X, OTHER.Y) for _ in range(2))  # the first may import or compile
    points = np.random.default_rng(0).integers(1, n_calls + 1, 50)
    n_interrupted = 0
    for i, point in enumerate(points):
        exception = INTERRUPTIONS[i % 3]
        try:
            n = _fit(estimator, OTHER.X, OTHER.Y, point, exception)
        except exception:
            n_interrupted += 1
            assert vars(estimator).keys() == state.keys()
            assert all(value is state[name] for name, value in vars(estimator).items())
        else:  # threads may make a few calls fewer than before
            assert n < point
            estimator.__dict__ = dict(state)
    assert n_interrupted >= 40
    np.testing.assert_array_equal(_output(estimator, DATA.X), output)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_an_estimator_whose_first_fit_failed_is_not_fitted(estimator):
    unfitted = clone(estimator)
    with pytest.raises(KeyboardInterrupt):
        _fit(unfitted, DATA.X, DATA.Y, 1, KeyboardInterrupt)
    with pytest.raises(NotFittedError):
        check_is_fitted(unfitted)


def test_a_failed_fit_keeps_the_names_of_the_labels():
    Y = pd.DataFrame(DATA.Y, columns=["a", "b", "c"])
    model = SDGSClassifier(1, random_state=0).fit(DATA.X, Y)
    expected = model.predict(DATA.X)
    with pytest.raises(ValueError, match="max_iter"):
        model.set_params(max_iter=0).fit(DATA.X, Y[["c", "b", "a"]])
    pd.testing.assert_frame_equal(model.predict(DATA.X), expected)


def test_a_fit_has_no_attributes_of_an_earlier_one():
    model = SDGSClassifier(1, scaling="rows", random_state=0).fit(DATA.X, DATA.Y)
    assert hasattr(model, "penalty_")
    assert not hasattr(model.set_params(readout="norm").fit(DATA.X, DATA.Y), "penalty_")

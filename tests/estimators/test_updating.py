"""``update``: as a fit to all samples while they are kept, and by sums after that."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from helpers import interrupted
from sdgs import SDGSClassifier, SDGSClassifierCV
from sdgs.datasets import load, make_label_subspaces, make_tickets
from sdgs.metrics import evaluate

DATA = make_label_subspaces(300, 14, 4, n_components=2, noise=0.1, random_state=0)
NAMES = ["calm", "loud", "fast", "sad"]
FRAME = pd.DataFrame(DATA.Y, columns=NAMES)
LISTS = [[NAMES[j] for j in np.flatnonzero(y)] for y in DATA.Y]
CLASSES = np.array(NAMES)[np.argmax(DATA.Y + 1e-3 * np.arange(4), axis=1)]


def model(**parameters):
    defaults = {"n_components": 2, "gamma": None, "cv": 2, "random_state": 0, "keep_samples": 1000}
    return SDGSClassifier(**(defaults | parameters))


def rows_of(y, rows):
    if hasattr(y, "iloc"):
        return y.iloc[rows]
    return y[rows]


def learn(estimator, X, y, bounds=(0, 120, 121, 200, 300)):
    for i, (start, stop) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
        (estimator.update if i else estimator.fit)(X[start:stop], rows_of(y, slice(start, stop)))
    return estimator


@pytest.mark.parametrize("y", [DATA.Y, csr_array(DATA.Y), FRAME, LISTS, CLASSES], ids=lambda y: type(y).__name__)
@pytest.mark.parametrize("keep_samples", [1000, 150, 0])
def test_every_form_of_target(y, keep_samples):
    estimator = learn(model(keep_samples=keep_samples), DATA.X, y)
    once = model(keep_samples=None).fit(DATA.X, y)
    assert estimator.n_samples_seen_ == 300
    predicted, expected = estimator.predict(DATA.X), once.predict(DATA.X)
    assert type(predicted) is type(expected)
    np.testing.assert_array_equal(estimator.classes_, once.classes_)
    P, P_once = (np.asarray(one.predict_proba(DATA.X)) for one in (estimator, once))
    if keep_samples == 1000:
        np.testing.assert_array_equal(P, P_once)
    else:
        assert np.abs(P - P_once).mean() < 0.2
        assert np.corrcoef(P.ravel(), P_once.ravel())[0, 1] > 0.75


@pytest.mark.parametrize("kind", ["kernel", "sparse", "missing", "float32", "weights"])
def test_while_samples_are_kept_the_model_is_that_of_one_fit(kind):
    X, Y, weight = DATA.X.copy(), DATA.Y, np.ones(300)
    if kind == "sparse":
        X = csr_array(np.maximum(X.round(1), 0))
    elif kind == "missing":
        X[::7, ::3] = np.nan
        Y = FRAME.astype(float)
        Y.iloc[130:140, 1] = np.nan
    elif kind == "float32":
        X = X.astype(np.float32)
    elif kind == "weights":
        weight[50:250:3] = 2
        weight[:200:9] = 0
    parameters = {"gamma": 1.0, "n_landmarks": 30} if kind == "kernel" else {}
    weights = [{} if kind != "weights" else {"sample_weight": weight[rows]} for rows in (slice(150), slice(150, 300))]
    estimator = model(**parameters).fit(X[:150], rows_of(Y, slice(150)), **weights[0])
    estimator.update(X[150:], rows_of(Y, slice(150, 300)), **weights[1])
    once = model(**parameters).fit(X, Y, **({} if kind != "weights" else {"sample_weight": weight}))
    np.testing.assert_array_equal(estimator.predict_proba(X), once.predict_proba(X))
    np.testing.assert_array_equal(estimator.out_of_fold_probabilities_, once.out_of_fold_probabilities_)
    np.testing.assert_array_equal(estimator.out_of_fold_rows_, once.out_of_fold_rows_)
    assert estimator.n_samples_seen_ == 300


@pytest.mark.parametrize("keep_samples", [1000, 100])
@pytest.mark.parametrize("form", ["frame", "lists", "classes"])
def test_a_label_that_appears_later_is_learnt(keep_samples, form):
    # One subspace per label, so that the features of the others say little about the new one.
    late = DATA.Y[:, 2] == 1
    order = np.concatenate([np.flatnonzero(~late)[:120], np.flatnonzero(late), np.flatnonzero(~late)[120:]])
    mixed = np.concatenate([order[:120], np.random.default_rng(0).permutation(order[120:])])
    X = DATA.X[mixed]
    y = {"frame": FRAME.iloc[mixed], "lists": [LISTS[i] for i in mixed], "classes": CLASSES[mixed]}[form]
    first = y[:120].drop(columns="fast") if form == "frame" else y[:120]
    estimator = model(keep_samples=keep_samples).fit(X[:120], first)
    assert "fast" not in list(estimator.classes_)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.update(X[120:], y[120:])
    assert list(estimator.classes_)[-1] == "fast"
    assert any("new labels" in str(one.message) for one in caught) == (keep_samples < 120)
    assert any(one.filename == __file__ for one in caught) == (keep_samples < 120)
    has_label = DATA.Y[mixed, 2] == 1 if form != "classes" else y == "fast"
    p = np.asarray(estimator.predict_proba(X))[:, -1]
    assert p[has_label].mean() > p[~has_label].mean() + 0.15
    predicted = estimator.predict(X)
    if form == "frame":
        assert list(predicted.columns) == ["calm", "loud", "sad", "fast"]
        assert predicted["fast"].dtype == FRAME["fast"].dtype
        once = model().fit(X, y[predicted.columns])
        if keep_samples == 1000:
            np.testing.assert_array_equal(once.predict_proba(X), estimator.predict_proba(X))
    elif form == "lists":
        assert any("fast" in labels for labels in predicted)
    else:
        assert (predicted == "fast").any()


@pytest.mark.parametrize("gamma", [None, 1.0])
def test_explanations_after_updates_sum_to_the_log_odds(gamma):
    estimator = model(keep_samples=0, gamma=gamma, n_landmarks=30).fit(DATA.X[:150], FRAME[:150].drop(columns="sad"))
    with pytest.warns(UserWarning, match="new labels"):
        estimator.update(DATA.X[150:], FRAME[150:])
    X = DATA.X[:20]
    explanation = estimator.explain_prediction(X, "all")
    for i, sample in enumerate(explanation):
        parts = sample.parts()
        sums = sum(part.sum(axis=1) for part in (parts.features, parts.components, parts.neighbours))
        np.testing.assert_allclose(parts.base + sums, estimator.decision_function(X)[i], atol=1e-9)
    assert estimator.contributions(X).shape == (20, 4, 14)
    assert not estimator.contributions(X, np.ones((20, 4)))[:, 3].any()  # it has no subspace
    assert estimator.explain_labels(X).features.shape == (4, 14)
    estimator.counterfactual(X[:2], "sad")


def test_what_a_model_keeps_does_not_grow():
    data = make_label_subspaces(3000, 14, 4, n_components=2, noise=0.1, random_state=1)
    estimator = model(keep_samples=200, n_components=1).fit(data.X[:300], data.Y[:300])
    sizes = []
    for start in range(300, 3000, 300):
        estimator.update(data.X[start : start + 300], data.Y[start : start + 300])
        sizes.append(len(pickle.dumps(estimator)))
    assert estimator.n_samples_seen_ == 3000
    scored = estimator._kept.scored.scores
    assert len(scored) <= 300 + 9 * 150  # until their maximum is reached these alone grow
    per_update = (4 + 4 + 4 + 8) * scored.shape[1] * 150
    assert np.diff(sizes).max() <= per_update


def test_one_sample_at_a_time():
    estimator = model(keep_samples=0, n_components=1).fit(DATA.X[:200], DATA.Y[:200])
    once = (
        model(keep_samples=0, n_components=1).fit(DATA.X[:200], DATA.Y[:200]).update(DATA.X[200:210], DATA.Y[200:210])
    )
    for i in range(200, 210):
        estimator.update(DATA.X[[i]], DATA.Y[[i]])
    np.testing.assert_allclose(estimator._pipelines[0].ridge.coef, once._pipelines[0].ridge.coef, atol=1e-8)


def test_out_of_fold_probabilities_are_those_of_kept_samples():
    estimator = learn(model(), DATA.X, FRAME)
    assert estimator.out_of_fold_probabilities_.shape == (300, 4)
    assert len(estimator.suspicious_labels(n_pairs=3)) == 3
    estimator = model(keep_samples=0).fit(DATA.X[:200], FRAME[:200])
    assert estimator.out_of_fold_rows_.size == 200
    estimator.update(DATA.X[200:], FRAME[200:])
    for ask in (lambda: estimator.out_of_fold_probabilities_, lambda: estimator.out_of_fold_rows_):
        with pytest.raises(AttributeError, match="no out-of-fold probabilities after an update"):
            ask()
    with pytest.raises(AttributeError, match="Pass X and y to suspicious_labels"):
        estimator.suspicious_labels()
    assert len(estimator.suspicious_labels(DATA.X, FRAME, n_pairs=3)) == 3


def test_changes_of_the_passed_arrays_do_not_reach_the_model():
    X, Y = DATA.X[:200].copy(), DATA.Y[:200].copy()
    estimator = model().fit(X, Y)
    X[:], Y[:] = 0, 1
    estimator.update(DATA.X[200:], DATA.Y[200:])
    np.testing.assert_array_equal(estimator.predict_proba(DATA.X), model().fit(DATA.X, DATA.Y).predict_proba(DATA.X))


@pytest.mark.parametrize("keep_samples", [1000, 0])
@pytest.mark.parametrize("exception", [RuntimeError, KeyboardInterrupt])
def test_an_update_that_is_interrupted_changes_nothing(keep_samples, exception):
    estimator = model(keep_samples=keep_samples, n_components=1).fit(DATA.X[:60], FRAME[:60].drop(columns="sad"))
    before, P = dict(vars(estimator)), estimator.predict_proba(DATA.X)

    def update(estimator):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return estimator.update(DATA.X[60:90], FRAME[60:90])

    # The first run may compile, and threads may make a few calls fewer.
    n_calls = min(interrupted(lambda: update(pickle.loads(pickle.dumps(estimator)))) for _ in range(2))
    for point in np.linspace(10, 0.9 * n_calls, 6).astype(int):
        with pytest.raises(exception):
            interrupted(lambda: update(estimator), point, exception)
        assert vars(estimator).keys() == before.keys()
        assert all(vars(estimator)[name] is value for name, value in before.items())
    pd.testing.assert_frame_equal(estimator.predict_proba(DATA.X), P)


X0 = DATA.X[200:]
ERRORS = {
    "no samples kept": (model(keep_samples=None), DATA.Y, X0, DATA.Y[200:], "kept nothing of its training samples"),
    "too wide": (model(), DATA.Y, X0, np.hstack([DATA.Y, DATA.Y])[200:], "fit the model to a DataFrame or to lists"),
    "narrow": (model(), DATA.Y, X0, DATA.Y[200:, :3], "y has 3 columns, and the model knows 4 labels"),
    "a column is absent": (model(), FRAME, X0, FRAME[200:].drop(columns="sad"), "no column 'sad'"),
    "no frame": (model(), FRAME, X0, DATA.Y[200:], "y must be a DataFrame"),
    "lists": (model(), FRAME, X0, LISTS[200:], "y has lists of labels, and the y of fit did not"),
    "no lists": (model(), LISTS, X0, DATA.Y[200:], "y must have a list of labels for each sample"),
    "numbers among names": (model(), LISTS, X0, [[1, 2]] * 100, "some|strings and others that are integers"),
    "numbers among classes": (model(), CLASSES, X0, np.arange(100) % 2, "y has classes such as"),
    "other features": (model(), DATA.Y, X0[:, :5], DATA.Y[200:], "5 features"),
    "other length": (model(), DATA.Y, X0, DATA.Y[:7], "inconsistent numbers of samples"),
    "not 0 or 1": (model(), DATA.Y, X0, 3 * DATA.Y[200:], "must hold only 0 and 1"),
    "a rank per label": (
        SDGSClassifier((1, 2, 1, 2), gamma=None, keep_samples=1000),
        FRAME,
        X0,
        FRAME[200:].assign(new=1),
        "n_components has one rank per known label",
    ),
    "a propensity per label": (
        model(keep_samples=0, assume="missing", propensity=[0.5] * 4),
        FRAME,
        X0,
        FRAME[200:].assign(new=1),
        "propensity must be one number, or one for each of the 5 labels",
    ),
    "numbers among texts": (
        model(),
        CLASSES.astype(object),
        X0,
        np.array([1, "calm"] * 50, dtype=object),
        "classes of other types",
    ),
    "unobserved labels in sums": (model(keep_samples=0), DATA.Y, X0, np.where(X0[:, :4] > 9, 1, np.nan), "unobserved"),
    "weights": (model(), DATA.Y, X0, DATA.Y[200:], "sample_weight must hold"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_say_what_to_do(case):
    estimator, y, X, y_new, message = ERRORS[case]
    estimator = clone(estimator).fit(DATA.X[:200], rows_of(y, slice(200)))
    options = {"sample_weight": np.ones(3)} if case == "weights" else {}
    with pytest.raises(ValueError, match=message):
        estimator.update(X, y_new, **options)
    assert len(estimator.classes_) == len(clone(estimator).fit(DATA.X[:200], rows_of(y, slice(200))).classes_)


def test_what_cannot_be_updated():
    norm = model(readout="norm", keep_samples=None).fit(DATA.X, DATA.Y)
    with pytest.raises(AttributeError, match="has no attribute 'update'"):
        norm.update(DATA.X, DATA.Y)
    with pytest.raises(ValueError, match='keep_samples needs readout="ridge"'):
        model(readout="norm").fit(DATA.X, DATA.Y)
    with pytest.raises(ValueError, match="keep_samples must be an integer >= 0"):
        model(keep_samples=-1).fit(DATA.X, DATA.Y)
    assert not hasattr(SDGSClassifierCV(), "update")
    assert not hasattr(model(keep_samples=None).fit(DATA.X, DATA.Y), "n_samples_seen_")
    with pytest.raises(NotFittedError):
        model().update(DATA.X, DATA.Y)
    unobserved = DATA.Y.astype(float)
    unobserved[3, 1] = np.nan
    with pytest.raises(ValueError, match="keep_samples of at least the number of all samples"):
        model(keep_samples=10).fit(DATA.X, unobserved)


def test_dask_arrays_are_refused():
    da = pytest.importorskip("dask.array")
    X, Y = da.from_array(DATA.X, chunks=(100, -1)), da.from_array(DATA.Y, chunks=(100, -1))
    with pytest.raises(ValueError, match="keep_samples must be None for a Dask array"):
        model().fit(X, Y)
    with pytest.raises(ValueError, match="update takes no Dask arrays"):
        model().fit(DATA.X, DATA.Y).update(X, Y)


def test_tables_are_encoded_by_the_encoder_of_the_fit():
    X = pd.DataFrame(make_tickets(300, random_state=0).columns)
    y = [tags.split(";") if tags else [] for tags in X.pop("tags")]
    estimator = model(keep_samples=150).fit(X[:200], y[:200])
    encoder = estimator.encoder_
    estimator.update(X[200:], y[200:])
    assert estimator.encoder_ is encoder
    assert estimator.n_samples_seen_ == 300
    assert evaluate(y, estimator.predict(X))["f1"] > 0.8


@pytest.mark.parametrize("propensity", [0.7, "auto"])
def test_labels_that_may_be_missing_are_assumed_to_be_so_in_updates(propensity):
    Y = DATA.Y * (np.random.default_rng(0).random(DATA.Y.shape) < 0.7)
    options = {"assume": "missing", "propensity": propensity}
    estimator = model(keep_samples=0, **options).fit(DATA.X[:200], Y[:200]).update(DATA.X[200:], Y[200:])
    assert (estimator.propensity_.shape, np.ptp(estimator.propensity_)) == ((4,), 0)
    negative = model(keep_samples=0).fit(DATA.X[:200], Y[:200]).update(DATA.X[200:], Y[200:])
    ratio = estimator.predict_proba(DATA.X).mean() / negative.predict_proba(DATA.X).mean()
    assert ratio == pytest.approx(1 / estimator.propensity_.mean(), abs=0.15)


@pytest.mark.parametrize("keep_samples", [1000, 0])
def test_weights_of_labels_are_used_in_updates(keep_samples):
    def share(label_weight):
        estimator = model(keep_samples=keep_samples, label_weight=label_weight).fit(DATA.X[:200], DATA.Y[:200])
        return estimator.update(DATA.X[200:], DATA.Y[200:]).predict(DATA.X)[:, 1].mean()

    assert share([1, 50, 1, 1]) > share(None) > share([1, 0.02, 1, 1])


def test_samples_of_weight_zero_are_left_out_of_updates_of_sums():
    first, second = slice(200), slice(200, 300)
    Y = np.vstack([np.maximum(DATA.Y, DATA.Y.sum(axis=1, keepdims=True) == 0)[second], np.zeros((50, 4), dtype=int)])
    X, weight = np.vstack([DATA.X[second], DATA.X[:50]]), np.repeat([1.0, 0.0], [100, 50])
    fitted = model(keep_samples=0).fit(DATA.X[first], np.maximum(DATA.Y[first], [0, 0, 0, 1]))
    without, with_zeros = (copy.deepcopy(fitted) for _ in range(2))
    without.update(X[:100], Y[:100])
    with_zeros.update(X, Y, weight)
    assert with_zeros.n_samples_seen_ == without.n_samples_seen_ == 300
    np.testing.assert_allclose(with_zeros.predict_proba(DATA.X), without.predict_proba(DATA.X), atol=1e-9)
    np.testing.assert_array_equal(with_zeros.predict(DATA.X), without.predict(DATA.X))
    assert with_zeros._decision.at_least_one
    assert without._decision.at_least_one


@pytest.mark.array_api
def test_arrays_of_other_libraries(elsewhere):
    estimator = model(keep_samples=0).fit(elsewhere(DATA.X[:200]), elsewhere(DATA.Y[:200]))
    estimator.update(elsewhere(DATA.X[200:]), elsewhere(DATA.Y[200:]))
    on_host = model(keep_samples=0).fit(DATA.X[:200], DATA.Y[:200]).update(DATA.X[200:], DATA.Y[200:])
    assert estimator.n_samples_seen_ == on_host.n_samples_seen_
    assert type(estimator._kept.gram) is np.ndarray


@pytest.mark.slow
@pytest.mark.parametrize("order", ["random", "file"])
def test_ten_batches_of_real_text_are_as_good_as_one_fit(data_home, order):
    data = load("yahoo-arts", "train", data_home=data_home)
    rows = np.random.default_rng(0).permutation(len(data.Y))
    test, train = rows[:400], rows[400:] if order == "random" else np.sort(rows[400:])
    options = {"random_state": 0, "n_jobs": 1}
    once = SDGSClassifier(**options).fit(data.X[train], data.Y[train])
    f1 = {}
    for keep_samples in (10_000, 800):
        estimator = SDGSClassifier(**options, keep_samples=keep_samples)
        for i, batch in enumerate(np.array_split(train, 10)):
            (estimator.update if i else estimator.fit)(data.X[batch], data.Y[batch])
        if keep_samples > len(train):
            np.testing.assert_array_equal(estimator.predict_proba(data.X), once.predict_proba(data.X))
        f1[keep_samples] = evaluate(data.Y[test], estimator.predict(data.X[test]))["f1"]
    assert f1[800] > f1[10_000] - 0.02  # of 400 samples: the standard error of the difference is about a point

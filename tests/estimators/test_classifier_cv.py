"""The classifier that finds its own parameters, and what it is made of."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics.pairwise import laplacian_kernel

from sdgs import SDGSClassifier, SDGSClassifierCV, metrics
from sdgs.coding import group_lasso
from sdgs.datasets import make_composite_digits, make_label_subspaces
from sdgs.readout._calibration import calibrate
from sdgs.readout._features import PipelineParameters
from sdgs.readout._landmark_kernel import fit_landmark_kernel, landmarks
from sdgs.readout._scaling import learn_scaling, possible_scalings
from sdgs.selection._cross_fit import (
    CandidateEvaluator,
    CVResult,
    coordinate_search,
    costs_of_a_search,
    folds_used,
    relative_cost,
    rows_tried,
)

START = PipelineParameters("rows", 4, 0.1)


@pytest.fixture(scope="module")
def digits():
    return (
        make_composite_digits(800, max_labels=2, subset="train", random_state=0),
        make_composite_digits(800, max_labels=2, subset="test", random_state=1),
    )


@pytest.fixture(scope="module")
def model(digits):
    return SDGSClassifierCV(budget=20, random_state=0).fit(digits[0].X, digits[0].Y)


def attempts(worth):
    """Trials whose value is what ``worth`` says of their setting."""
    seen = []

    def attempt(setting):
        assert setting not in seen
        seen.append(setting)
        return CVResult(setting, 1.0, ("sample",), worth(setting), np.arange(1), np.zeros((1, 1)))

    return attempt


@pytest.mark.parametrize("best", [1, 2, 4, 8, 16])
def test_the_walk_finds_the_top_of_a_hill(best):
    hill = attempts(lambda s: -abs(np.log2(s.n_components / best)))
    found, tried = coordinate_search(START, [("n_components", (1, 2, 4, 8, 16))], hill)
    assert found.setting.n_components == best
    assert found in tried


def test_the_walk_goes_one_axis_at_a_time_and_no_farther_than_it_helps():
    axes = [("n_components", (2, 4, 8)), ("alpha", (0.05, 0.1, 0.2))]
    value = {(4, 0.1): 0.5, (8, 0.1): 0.6, (8, 0.2): 0.6005, (8, 0.05): 0.7}  # half a tenth of a point is no help
    best, tried = coordinate_search(START, axes, attempts(lambda s: value[s.n_components, s.alpha]))
    assert [(t.setting.n_components, t.setting.alpha) for t in tried] == list(value)
    assert best is tried[-1]


def test_where_the_walk_ends_counts_not_a_lucky_try():
    value = {4: 0.5, 8: 0.5005, 2: 0.4}
    best, tried = coordinate_search(START, [("n_components", (2, 4, 8))], attempts(lambda s: value[s.n_components]))
    assert best.setting == START
    assert len(tried) == 3


def test_the_walk_passes_over_what_is_too_dear():
    axes = [("n_components", (2, 4, 8)), ("alpha", (0.05, 0.1, 0.2))]
    _, tried = coordinate_search(
        START, axes, attempts(lambda s: s.n_components - s.alpha), lambda s, _: s.n_components <= 4
    )
    assert {t.setting.n_components for t in tried} == {2, 4}
    odd = [("n_components", (4, 16, 6))]
    best, _ = coordinate_search(START, odd, attempts(lambda s: s.n_components), lambda s, _: s.n_components < 10)
    assert best.setting.n_components == 6


def test_ranks_are_not_tried_where_no_code_is_read():
    """Rings: a kernel is all it takes, and what it is given depends on no rank unless there is something to clean."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((300, 8))
    Y = np.column_stack([np.abs(X[:, 0]) > 0.7, np.abs(X[:, 1]) > 0.7]).astype(int)
    options = {"hubers": None, "budget": 100, "random_state": 0}
    model = SDGSClassifierCV(**options).fit(X, Y)
    assert "code" not in model.read_from_
    assert {p["n_components"] for p in model.cv_results_["params"]} == {4}
    X[0, 0] = np.nan
    gappy = SDGSClassifierCV(**options).fit(X, Y)
    assert len({p["n_components"] for p in gappy.cv_results_["params"]}) > 1


def test_only_settings_that_are_level_with_the_best_are_averaged():
    trials = [
        CVResult(START, 1.0, ("sample",), value, np.arange(1), np.zeros((1, 1))) for value in (0.4, 0.695, 0.7, 0.6)
    ]
    ranked = SDGSClassifierCV(n_averaged=3)._to_average
    assert ranked(trials[2], trials, [1.0] * 4, 10.0) == [2, 1]
    assert ranked(trials[1], trials, [1.0] * 4, 10.0) == [1, 2]
    assert ranked(trials[2], trials, [1.0] * 4, 0.0) == [2]
    level = [*trials[:2], trials[2], replace(trials[3], value=0.694)]
    assert ranked(trials[2], level, [1.0, 5.0, 1.0, 1.0], 3.0) == [2, 3]  # one that is too dear is passed over


def test_costs_are_relative_to_the_defaults():
    cost, of_words = partial(relative_cost, sparse=False), partial(relative_cost, sparse=True)
    assert cost(START, 10, 100, 1000) == of_words(START, 10, 100, 1000) == 1
    assert cost(replace(START, n_components=8), 10, 100, 1000) == 2
    assert cost(replace(START, n_components=8), 10, 20, 1000) == 4  # many more dimensions than features
    assert cost(replace(START, n_components=8), 10, 64, 1000) == 2.5
    assert [cost(replace(START, gamma=1.0), 10, 100, m) for m in (400, 1000, 3000)] == pytest.approx([2, 3.5, 3.8])
    assert of_words(replace(START, gamma=1.0), 10, 100, 1000) == pytest.approx(3.75)
    assert of_words(replace(START, gamma=1.0), 100, 100, 1000) == pytest.approx(1.95)  # codes take longer then
    assert cost(replace(START, alpha=0.05, huber=0.1), 10, 100, 1000) > 2


def test_what_was_tried_and_what_was_chosen(model):
    results = model.cv_results_
    tried = len(results["params"])
    assert all(len(column) == tried for column in results.values())
    assert 1 < sum(results["averaged"]) == len(model._members) <= 3
    best = results["params"].index(model.best_params_)
    assert results["averaged"][best]
    assert max(results["score"]) - 0.001 <= model.best_score_ == results["score"][best]
    assert model.best_params_ == {
        "scaling": model.scaling_,
        "n_components": model.n_components_,
        "alpha": model.alpha_,
        "huber": model.huber_,
        "gamma": model.gamma_,
    }
    assert results["penalty"][best] == model.penalty_
    assert len({tuple(params.items()) for params in results["params"]}) == tried


def test_it_is_better_than_the_defaults_and_keeps_their_gifts(digits, model):
    train, test = digits
    plain = SDGSClassifier(random_state=0).fit(train.X, train.Y)
    assert metrics.f1(test.Y, model.predict(test.X)) > metrics.f1(test.Y, plain.predict(test.X)) + 0.005
    p = model.predict_proba(test.X)
    assert p.shape == test.Y.shape
    bins = np.digitize(p.ravel(), np.linspace(0, 1, 11)[1:-1])
    truth = test.Y.ravel()
    error = sum(abs(truth[bins == b].mean() - p.ravel()[bins == b].mean()) * (bins == b).mean() for b in set(bins))
    assert error < 0.03
    parts = model.contributions(test.X[:3])
    assert parts.shape == (3, 10, 64)
    gappy = test.X[:5].copy()
    gappy[:, 20] = np.nan
    filled = model.transform(gappy)
    assert np.isfinite(filled).all()
    same = np.isclose(np.delete(filled, 20, axis=1), np.delete(test.X[:5], 20, axis=1))
    assert same.all() if model.huber_ is None else same.mean() > 0.8


def test_the_same_seed_gives_the_same_model(digits):
    train, test = digits
    first, second = (SDGSClassifierCV(budget=4, random_state=3).fit(train.X, train.Y) for _ in range(2))
    np.testing.assert_array_equal(first.predict_proba(test.X), second.predict_proba(test.X))
    seeds = np.random.RandomState(0)
    drawn = SDGSClassifierCV(budget=2, random_state=seeds).fit(train.X, train.Y)
    assert seeds.randint(10**6) == np.random.RandomState(0).randint(10**6, size=2)[1]  # one draw for all
    assert len(drawn.cv_results_["score"]) > 1


def test_the_budget_is_kept(digits):
    train = digits[0]
    small, large = (SDGSClassifierCV(budget=b, random_state=0).fit(train.X, train.Y) for b in (1.0, 6.0))

    def cost(params, learnt_from):
        return relative_cost(
            PipelineParameters(**params), 10, 64, landmarks("auto", learnt_from, sparse=False), sparse=False
        )

    costs = [
        sum(0.75 * cost(params, len(train.X) * 2 // 3) for params in m.cv_results_["params"])
        + sum(
            0.25 * cost(params, len(train.X))
            for params, used in zip(m.cv_results_["params"], m.cv_results_["averaged"], strict=True)
            if used
        )
        for m in (small, large)
    ]
    assert len(small.cv_results_["params"]) == 1
    assert costs[0] <= 1.0
    assert 3.0 < costs[1] <= 6.0


def test_only_what_is_given_is_tried(digits):
    train = digits[0]
    model = SDGSClassifierCV(
        n_components=3, alphas=(0.15,), hubers=None, gammas=[None], penalties=2.0, scaling="rows", random_state=0
    ).fit(train.X, train.Y)
    assert model.cv_results_["params"] == [
        {"scaling": "rows", "n_components": 3, "alpha": 0.15, "huber": None, "gamma": None}
    ]
    assert model.penalty_ == 2.0
    same = SDGSClassifier(3, alpha=0.15, penalty=2.0, scaling="rows", random_state=0).fit(train.X, train.Y)
    np.testing.assert_allclose(model.predict_proba(train.X), same.predict_proba(train.X), atol=1e-12)


def test_averaging_is_of_the_scores(digits, monkeypatch):
    train, test = digits
    trials = []

    def watched(*args):
        best, tried = coordinate_search(*args)
        trials.extend(tried)
        return best, tried

    monkeypatch.setattr("sdgs.estimators._classifier_cv.coordinate_search", watched)
    options = {"n_components": 2, "hubers": None, "gammas": None, "alphas": (0.1, 0.2), "scaling": "rows"}
    model = SDGSClassifierCV(**options, n_averaged=2, random_state=0).fit(train.X, train.Y)
    assert len(model._members) == 2
    scores = [member.scores(test.X, None) for member in model._members]
    calibration = calibrate((trials[0].scores + trials[1].scores) / 2, train.Y)
    np.testing.assert_allclose(model.decision_function(test.X), calibration.log_odds((scores[0] + scores[1]) / 2))
    assert not np.allclose(scores[0], scores[1])


def test_many_samples_are_tried_on_some(digits):
    train, test = digits
    seen = []

    class Watched(SDGSClassifierCV):
        def _cross_fit(self, *args, **options):
            cross_fit = super()._cross_fit(*args, **options)
            seen.append(cross_fit.rows.size)
            return cross_fit

    model = Watched(max_rows=300, budget=5, random_state=0).fit(train.X, train.Y)
    assert seen == [300, 800]
    assert metrics.f1(test.Y, model.predict(test.X)) > 0.8


def test_progress_is_told_to_standard_error(digits, capsys):
    SDGSClassifierCV(budget=2, verbose=1, random_state=0).fit(digits[0].X, digits[0].Y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "0.8 of 2 fits: scaling=rows, n_components=4, alpha=0.1, huber=None, gamma=None: f1 0." in err


def test_huber_is_found_without_being_told_and_a_kernel_where_it_helps():
    dirty = make_composite_digits(800, max_labels=2, spikes=0.05, subset="train", random_state=0)
    assert SDGSClassifierCV(gammas=None, random_state=0).fit(dirty.X, dirty.Y).huber_ is not None
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 5))
    Y = np.column_stack([X[:, 0] * X[:, 1] > 0, X[:, 2] ** 2 > 0.5]).astype(int)  # no linear method can tell
    model = SDGSClassifierCV(random_state=0).fit(X[:300], Y[:300])
    assert model.gamma_ is not None
    assert model.huber_ is None
    linear = SDGSClassifierCV(gammas=None, random_state=0).fit(X[:300], Y[:300])
    assert metrics.accuracy(Y[300:], model.predict(X[300:])) > metrics.accuracy(Y[300:], linear.predict(X[300:])) + 0.2


def test_a_kernel_sees_cleaned_samples():
    """Spikes and gaps must not reach it: what it is given is what ``transform`` gives."""
    clean = make_composite_digits(600, max_labels=2, subset="train", random_state=0)
    dirty = make_composite_digits(600, max_labels=2, spikes=0.05, subset="train", random_state=0)
    X = dirty.X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    model = SDGSClassifier(huber=0.05, gamma=1.0, random_state=0).fit(X, clean.Y)
    member = model._members[0]
    chart, components = member.view.chart, model.components_
    scaled, norms = member.scaling(X)
    (parts,) = member.view.blocks(scaled, None, norms)
    assert np.isfinite(np.hstack(parts[:2])).all()
    cleaned = member.view.cleaned(scaled, None)
    np.testing.assert_allclose(parts[1], cleaned)
    in_units = model.transform(X) * chart.weights  # in the units of X: its norm may be that of a spike
    np.testing.assert_allclose(parts[0], laplacian_kernel(in_units, chart.landmarks, chart.gamma))
    assert member.view.widths[:3] == (600, 664, 664 + sum(map(len, components)))
    f1 = metrics.f1(
        clean.Y[500:],
        SDGSClassifier(huber=0.05, gamma=1.0, random_state=0).fit(X[:500], clean.Y[:500]).predict(X[500:]),
    )
    assert f1 > 0.75


@pytest.mark.parametrize(("form", "gamma"), [(np.asarray, 2.0), (csr_array, 1.5)])
def test_kernels_that_are_tried(form, gamma):
    axes = dict(SDGSClassifierCV()._axes(form(np.eye(4)), 2))
    assert axes["gamma"] == (None, gamma)
    assert dict(SDGSClassifierCV(gammas=(1.0, None))._axes(form(np.eye(4)), 2))["gamma"] == (1.0, None)


def test_scalings_that_may_suit():
    rng = np.random.default_rng(0)
    counts, measured = rng.poisson(1.0, (50, 4)).astype(float), rng.standard_normal((50, 4))
    assert possible_scalings(counts) == ("rows", "columns")
    assert possible_scalings(measured) == ("columns",)
    assert possible_scalings(csr_array(counts)) == ("idf", "rows")
    assert possible_scalings(csr_array(measured)) == ("idf", "rows")
    assert possible_scalings(csr_array((50, 4))) == ("idf", "rows")
    spiked = counts.copy()
    spiked[::10] -= 50  # one in ten may be corrupted
    assert possible_scalings(spiked) == ("rows", "columns")
    measured[rng.random(measured.shape) < 0.7] = np.nan
    assert possible_scalings(measured) == ("columns",)
    assert possible_scalings(counts * 1e200) == ("rows",)
    gappy = csr_array(counts)
    gappy.data[0] = np.nan
    assert possible_scalings(gappy) == ("rows",)


def test_idf_weights_rare_words_more_in_training_and_prediction():
    X = np.zeros((40, 3))
    X[:, 0] = 1
    X[:4, 1] = 2
    for samples in (X, csr_array(X)):
        scaling = learn_scaling(samples, "idf")
        weights = np.log(41 / (1 + np.array([40, 4, 0]))) + 1
        scaled, norms = scaling(samples)
        dense = scaled.toarray() if not isinstance(scaled, np.ndarray) else scaled
        expected = X * weights
        np.testing.assert_allclose(norms, np.linalg.norm(expected, axis=1))
        np.testing.assert_allclose(dense, expected / np.linalg.norm(expected, axis=1, keepdims=True))
    with pytest.raises(ValueError, match="must be complete"):
        learn_scaling(np.array([[np.nan, 1.0]]), "idf")
    stored = csr_array(X)
    ends = np.append(stored.indptr[:-1], stored.nnz + 1)
    stored = csr_array((np.append(stored.data, 0.0), np.append(stored.indices, 2), ends), shape=X.shape)
    np.testing.assert_allclose(learn_scaling(stored, "idf").scaler.idf_, weights)  # a stored zero is no word


@pytest.mark.parametrize("model", [SDGSClassifier(2, gamma=1.0), SDGSClassifierCV(budget=6)])
def test_a_single_gap_with_a_kernel(model):
    """Two training folds have no gap to learn from; the samples that are left out may have it."""
    data = make_label_subspaces(60, 8, 3, n_components=2, random_state=0)
    X = data.X.copy()
    X[7, 3] = np.nan
    model = clone(model).set_params(random_state=0).fit(X, data.Y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_gaps_in_words_weighted_by_idf():
    rng = np.random.default_rng(0)
    X = csr_array(rng.poisson(0.5, (80, 12)).astype(float))
    Y = (X.toarray()[:, :3] > 0).astype(int)
    model = SDGSClassifier(2, scaling="idf", random_state=0).fit(X, Y)
    gappy = X.copy()
    gappy.data[::9] = np.nan
    assert np.isfinite(model.predict_proba(gappy)).all()
    np.testing.assert_allclose(model.predict_proba(gappy), model.predict_proba(gappy.toarray()), atol=1e-6)
    assert np.isfinite(model.transform(gappy).data).all()


def test_landmarks_are_of_training_folds_alone(monkeypatch):
    fitted = []

    def watched(X, *args):
        fitted.append(len(X))
        return fit_landmark_kernel(X, *args)

    monkeypatch.setattr("sdgs.readout._features.fit_landmark_kernel", watched)
    data = make_label_subspaces(60, 8, 3, n_components=2, random_state=0)
    SDGSClassifier(2, gamma=1.0, random_state=0).fit(data.X, data.Y)
    assert fitted == [40, 40, 40, 60]


def test_a_kernel_takes_samples_of_any_scale():
    """Positive samples of unit norm are close to each other; what a kernel tells apart does not depend on that."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 4))
    Y = np.column_stack([X[:, 0] * X[:, 1] > 0, X[:, 2] * X[:, 3] > 0]).astype(int)
    for samples in (X, 1e-3 * X, 50 + X, csr_array(50 + X)):
        model = SDGSClassifier(2, scaling=None, gamma=1.0, random_state=0).fit(samples[:400], Y[:400])
        assert metrics.accuracy(Y[400:], model.predict(samples[400:])) > 0.8


def test_models_that_are_averaged_have_landmarks_of_their_own(monkeypatch):
    """Only where they are tried out once more anyway; what was chosen from had the same, to be compared."""
    monkeypatch.setattr("sdgs.estimators._classifier_cv._LEVEL", 1)
    data = make_label_subspaces(80, 8, 3, n_components=2, random_state=0)
    options = {"gammas": 1.0, "hubers": None, "scaling": "rows", "n_landmarks": 20, "budget": 100, "random_state": 0}
    for max_rows, n_charts in ((3000, 1), (60, 3)):
        model = SDGSClassifierCV(max_rows=max_rows, **options).fit(data.X, data.Y)
        assert len(model._members) == 3
        assert len({member.view.chart.landmarks.tobytes() for member in model._members}) == n_charts
        assert "draw" not in model.best_params_


def test_what_was_not_read_is_not_looked_at_again(monkeypatch):
    """On all samples: no codes, where some samples said that labels are not read from them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 4))
    Y = np.column_stack([X[:, 0] * X[:, 1] > 0, X[:, 2] * X[:, 3] > 0])
    coded = []

    def watched(X, *args, **options):
        coded.append(X.shape[0])
        return group_lasso(X, *args, **options)

    monkeypatch.setattr("sdgs.readout._features.group_lasso", watched)
    model = SDGSClassifierCV(gammas=1.5, hubers=None, max_rows=450, n_averaged=1, random_state=0).fit(X, Y)
    assert "code" not in model.cv_results_["read_from"][0]
    assert max(coded) == 300


def test_what_was_read_is_all_that_is_looked_at_again(monkeypatch):
    asked, read = [], []
    call = CandidateEvaluator.__call__

    def tried(self, setting, task=None, *, parts=None):
        trial = call(self, setting, task, parts=parts)
        asked.append(parts)
        read.append(trial.read_from)
        return trial

    monkeypatch.setattr(CandidateEvaluator, "__call__", tried)
    data = make_label_subspaces(240, 12, 4, n_components=2, random_state=0)  # of which codes say most
    model = SDGSClassifierCV(gammas=None, hubers=None, max_rows=120, n_averaged=1, random_state=0)
    best = model.fit(data.X, data.Y).cv_results_["averaged"].index(True)
    assert asked == [*[None] * (len(asked) - 1), read[best]]
    assert 1 < len(model.read_from_) <= len(read[best])


def test_penalties_that_are_tried_again_are_near_those_that_were_good(digits, monkeypatch):
    asked = []
    init = CandidateEvaluator.__init__

    def watched(self, *args, penalties, **options):
        asked.append(penalties)
        init(self, *args, penalties=penalties, **options)

    monkeypatch.setattr(CandidateEvaluator, "__init__", watched)
    options = {"n_components": 2, "hubers": None, "gammas": None, "scaling": "rows", "max_rows": 200}
    model = SDGSClassifierCV(**options, random_state=0).fit(digits[0].X, digits[0].Y)
    all_of_them, near = asked
    averaged = [p for p, used in zip(model.cv_results_["penalty"], model.cv_results_["averaged"], strict=True) if used]
    places = [all_of_them.index(penalty) for penalty in averaged]
    assert near == all_of_them[max(min(places) - 2, 0) : max(places) + 3]
    assert len(near) < len(all_of_them)


def test_costs_of_a_search_are_relative_to_a_fit():
    """A fit to many samples does not leave out all folds, and tries its setting on some."""
    assert [folds_used(n, 3) for n in (2, 10_000, 15_000, 15_001, 30_000, 10**6)] == [3, 3, 2, 2, 1, 1]
    assert folds_used(10**5, 10) == 1
    assert [rows_tried(n, 10, 9) for n in (500, 10**6)] == [500, 50_000]
    assert rows_tried(10**6, 1000, 9) == 2**31 // (8 * 4 * 9 * 1000)
    assert rows_tried(10**6, 10**6, 9, 3000) == 1000
    cost = partial(costs_of_a_search, sparse=False)
    assert cost(3000, 3000, 3000, 3) == pytest.approx((0.75, 0.25))
    assert cost(6000, 3000, 6000, 3) == pytest.approx((0.375, 1))
    assert cost(30_000, 3000, 30_000, 3) == pytest.approx(
        (0.75 * 3 / 15, 1)
    )  # one fold, and to learn from all: 7.5 each
    assert cost(30_000, 30_000, 30_000, 3) == pytest.approx((0.5, 0.5))
    assert cost(400_000, 3000, 50_000, 3) == pytest.approx((2250 / 112_500, 1))
    assert costs_of_a_search(3000, 3000, 3000, 3, sparse=True) == pytest.approx((0.55, 0.25))


def test_penalties_in_any_order_are_the_same(digits):
    options = {"n_components": 2, "hubers": None, "gammas": None, "scaling": "rows", "max_rows": 200, "random_state": 0}
    train, _ = digits
    first, second = (
        SDGSClassifierCV(penalties=penalties, **options).fit(train.X, train.Y)
        for penalties in ((0.01, 0.1, 1.0, 10.0, 100.0), (1.0, 100.0, 0.01, 10.0, 0.1))
    )
    assert first.cv_results_["penalty"] == second.cv_results_["penalty"]
    np.testing.assert_array_equal(first.decision_function(train.X), second.decision_function(train.X))


def test_parts_and_cleaned_samples_are_in_the_units_of_words():
    data = make_label_subspaces(300, 20, 4, n_components=2, random_state=0)
    X = csr_array(np.where(np.abs(data.X) > 0.5, np.abs(data.X), 0))
    model = SDGSClassifier(2, scaling="idf", huber=0.05, random_state=0).fit(X, data.Y)
    everything = model.contributions(X[:5], np.ones((5, 4)))
    cleaned = model.transform(X)
    dense = cleaned[:5].toarray()
    weights = model.scaler_.idf_
    for row in range(5):  # the residual is orthogonal to all subspaces where the words are weighted
        rest = (dense[row] - everything[row].sum(axis=0)) * weights
        for C in model.components_:
            np.testing.assert_allclose(C @ rest, 0, atol=1e-8)
    weighted, _ = model._members[0].scaling(X)
    result = model._members[0].view.codes(weighted, None)
    untouched = result.residual.toarray() == 0
    np.testing.assert_allclose(cleaned.toarray()[untouched], X.toarray()[untouched], atol=1e-9)
    assert not np.allclose(cleaned.toarray(), X.toarray())


def test_idf_is_taken_where_it_helps():
    """Frequent words that say nothing, and rare ones that say all; and the other way round."""
    rng = np.random.default_rng(0)
    Y = rng.random((600, 6)) < 0.06
    Y[~Y.any(axis=1), 0] = True
    tells = Y & (rng.random(Y.shape) < 0.8)
    noise = rng.random((600, 60)) < 0.5
    X = csr_array(np.hstack([tells, noise]).astype(float))
    assert SDGSClassifier(2, random_state=0).fit(X, Y).scaling_ == "idf"
    rare = rng.random((600, 200)) < 0.02
    often = rng.random((600, 6)) < 0.5
    X = csr_array(np.hstack([often, rare]).astype(float))
    assert SDGSClassifier(2, random_state=0).fit(X, often).scaling_ == "rows"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": ()}, "n_components must be a value, a sequence of different values"),
        ({"n_components": (4, 4)}, "n_components must be a value, a sequence of different values"),
        ({"n_components": "many"}, "n_components must be .* got 'many'"),
        ({"n_components": (2, 0)}, "n_components must be an integer >= 1"),
        ({"alphas": (0.1, -1.0)}, "alphas must be a finite number > 0"),
        ({"hubers": (None, 0.0)}, "hubers must be a finite number > 0"),
        ({"gammas": "auto?"}, "gammas must be"),
        ({"penalties": "auto"}, "penalties must be a sequence of different values; got 'auto'"),
        ({"scaling": "idf?"}, "scaling must be one of"),
        ({"n_averaged": 0}, "n_averaged must be"),
        ({"budget": 0}, "budget must be"),
        ({"max_rows": 2.5}, "max_rows must be"),
        ({"cv": 1}, "cv must be"),
        ({"metric": "recall"}, "metric must be one of"),
    ],
)
def test_bad_parameters(digits, options, message):
    model = clone(SDGSClassifierCV(**options))
    with pytest.raises(ValueError, match=message):
        model.fit(digits[0].X, digits[0].Y)

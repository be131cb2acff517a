"""SDGSClassifierCV: the search for its parameters, and averages of several candidates."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from sdgs import SDGSClassifier, SDGSClassifierCV, metrics
from sdgs.coding._group_lasso import code_samples
from sdgs.datasets import make_composite_digits, make_label_subspaces
from sdgs.readout import _features
from sdgs.readout._calibration import fit_calibration
from sdgs.readout._parameters import PipelineParameters
from sdgs.readout._samples import ArraySamples
from sdgs.selection._candidate_evaluator import CandidateEvaluator
from sdgs.selection._cost_model import CostModel
from sdgs.selection._cross_fit import CrossFit


class RecordingCV(SDGSClassifierCV):
    """Has the results of the search as an attribute."""

    def _set_results(self, best, results, seconds, averaged):
        self.results_ = results
        super()._set_results(best, results, seconds, averaged)


@pytest.fixture
def evaluators(monkeypatch):
    """The penalties and the number of samples of each evaluator, as they are created."""
    created, init = [], CandidateEvaluator.__init__

    def recorded(self, samples, labels, context, penalties, *args, **options):
        init(self, samples, labels, context, penalties, *args, **options)
        created.append((penalties, self.rows.size))

    monkeypatch.setattr(CandidateEvaluator, "__init__", recorded)
    return created


@pytest.fixture
def penalties_tried(monkeypatch):
    """The penalties that are tried for each candidate, in order."""
    tried, init, scores = [], CrossFit.__init__, CrossFit.scores

    def recorded_init(self, *args, **options):
        init(self, *args, **options)
        tried.append([])
        self.tried = tried[-1]

    def recorded_scores(self, penalty):
        self.tried.append(penalty)
        return scores(self, penalty)

    monkeypatch.setattr(CrossFit, "__init__", recorded_init)
    monkeypatch.setattr(CrossFit, "scores", recorded_scores)
    return tried


@pytest.fixture(scope="module")
def digits():
    return (
        make_composite_digits(800, max_labels=2, subset="train", random_state=0),
        make_composite_digits(800, max_labels=2, subset="test", random_state=1),
    )


@pytest.fixture(scope="module")
def model(digits):
    return SDGSClassifierCV(budget=20, random_state=0).fit(digits[0].X, digits[0].Y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([SDGSClassifierCV(budget=6)])
def test_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
def test_results_of_the_search_are_consistent(model):
    results = model.cv_results_
    n_candidates = len(results["params"])
    assert all(len(column) == n_candidates for column in results.values())
    assert 1 < sum(results["averaged"]) == len(model._pipelines) <= 3
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
    assert len({tuple(params.items()) for params in results["params"]}) == n_candidates


@pytest.mark.slow
def test_predicts_better_than_the_defaults_with_calibrated_probabilities(digits, model):
    train, test = digits
    plain = SDGSClassifier(random_state=0).fit(train.X, train.Y)
    assert metrics.f1(test.Y, model.predict(test.X)) > metrics.f1(test.Y, plain.predict(test.X)) + 0.005
    p = model.predict_proba(test.X)
    assert p.shape == test.Y.shape
    bins = np.digitize(p.ravel(), np.linspace(0, 1, 11)[1:-1])
    truth = test.Y.ravel()
    error = sum(abs(truth[bins == b].mean() - p.ravel()[bins == b].mean()) * (bins == b).mean() for b in set(bins))
    assert error < 0.03


@pytest.mark.slow
def test_has_contributions_and_cleaned_samples(digits, model):
    X = digits[1].X[:5]
    assert model.contributions(X).shape == (5, 10, 64)
    incomplete = X.copy()
    incomplete[:, 20] = np.nan
    filled = model.transform(incomplete)
    assert np.isfinite(filled).all()
    unchanged = np.isclose(np.delete(filled, 20, axis=1), np.delete(X, 20, axis=1))
    assert unchanged.all() if model.huber_ is None else unchanged.mean() > 0.8


@pytest.mark.slow
def test_the_same_seed_gives_the_same_model(digits):
    train, test = digits
    first, second = (SDGSClassifierCV(budget=4, random_state=3).fit(train.X, train.Y) for _ in range(2))
    np.testing.assert_array_equal(first.predict_proba(test.X), second.predict_proba(test.X))
    seeds = np.random.RandomState(0)
    drawn = SDGSClassifierCV(budget=2, random_state=seeds).fit(train.X, train.Y)
    assert seeds.randint(10**6) == np.random.RandomState(0).randint(10**6, size=2)[1]  # it was drawn from once
    assert len(drawn.cv_results_["score"]) > 1


@pytest.mark.slow
def test_the_budget_is_kept(digits):
    train = digits[0]
    small, large = (SDGSClassifierCV(budget=b, random_state=0).fit(train.X, train.Y) for b in (1.0, 6.0))

    def cost(params, n_train):
        costs = CostModel((len(train.X), 64, 10), len(train.X), 3, "auto", sparse=False)
        return costs.relative_cost(PipelineParameters(**params), n_train)

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


def test_only_given_values_are_tried(digits):
    train = digits[0]
    model = SDGSClassifierCV(
        n_components=3, alphas=(0.15,), hubers=None, gammas=[None], penalties=2.0, scaling="rows", random_state=0
    ).fit(train.X, train.Y)
    assert model.cv_results_["params"] == [
        {"scaling": "rows", "n_components": 3, "alpha": 0.15, "huber": None, "gamma": None}
    ]
    assert model.penalty_ == 2.0
    plain = SDGSClassifier(3, alpha=0.15, gamma=None, penalty=2.0, scaling="rows", random_state=0)
    plain.fit(train.X, train.Y)
    np.testing.assert_allclose(model.predict_proba(train.X), plain.predict_proba(train.X), atol=1e-12)


def test_the_order_of_penalties_does_not_matter(digits):
    options = {"n_components": 2, "hubers": None, "gammas": None, "scaling": "rows", "max_rows": 200, "random_state": 0}
    train, _ = digits
    first, second = (
        SDGSClassifierCV(penalties=penalties, **options).fit(train.X, train.Y)
        for penalties in ((0.01, 0.1, 1.0, 10.0, 100.0), (1.0, 100.0, 0.01, 10.0, 0.1))
    )
    assert first.cv_results_["penalty"] == second.cv_results_["penalty"]
    np.testing.assert_array_equal(first.decision_function(train.X), second.decision_function(train.X))


def test_scores_are_averaged(digits):
    train, test = digits
    options = {"n_components": 2, "hubers": None, "gammas": None, "alphas": (0.1, 0.2), "scaling": "rows"}
    model = RecordingCV(**options, n_averaged=2, random_state=0).fit(train.X, train.Y)
    assert len(model._pipelines) == 2
    scores = [pipeline.scores(test.X, None) for pipeline in model._pipelines]
    calibration = fit_calibration((model.results_[0].scores + model.results_[1].scores) / 2, train.Y)
    np.testing.assert_allclose(model.decision_function(test.X), calibration.log_odds((scores[0] + scores[1]) / 2))
    assert not np.allclose(scores[0], scores[1])


def test_candidates_are_evaluated_on_some_of_many_samples(digits, evaluators):
    train, test = digits
    model = SDGSClassifierCV(max_rows=300, budget=5, random_state=0).fit(train.X, train.Y)
    assert [n_samples for _, n_samples in evaluators] == [300, 800]
    assert metrics.f1(test.Y, model.predict(test.X)) > 0.8


def test_on_all_samples_the_search_for_a_penalty_starts_at_the_chosen_one(digits, evaluators, penalties_tried):
    options = {"n_components": 2, "hubers": None, "gammas": None, "scaling": "rows", "max_rows": 200}
    model = RecordingCV(**options, random_state=0).fit(digits[0].X, digits[0].Y)
    assert [n_samples for _, n_samples in evaluators] == [200, 800]
    assert evaluators[0][0] == evaluators[1][0]  # all penalties may be reached
    results = sorted(model.results_, key=lambda result: -result.value)
    chosen = [result.choice.penalty for result in results[:3]]
    assert sum(model.cv_results_["averaged"]) == 3
    assert len({1.0, *chosen}) == 4  # where the search would start otherwise
    assert [tried[0] for tried in penalties_tried[-3:]] == chosen


def test_on_all_samples_labels_are_read_from_the_chosen_blocks_at_most(monkeypatch):
    max_blocks, read_from = [], []
    evaluate = CandidateEvaluator.evaluate

    def recorded(self, *args, **options):
        result = evaluate(self, *args, **options)
        max_blocks.append(options.get("max_blocks"))
        read_from.append(result.choice.read_from)
        return result

    monkeypatch.setattr(CandidateEvaluator, "evaluate", recorded)
    data = make_label_subspaces(240, 12, 4, n_components=2, random_state=0)  # whose codes are informative
    model = SDGSClassifierCV(gammas=None, hubers=None, max_rows=120, n_averaged=1, random_state=0)
    best = model.fit(data.X, data.Y).cv_results_["averaged"].index(True)
    assert max_blocks == [*[None] * (len(max_blocks) - 1), read_from[best]]
    assert 1 < len(model.read_from_) <= len(read_from[best])


def test_on_all_samples_codes_are_not_computed_if_they_are_not_read(monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((600, 8))
    Y = np.column_stack([np.abs(X[:, 0]) > 0.7, np.abs(X[:, 1]) > 0.7])
    n_coded = []

    def recorded(X, *args, **options):
        n_coded.append(X.shape[0])
        return code_samples(X, *args, **options)

    monkeypatch.setattr(_features, "code_samples", recorded)
    model = SDGSClassifierCV(gammas=1.5, hubers=None, max_rows=450, n_averaged=1, random_state=0).fit(X, Y)
    assert "code" not in model.cv_results_["read_from"][0]
    assert max(n_coded) == 300


@pytest.mark.parametrize(("max_rows", "n_kernels"), [(3000, 1), (60, 3)])
def test_averaged_pipelines_have_different_landmarks_if_they_are_evaluated_again(max_rows, n_kernels):
    """During the search they have the same landmarks, so that they can be compared."""
    data = make_label_subspaces(80, 8, 3, n_components=2, random_state=0)
    alphas = (0.1 - 1e-9, 0.1, 0.1 + 1e-9)  # three candidates that are about as good
    options = {"gammas": 1.0, "hubers": 0.5, "n_components": 2, "scaling": "rows", "n_landmarks": 20, "budget": 100}
    model = SDGSClassifierCV(alphas=alphas, max_rows=max_rows, random_state=0, **options).fit(data.X, data.Y)
    assert len(model._pipelines) == 3
    assert len({pipeline.features.kernel.landmarks.tobytes() for pipeline in model._pipelines}) == n_kernels
    assert "landmark_draw" not in model.best_params_


def test_ranks_are_not_tried_if_no_code_is_read():
    """A kernel suffices here, and it depends on no rank unless samples have to be cleaned."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((300, 8))
    Y = np.column_stack([np.abs(X[:, 0]) > 0.7, np.abs(X[:, 1]) > 0.7]).astype(int)
    options = {"hubers": None, "budget": 100, "random_state": 0}
    model = SDGSClassifierCV(**options).fit(X, Y)
    assert "code" not in model.read_from_
    assert {p["n_components"] for p in model.cv_results_["params"]} == {4}
    X[0, 0] = np.nan
    with_missing_entry = SDGSClassifierCV(**options).fit(X, Y)
    assert len({p["n_components"] for p in with_missing_entry.cv_results_["params"]}) > 1


def test_verbose_writes_to_standard_error(digits, capsys):
    SDGSClassifierCV(budget=2, verbose=1, random_state=0).fit(digits[0].X, digits[0].Y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "0.8 of 2 fits: scaling=rows, n_components=4, alpha=0.1, huber=None, gamma=None: f1 0." in err


@pytest.mark.slow
def test_huber_and_a_kernel_are_chosen_if_they_help():
    spiked = make_composite_digits(800, max_labels=2, spikes=0.05, subset="train", random_state=0)
    assert SDGSClassifierCV(gammas=None, random_state=0).fit(spiked.X, spiked.Y).huber_ is not None
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 5))
    Y = np.column_stack([X[:, 0] * X[:, 1] > 0, X[:, 2] ** 2 > 0.5]).astype(int)  # not linearly separable
    model = SDGSClassifierCV(random_state=0).fit(X[:300], Y[:300])
    assert model.gamma_ is not None
    assert model.huber_ is None
    linear = SDGSClassifierCV(gammas=None, random_state=0).fit(X[:300], Y[:300])
    assert metrics.accuracy(Y[300:], model.predict(X[300:])) > metrics.accuracy(Y[300:], linear.predict(X[300:])) + 0.2


@pytest.mark.parametrize(("form", "gamma"), [(np.asarray, 2.0), (csr_array, 1.5)])
def test_kernels_that_are_tried(form, gamma):
    samples = ArraySamples(form(np.eye(4)))
    assert dict(SDGSClassifierCV()._axes(samples, 2))["gamma"] == (None, gamma)
    assert dict(SDGSClassifierCV(gammas=(1.0, None))._axes(samples, 2))["gamma"] == (1.0, None)


@pytest.mark.parametrize("model", [SDGSClassifier(2, gamma=1.0), SDGSClassifierCV(budget=6)])
def test_a_single_missing_entry_with_a_kernel(model):
    """Training folds may be complete although their test samples are not."""
    data = make_label_subspaces(60, 8, 3, n_components=2, random_state=0)
    X = data.X.copy()
    X[7, 3] = np.nan
    model = clone(model).set_params(random_state=0).fit(X, data.Y)
    assert np.isfinite(model.predict_proba(X)).all()


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
def test_bad_parameters_are_rejected(digits, options, message):
    model = clone(SDGSClassifierCV(**options))
    with pytest.raises(ValueError, match=message):
        model.fit(digits[0].X, digits[0].Y)

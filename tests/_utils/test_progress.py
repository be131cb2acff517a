"""Progress of fits: scikit-learn's callbacks, if it has them, and a listener."""

import runpy
import sys

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from sdgs import SDGSClassifier, SDGSClassifierCV
from sdgs._utils import _progress
from sdgs.datasets import make_label_subspaces

DATA = make_label_subspaces(90, 8, 3, n_components=2, noise=0.1, random_state=0)


class Recorder:
    """A callback that records the tasks."""

    max_propagation_depth = None

    def __init__(self):
        self.begun, self.ended, self.scores = [], [], []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):  # noqa: ARG002
        self.begun.append(context)

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):  # noqa: ARG002
        self.ended.append(context)
        if fitted_estimator is not None:
            self.scores.append(fitted_estimator.score(X, y))


CASES = [
    (SDGSClassifier, {}, 2 + 2 * (1 + 4) + 1),
    (SDGSClassifier, {"gamma": None}, 2 + 1 + 4 + 1),
    (SDGSClassifier, {"huber": "auto"}, None),
    (SDGSClassifier, {"readout": "norm"}, 1),
    (SDGSClassifierCV, {"budget": 3, "gammas": None}, None),
    (SDGSClassifierCV, {"budget": 2, "max_rows": 60}, None),
]


@pytest.mark.parametrize(("kind", "options", "n_tasks"), CASES)
def test_a_listener_gets_increasing_shares_up_to_one(kind, options, n_tasks):
    model, reports = kind(random_state=0, **options), []
    model._progress = lambda share, message: reports.append((share, message))
    model.fit(DATA.X, DATA.Y)
    shares = [share for share, _ in reports]
    assert shares == sorted(shares)
    assert 0 < shares[0] < 1 or n_tasks == 1
    assert shares[-1] == pytest.approx(1)
    assert any(message.startswith("f1 0.") for _, message in reports) == (kind is SDGSClassifierCV)
    assert not hasattr(model, "_task")


@pytest.mark.skipif(not hasattr(SDGSClassifier, "set_callbacks"), reason="scikit-learn has no callbacks")
@pytest.mark.parametrize(("kind", "options", "n_tasks"), CASES)
def test_callbacks_get_a_task_for_each_candidate_and_fold(kind, options, n_tasks):
    recorder = Recorder()
    model = kind(random_state=0, **options).set_callbacks(recorder).fit(DATA.X, DATA.Y)
    assert {id(task) for task in recorder.begun} == {id(task) for task in recorder.ended}
    assert len(recorder.begun) == len(recorder.ended) == (1 + n_tasks if n_tasks else len(recorder.begun))
    (root,) = (task for task in recorder.begun if task.parent is None)
    assert len(list(root)) == len(recorder.begun)
    if model.readout == "ridge":
        choose, learn = root._children_map.values()
        n_candidates = len(choose._children_map)
        assert n_candidates == len(model.cv_results_["score"]) if kind is SDGSClassifierCV else n_candidates <= 3
        for candidate in choose._children_map.values():
            assert [task.task_name for task in candidate._children_map.values()] == ["fold"] * 3 + ["penalties"]
        assert len([task for task in learn if task.task_name == "candidate"]) == len(model._pipelines)
    assert recorder.scores == [model.score(DATA.X, DATA.Y)]
    without_callbacks = kind(random_state=0, **options).fit(DATA.X, DATA.Y)
    np.testing.assert_array_equal(without_callbacks.decision_function(DATA.X), model.decision_function(DATA.X))


@pytest.mark.skipif(not hasattr(SDGSClassifier, "set_callbacks"), reason="scikit-learn has no callbacks")
def test_the_progress_bar_of_scikit_learn(capsys):
    from sklearn.callback import ProgressBar

    search = GridSearchCV(SDGSClassifier(random_state=0), {"n_components": [1, 2]}, cv=2)
    search.set_callbacks(ProgressBar()).fit(DATA.X, DATA.Y)
    assert "SDGSClassifier - fit" in capsys.readouterr().out


def test_before_scikit_learn_1_9_there_are_no_callbacks(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    module = runpy.run_path(_progress.__file__)
    assert module["with_callbacks"](len) is len
    assert not hasattr(module["CallbackSupportMixin"], "set_callbacks")
    monkeypatch.delattr(_progress.CallbackSupportMixin, "_init_callback_context", raising=False)
    model = SDGSClassifier(readout="norm", scaling="rows", random_state=0)  # no scikit-learn estimator inside
    assert model.fit(DATA.X, DATA.Y).predict(DATA.X).shape == DATA.Y.shape

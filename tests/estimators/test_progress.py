"""What a fit tells of how far it is: scikit-learn's callbacks, where there are any, and a listener."""

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
    """A callback that writes down all that it is told."""

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


def made(kind, **options):
    return kind(random_state=0, **options)


CASES = [
    (SDGSClassifier, {}, 2 + 1 + 4 + 1),
    (SDGSClassifier, {"huber": "auto"}, None),
    (SDGSClassifier, {"readout": "norm"}, 1),
    (SDGSClassifierCV, {"budget": 3, "gammas": None}, None),
    (SDGSClassifierCV, {"budget": 2, "max_rows": 60}, None),
]


@pytest.mark.parametrize(("kind", "options", "n_tasks"), CASES)
def test_a_listener_is_told_from_nothing_to_all(kind, options, n_tasks):
    model, told = made(kind, **options), []
    model._progress = lambda done, words: told.append((done, words))
    model.fit(DATA.X, DATA.Y)
    shares = [done for done, _ in told]
    assert shares == sorted(shares)
    assert 0 < shares[0] < 1 or n_tasks == 1
    assert shares[-1] == pytest.approx(1)
    assert any(words.startswith("f1 0.") for _, words in told) == (kind is SDGSClassifierCV)
    assert not hasattr(model, "_task")


@pytest.mark.skipif(not hasattr(SDGSClassifier, "set_callbacks"), reason="scikit-learn has no callbacks")
@pytest.mark.parametrize(("kind", "options", "n_tasks"), CASES)
def test_callbacks_see_settings_and_folds(kind, options, n_tasks):
    recorder = Recorder()
    model = made(kind, **options).set_callbacks(recorder).fit(DATA.X, DATA.Y)
    assert {id(task) for task in recorder.begun} == {id(task) for task in recorder.ended}
    assert len(recorder.begun) == len(recorder.ended) == (1 + n_tasks if n_tasks else len(recorder.begun))
    (root,) = (task for task in recorder.begun if task.parent is None)
    assert len(list(root)) == len(recorder.begun)
    if model.readout == "ridge":
        chosen, learnt = root._children_map.values()
        tried = len(chosen._children_map)
        assert tried == len(model.cv_results_["score"]) if kind is SDGSClassifierCV else tried <= 3
        for setting in chosen._children_map.values():
            assert [task.task_name for task in setting._children_map.values()] == ["fold"] * 3 + ["penalties"]
        assert len([task for task in learnt if task.task_name == "setting"]) == len(model._members)
    assert recorder.scores == [model.score(DATA.X, DATA.Y)]
    again = made(kind, **options).fit(DATA.X, DATA.Y)
    np.testing.assert_array_equal(again.decision_function(DATA.X), model.decision_function(DATA.X))


@pytest.mark.skipif(not hasattr(SDGSClassifier, "set_callbacks"), reason="scikit-learn has no callbacks")
def test_a_progress_bar_around_a_search(capsys):
    from sklearn.callback import ProgressBar

    search = GridSearchCV(SDGSClassifier(random_state=0), {"n_components": [1, 2]}, cv=2)
    search.set_callbacks(ProgressBar()).fit(DATA.X, DATA.Y)
    assert "SDGSClassifier - fit" in capsys.readouterr().out


def test_without_callbacks(monkeypatch):
    """As before scikit-learn 1.9."""
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    old = runpy.run_path(_progress.__file__)
    assert old["with_callbacks"](len) is len
    assert not hasattr(old["CallbackSupportMixin"], "set_callbacks")
    monkeypatch.delattr(_progress.CallbackSupportMixin, "_init_callback_context", raising=False)
    model = SDGSClassifier(readout="norm", scaling="rows", random_state=0)  # without what has callbacks itself
    assert model.fit(DATA.X, DATA.Y).predict(DATA.X).shape == DATA.Y.shape

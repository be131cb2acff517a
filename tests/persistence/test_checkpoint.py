"""Training that is killed goes on where it was, to the same result."""

import os
import shutil
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from test_model_files import assert_same

import sdgs.persistence._checkpoint
from helpers import decompose_as_given
from sdgs import SDGSClassifier, SDGSClassifierCV, decompose
from sdgs.datasets import make_label_subspaces
from sdgs.decomposition._alternation import Alternation
from sdgs.estimators._sdgs_model import scalings_of
from sdgs.persistence._checkpoint import _VERSION as VERSION
from sdgs.persistence._container import read, write
from sdgs.readout._decision import Decision
from sdgs.readout._features import DecompositionOptions, PipelineParameters
from sdgs.selection._cross_fit import CandidateEvaluator


class Killed(BaseException):
    pass


@pytest.fixture
def data():
    return make_label_subspaces(200, 30, 6, n_components=3, noise=0.3, random_state=0)


@pytest.fixture(autouse=True)
def _write_after_every_sweep(monkeypatch):
    monkeypatch.setattr(sdgs.persistence._checkpoint, "_PAUSE", 0)


def killed_after(monkeypatch, writes):
    """From now on the process dies right after so many writes."""
    store, count = sdgs.persistence._checkpoint.Checkpoint.store, 0

    def fatal(self, arrays):
        nonlocal count
        store(self, arrays)
        count += 1
        if count == writes:
            raise Killed

    monkeypatch.setattr(sdgs.persistence._checkpoint.Checkpoint, "store", fatal)


def with_gaps(X):
    X = X.copy()
    X[::5, ::4] = np.nan
    return X


KINDS = {
    "dense": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "sparse": lambda X: csr_array(np.where(np.abs(X) > 0.2, X, 0)),
    "missing": with_gaps,
    "sparse, missing": lambda X: csr_array(with_gaps(np.where(np.abs(X) > 0.2, X, 0))),
}


@pytest.mark.parametrize("solver", ["brp", "svd", "brp-fresh"])
@pytest.mark.parametrize("kind", KINDS)
def test_going_on_gives_the_same_to_the_last_digit(kind, solver, data, tmp_path, monkeypatch):
    X = KINDS[kind](data.X)
    options = {"n_components": 3, "residual_size": 40, "solver": solver, "max_iter": 7, "tol": 0.0, "random_state": 5}
    undisturbed = decompose_as_given(X, data.Y, **options)
    for writes in (1, 3, 1):  # each time from where the last one stopped
        with monkeypatch.context() as patch:
            killed_after(patch, writes)
            with pytest.raises(Killed):
                decompose_as_given(X, data.Y, **options, checkpoint=tmp_path)
    sweeps = []
    one_sweep = Alternation.sweep
    monkeypatch.setattr(Alternation, "sweep", lambda self: (sweeps.append(1), one_sweep(self)))
    assert_same(decompose_as_given(X, data.Y, **options, checkpoint=tmp_path), undisturbed)
    assert len(sweeps) == 2  # of 7
    assert_same(decompose_as_given(X, data.Y, **options, checkpoint=tmp_path), undisturbed)
    assert len(sweeps) == 2  # it is done: it only has to be read
    assert len(list(tmp_path.iterdir())) == 1


def test_a_finished_state_has_no_room_for_the_error(data, tmp_path):
    decompose(data.X, data.Y, random_state=0, checkpoint=tmp_path)
    (path,) = tmp_path.iterdir()
    assert b'"R"' not in path.read_bytes()


@pytest.mark.parametrize(
    "other",
    [
        {"random_state": 1},
        {"n_components": 2},
        {"residual_size": 3},
        {"solver": "svd"},
        {"tol": 0.1},
        {"max_iter": 9},
        {"X": 1},
        {"Y": 1},
    ],
    ids=str,
)
def test_anything_else_begins_at_the_beginning(other, data, tmp_path):
    options = {"X": data.X, "Y": data.Y, "tol": 1e-2, "random_state": 0}
    decompose(**options, checkpoint=tmp_path)
    (first,) = tmp_path.iterdir()
    before = first.read_bytes()
    if "X" in other:
        other = {"X": np.nextafter(data.X, 2)}
    if "Y" in other:
        other = {"Y": data.Y[::-1]}
    options |= other
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert_same(decompose(**options, checkpoint=tmp_path), decompose(**options))
    assert len(list(tmp_path.iterdir())) == 2
    assert first.read_bytes() == before


def test_another_version_begins_at_the_beginning(data, tmp_path, monkeypatch):
    decompose(data.X, data.Y, random_state=0, checkpoint=tmp_path)
    monkeypatch.setattr(sdgs, "__version__", "0.2")
    decompose(data.X, data.Y, random_state=0, checkpoint=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_damaged_checkpoint_is_made_anew_with_a_warning(data, tmp_path):
    result = decompose(data.X, data.Y, random_state=0, checkpoint=tmp_path / "new" / "folder")
    (path,) = (tmp_path / "new" / "folder").iterdir()
    content = path.read_bytes()
    (path.parent / f".{path.name}-cut_off_").write_bytes(b"part of a write")
    path.write_bytes(content[: len(content) // 2])
    with pytest.warns(UserWarning, match="of no use"):
        assert_same(decompose(data.X, data.Y, random_state=0, checkpoint=path.parent), result)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_a_forged_checkpoint_is_made_anew_with_a_warning(data, tmp_path):
    options = {"tol": 1e-2, "random_state": 0, "checkpoint": tmp_path}
    result = decompose(data.X, data.Y, **options)
    (path,) = tmp_path.iterdir()
    content = read(path, "sdgs-checkpoint", (VERSION,))
    for change in (
        {"U": content.arrays["U"][1:]},
        {"C": content.arrays["C"].astype(np.float32)},
        {"more": np.ones(3)},
        {"S_values": np.ones(3), "S_indices": np.arange(4)},
        {"S_values": np.ones(1), "S_indices": np.array([data.X.size])},
        {"objective": np.ones((2, 2))},
    ):
        write(path, "sdgs-checkpoint", VERSION, "0", content.document, {**content.arrays, **change})
        with pytest.warns(UserWarning, match="of no use"):
            assert_same(decompose(data.X, data.Y, **options), result)


def test_two_that_compute_the_same_do_no_harm(data, tmp_path, monkeypatch):
    options = {"tol": 1e-2, "random_state": 0}
    rename, met = os.replace, []

    def meets_another(scratch, path):
        if not met:
            met.append(path)
            decompose(data.X, data.Y, **options, checkpoint=tmp_path)
        rename(scratch, path)

    monkeypatch.setattr(os, "replace", meets_another)
    assert_same(decompose(data.X, data.Y, **options, checkpoint=tmp_path), decompose(data.X, data.Y, **options))
    assert met == list(tmp_path.iterdir())
    monkeypatch.setattr(os, "replace", lambda *_: shutil.rmtree(tmp_path))
    with pytest.raises(FileNotFoundError):
        decompose(data.X, data.Y, **options, n_components=2, checkpoint=tmp_path)


def test_wrong_checkpoints_are_refused(data, tmp_path):
    (tmp_path / "file").write_text("")
    for checkpoint in (1, "", tmp_path / "file"):
        with pytest.raises(ValueError, match="checkpoint must be None or the path of a folder"):
            decompose(data.X, data.Y, random_state=0, checkpoint=checkpoint)
        with pytest.raises(ValueError, match="checkpoint must be None or the path of a folder"):
            SDGSClassifier(random_state=0, checkpoint=checkpoint).fit(data.X, data.Y)
    for estimator in (SDGSClassifier, SDGSClassifierCV):
        with pytest.raises(ValueError, match="checkpoint needs a random_state"):
            estimator(checkpoint=tmp_path / "new").fit(data.X, data.Y)
    assert not (tmp_path / "new").exists()


def test_states_are_written_as_often_as_takes_little_time(data, tmp_path, monkeypatch):
    monkeypatch.setattr(sdgs.persistence._checkpoint, "_PAUSE", 1e9)
    written = []
    store = sdgs.persistence._checkpoint.Checkpoint.store
    monkeypatch.setattr(
        sdgs.persistence._checkpoint.Checkpoint,
        "store",
        lambda self, arrays: (written.append(arrays), store(self, arrays)),
    )
    result = decompose(data.X, data.Y, tol=1e-3, random_state=0, checkpoint=tmp_path)
    assert [arrays["objective"].size for arrays in written] == [1, result.n_iter]


@pytest.mark.parametrize(
    ("estimator", "writes"),
    [(SDGSClassifier(3, gamma=1.0, n_landmarks=50), 12), (SDGSClassifierCV(budget=5, n_landmarks=50), 45)],
    ids=["one setting", "search"],
)
def test_folds_that_are_done_are_not_repeated(estimator, writes, data, tmp_path, monkeypatch):
    def fitted(**parameters):
        return clone(estimator).set_params(random_state=np.random.RandomState(3), **parameters).fit(data.X, data.Y)

    undisturbed = fitted()
    with monkeypatch.context() as patch:
        killed_after(patch, writes)
        with pytest.raises(Killed):
            fitted(checkpoint=str(tmp_path))
    done = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(done) > 2
    again = fitted(checkpoint=str(tmp_path))
    np.testing.assert_array_equal(again.decision_function(data.X), undisturbed.decision_function(data.X))
    assert sum(path.stat().st_mtime_ns != written for path, written in done.items()) <= 1  # that which it was at
    assert len(list(tmp_path.iterdir())) > len(done)


def test_settings_that_were_tried_are_not_tried_again(data, tmp_path, monkeypatch):
    estimator = SDGSClassifierCV(budget=5, max_rows=150, gammas=None, random_state=0, checkpoint=tmp_path)
    undisturbed = clone(estimator).set_params(checkpoint=None).fit(data.X, data.Y)
    first = clone(estimator).fit(data.X, data.Y)
    assert first.cv_results_["score"] == undisturbed.cv_results_["score"]
    monkeypatch.setattr(CandidateEvaluator, "_tried", lambda *_: pytest.fail("tried again"))
    second = clone(estimator).fit(data.X, data.Y)
    assert first.cv_results_.pop("seconds") != second.cv_results_.pop("seconds")
    assert_same(first, second)


def test_trials_of_fewer_parts_are_others(data, tmp_path):
    """On the same samples one may have been tried before, with all parts or with some."""
    training = DecompositionOptions(1e-4, "brp", 100, 1e-2, "auto", 0, None)

    def tried(checkpoint, parts):
        how = replace(training, checkpoint=checkpoint)
        options = {"penalties": (1.0,), "n_folds": 3, "decision": Decision()}
        cross_fit = CandidateEvaluator(data.X, csr_array(data.Y), scalings_of(data.X), how, **options)
        return cross_fit(PipelineParameters("rows", 3, 0.1), parts=parts)

    for parts in (("sample",), None, ("sample",), ("sample", "code")):
        kept, anew = tried(tmp_path, parts), tried(None, parts)
        assert kept.read_from == anew.read_from
        np.testing.assert_array_equal(kept.scores, anew.scores)
    assert len(tried(None, None).read_from) > 1


def test_a_forged_trial_is_made_anew_with_a_warning(data, tmp_path):
    estimator = SDGSClassifier(random_state=0, checkpoint=tmp_path)
    first = clone(estimator).fit(data.X, data.Y)
    (path,) = (path for path in tmp_path.iterdir() if b'"choice"' in path.read_bytes())
    content = read(path, "sdgs-checkpoint", (VERSION,))
    for change in (
        {"choice": np.array([9, 1])},
        {"choice": np.array([1, 0])},
        {"choice": np.array([1, 4])},
        {"choice": np.array([1])},
        {"worth": np.ones(1)},
        {"worth": np.array([0.5, 0.25])},  # but columns are not weighed
        {"worth": np.array([0.5, np.nan])},
        {"scores": np.ones((200, 5))},
        {"more": np.ones(3)},
    ):
        write(path, "sdgs-checkpoint", VERSION, "0", content.document, {**content.arrays, **change})
        with pytest.warns(UserWarning, match="of no use"):
            assert_same(clone(estimator).fit(data.X, data.Y), first)


# In a process of its own, which forks: so that sdgs is loaded once.
KILLER = """
import os, pathlib, random, shutil, signal, time
import sdgs.persistence._checkpoint
from sdgs import SDGSClassifierCV
from sdgs.datasets import make_label_subspaces

sdgs.persistence._checkpoint._PAUSE = 0
data = make_label_subspaces(400, 30, 6, n_components=3, noise=0.3, random_state=0)

def start(checkpoint, path):
    child = os.fork()
    if child == 0:
        model = SDGSClassifierCV(budget=4, n_landmarks=60, tol=1e-3, random_state=0, checkpoint=checkpoint)
        model.fit(data.X, data.Y)
        model.cv_results_["seconds"] = []  # all else must be the same
        model.save(path)
        os._exit(0)
    return child

began = time.perf_counter()
assert os.waitpid(start(None, "undisturbed.sdgs"), 0)[1] == 0
took, draw = time.perf_counter() - began, random.Random(0)
killed = finished = 0
while killed < 20 or finished == 0:
    child = start("states", "model.sdgs")
    if killed < 20:
        time.sleep(draw.uniform(0, took / 4))
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        killed += 1
        continue
    assert status == 0
    assert pathlib.Path("model.sdgs").read_bytes() == pathlib.Path("undisturbed.sdgs").read_bytes()
    finished += 1
    shutil.rmtree("states")
print(killed)
"""


def test_killed_twenty_times_the_model_is_the_same(tmp_path):
    found = subprocess.run([sys.executable, "-c", KILLER], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert found.stdout == "20\n"

"""A computation that was killed continues from its checkpoint, to the same result."""

import os
import shutil
import warnings

import numpy as np
import pytest
from model_file_helpers import assert_same
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from full_disk import file_size_limit
from helpers import decompose_as_given, decomposition_problem
from sdgs import SDGSClassifier, SDGSClassifierCV, decompose
from sdgs.datasets import make_label_subspaces
from sdgs.decomposition._alternation import Alternation
from sdgs.decomposition._minimise import minimise
from sdgs.decomposition.backends._dense_alternation import DenseAlternation
from sdgs.persistence._checkpoint import FORMAT, VERSION, Checkpoint, fingerprint
from sdgs.persistence._container import read, write
from sdgs.readout._decision import Decision
from sdgs.readout._parameters import DecompositionOptions, PipelineParameters
from sdgs.readout._pipeline import ReadoutContext
from sdgs.readout._samples import ArraySamples
from sdgs.selection._candidate_evaluator import CandidateEvaluator


class Killed(BaseException):
    pass


@pytest.fixture
def data():
    return make_label_subspaces(200, 30, 6, n_components=3, noise=0.3, random_state=0)


@pytest.fixture
def _store_every_sweep(monkeypatch):
    monkeypatch.setattr(Checkpoint, "due", lambda _: True)


def kill_after(monkeypatch, n_writes):
    """Raise ``Killed`` right after so many writes."""
    store, count = Checkpoint.store, 0

    def store_and_die(self, arrays):
        nonlocal count
        store(self, arrays)
        count += 1
        if count == n_writes:
            raise Killed

    monkeypatch.setattr(Checkpoint, "store", store_and_die)


def overwrite(path, **changed_arrays):
    """Replace arrays of a checkpoint, with a correct checksum."""
    content = read(path, FORMAT, (VERSION,))
    write(path, FORMAT, VERSION, "0", content.document, {**content.arrays, **changed_arrays})


def test_arrays_come_back(tmp_path):
    arrays = {"a": np.arange(6.0).reshape(2, 3).T, "b": np.arange(3)}
    checkpoint = Checkpoint(tmp_path / "new" / "folder", "key")
    assert checkpoint.load() is None
    checkpoint.store(arrays)
    assert_same(Checkpoint(tmp_path / "new" / "folder", "key").load(), arrays)
    checkpoint.store({"c": np.ones(1)})
    assert_same(checkpoint.load(), {"c": np.ones(1)})


def test_other_keys_and_other_versions_have_other_files(tmp_path):
    Checkpoint(tmp_path, "key", 1).store({"a": np.ones(1)})
    assert Checkpoint(tmp_path, "key", 2).load() is None
    assert Checkpoint(tmp_path, "key", 1, library_version="0.2").load() is None
    assert Checkpoint(tmp_path, "key", 1).load() is not None


def test_a_file_under_the_name_of_another_is_ignored(tmp_path):
    for key in ("key", "other"):
        Checkpoint(tmp_path, key).store({"a": np.ones(1)})
    first, second = tmp_path.iterdir()
    first.replace(second)
    assert [Checkpoint(tmp_path, key).load() for key in ("key", "other")] == [None, None]


def test_a_checkpoint_is_due_when_writing_takes_little_of_the_time(tmp_path):
    rarely, always = (Checkpoint(tmp_path, "key", min_interval=interval) for interval in (1e9, 0))
    for checkpoint in (rarely, always):
        assert checkpoint.due()
        checkpoint.store({"a": np.ones(1)})
    assert not rarely.due()
    assert always.due()


def test_equal_content_has_equal_fingerprints(data):
    X, sparse = data.X, csr_array(data.X)
    assert fingerprint(X, 1, "a") == fingerprint(X.copy(order="F"), 1, "a")
    assert fingerprint(sparse) == fingerprint(sparse.copy())
    parts = [X, sparse, X.T, X.astype(np.float32), np.nextafter(X, 2), X.ravel(), (1, 2), 12, "12", 1.2, None]
    assert len({fingerprint(part) for part in parts}) == len(parts)


def with_missing_entries(X):
    X = X.copy()
    X[::5, ::4] = np.nan
    return X


KINDS = {
    "dense": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "sparse": lambda X: csr_array(np.where(np.abs(X) > 0.2, X, 0)),
    "missing": with_missing_entries,
    "sparse, missing": lambda X: csr_array(with_missing_entries(np.where(np.abs(X) > 0.2, X, 0))),
    "weighted": lambda X: X,
    "sparse, weighted": lambda X: csr_array(np.where(np.abs(X) > 0.2, X, 0)),
}


@pytest.mark.usefixtures("_store_every_sweep")
@pytest.mark.parametrize("solver", ["brp", "svd", "brp-fresh"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_resumed_decomposition_is_equal_to_the_last_digit(kind, solver, data, tmp_path, monkeypatch):
    X = KINDS[kind](data.X)
    options = {"n_components": 3, "residual_size": 40, "solver": solver, "max_iter": 7, "tol": 0.0, "random_state": 5}
    if "weighted" in kind:
        options["sample_weight"] = np.arange(200) % 7 / 3
    expected = decompose_as_given(X, data.Y, **options)
    for n_writes in (1, 3, 1):  # each time from where the last one stopped
        with monkeypatch.context() as patch:
            kill_after(patch, n_writes)
            with pytest.raises(Killed):
                decompose_as_given(X, data.Y, **options, checkpoint=tmp_path)
    sweeps = []
    sweep = Alternation.sweep
    monkeypatch.setattr(Alternation, "sweep", lambda self: (sweeps.append(1), sweep(self)))
    assert_same(decompose_as_given(X, data.Y, **options, checkpoint=tmp_path), expected)
    assert len(sweeps) == 2  # of 7
    assert_same(decompose_as_given(X, data.Y, **options, checkpoint=tmp_path), expected)
    assert len(sweeps) == 2  # the result is only read
    assert len(list(tmp_path.iterdir())) == 1


def test_a_finished_state_is_stored_without_the_error(data, tmp_path):
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
def test_other_data_or_arguments_start_from_the_beginning(other, data, tmp_path):
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


def test_other_weights_start_from_the_beginning(data, tmp_path):
    for weight in (np.arange(1, 201), np.arange(1, 201)[::-1]):
        options = {"tol": 1e-2, "random_state": 0, "sample_weight": weight}
        assert_same(decompose(data.X, data.Y, **options, checkpoint=tmp_path), decompose(data.X, data.Y, **options))
    assert len(list(tmp_path.iterdir())) == 2


def test_a_damaged_checkpoint_is_computed_again_with_a_warning(data, tmp_path):
    result = decompose(data.X, data.Y, random_state=0, checkpoint=tmp_path / "new" / "folder")
    (path,) = (tmp_path / "new" / "folder").iterdir()
    content = path.read_bytes()
    (path.parent / f".{path.name}-cut_off_").write_bytes(b"part of a write")
    path.write_bytes(content[: len(content) // 2])
    with pytest.warns(UserWarning, match="cannot be used"):
        assert_same(decompose(data.X, data.Y, random_state=0, checkpoint=path.parent), result)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_a_forged_checkpoint_is_computed_again_with_a_warning(data, tmp_path):
    options = {"tol": 1e-2, "random_state": 0, "checkpoint": tmp_path}
    result = decompose(data.X, data.Y, **options)
    (path,) = tmp_path.iterdir()
    content = read(path, FORMAT, (VERSION,))
    for change in (
        {"U": content.arrays["U"][1:]},
        {"C": content.arrays["C"].astype(np.float32)},
        {"more": np.ones(3)},
        {"S_values": np.ones(3), "S_indices": np.arange(4)},
        {"S_values": np.ones(1), "S_indices": np.array([data.X.size])},
        {"objective": np.ones((2, 2))},
        {"U": content.arrays["U"] * 1e300},
        {"U": np.where(content.arrays["U"] == 0, 0, np.nan)},
    ):
        overwrite(path, **change)
        with pytest.warns(UserWarning, match="cannot be used"):
            assert_same(decompose(data.X, data.Y, **options), result)


def test_two_processes_may_compute_the_same(data, tmp_path, monkeypatch):
    options = {"tol": 1e-2, "random_state": 0}
    rename, renamed = os.replace, []

    def run_another_first(temporary, path):
        if not renamed:
            renamed.append(path)
            decompose(data.X, data.Y, **options, checkpoint=tmp_path)
        rename(temporary, path)

    monkeypatch.setattr(os, "replace", run_another_first)
    assert_same(decompose(data.X, data.Y, **options, checkpoint=tmp_path), decompose(data.X, data.Y, **options))
    assert renamed == list(tmp_path.iterdir())
    monkeypatch.setattr(os, "replace", lambda *_: shutil.rmtree(tmp_path))
    with pytest.raises(FileNotFoundError):
        decompose(data.X, data.Y, **options, n_components=2, checkpoint=tmp_path)


def test_invalid_checkpoint_arguments_are_rejected(data, tmp_path):
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


class RecordedCheckpoint(Checkpoint):
    """Remembers all that was stored."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.history = []

    def store(self, arrays):
        self.history.append(arrays)
        super().store(arrays)


def test_the_first_and_the_last_state_are_stored_however_long_writing_takes(data, tmp_path):
    state = DenseAlternation(data.X, decomposition_problem(data.X.shape, data.Y, 4, 0, tol=1e-3))
    checkpoint = RecordedCheckpoint(tmp_path, "key", min_interval=1e9)
    result = minimise(state, checkpoint)
    assert result.n_iter > 2
    assert [arrays["objective"].size for arrays in checkpoint.history] == [1, result.n_iter]


@pytest.mark.parametrize(
    ("estimator", "n_writes"),
    [(SDGSClassifier(3, gamma=1.0, n_landmarks=50), 12), (SDGSClassifierCV(budget=5, n_landmarks=50), 45)],
    ids=["one candidate", "search"],
)
@pytest.mark.usefixtures("_store_every_sweep")
def test_finished_folds_are_not_computed_again(estimator, n_writes, data, tmp_path, monkeypatch):
    def fit(**parameters):
        return clone(estimator).set_params(random_state=np.random.RandomState(3), **parameters).fit(data.X, data.Y)

    expected = fit()
    with monkeypatch.context() as patch:
        kill_after(patch, n_writes)
        with pytest.raises(Killed):
            fit(checkpoint=str(tmp_path))
    write_times = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(write_times) > 2
    resumed = fit(checkpoint=str(tmp_path))
    np.testing.assert_array_equal(resumed.decision_function(data.X), expected.decision_function(data.X))
    rewritten = [path for path, time in write_times.items() if path.stat().st_mtime_ns != time]
    assert len(rewritten) <= 1  # the one that was being computed
    assert len(list(tmp_path.iterdir())) > len(write_times)


def test_candidates_are_not_evaluated_twice(data, tmp_path, monkeypatch):
    estimator = SDGSClassifierCV(budget=5, max_rows=150, gammas=None, random_state=0, checkpoint=tmp_path)
    expected = clone(estimator).set_params(checkpoint=None).fit(data.X, data.Y)
    first = clone(estimator).fit(data.X, data.Y)
    assert first.cv_results_["score"] == expected.cv_results_["score"]
    monkeypatch.setattr(CandidateEvaluator, "_evaluate", lambda *_: pytest.fail("evaluated again"))
    second = clone(estimator).fit(data.X, data.Y)
    assert first.cv_results_.pop("seconds") != second.cv_results_.pop("seconds")
    assert_same(first, second)


def make_evaluator(data, checkpoint):
    options = DecompositionOptions(1e-4, "brp", 100, 1e-2, "auto", 0, None, checkpoint)
    context = ReadoutContext(options, mostly_zero=False, decision=Decision(), splits=3)
    return CandidateEvaluator(ArraySamples(data.X), csr_array(data.Y), context, (0.1, 1.0))


def test_results_for_fewer_feature_blocks_have_other_files(data, tmp_path):
    """The same candidate may have been evaluated before on the same samples, with all feature blocks or some."""

    def evaluate(checkpoint, blocks):
        return make_evaluator(data, checkpoint).evaluate(PipelineParameters("rows", 3, 0.1), max_blocks=blocks)

    for blocks in (("sample",), None, ("sample",), ("sample", "code")):
        restored, expected = evaluate(tmp_path, blocks), evaluate(None, blocks)
        assert restored.choice == expected.choice
        np.testing.assert_array_equal(restored.scores, expected.scores)
    assert len(evaluate(None, None).choice.read_from) > 1


def test_a_forged_result_is_computed_again_with_a_warning(data, tmp_path):
    estimator = SDGSClassifier(gamma=None, random_state=0, checkpoint=tmp_path)
    first = clone(estimator).fit(data.X, data.Y)
    (path,) = (path for path in tmp_path.iterdir() if b'"choice"' in path.read_bytes())
    for change in (
        {"choice": np.array([99, 1])},
        {"choice": np.array([1, 0])},
        {"choice": np.array([1, 4])},
        {"choice": np.array([1])},
        {"value": np.ones(2)},
        {"scores": np.ones((200, 5))},
        {"scores": np.ones((200, 6), dtype=np.float32)},
        {"scores": np.full((200, 6), 1e200)},
        {"scores": np.full((200, 6), np.nan)},
        {"value": np.array([np.inf])},
        {"more": np.ones(3)},
    ):
        overwrite(path, **change)
        with pytest.warns(UserWarning, match="cannot be used"):
            assert_same(clone(estimator).fit(data.X, data.Y), first)


def test_a_full_disk_is_one_error_and_leaves_the_old_checkpoint(data, tmp_path):
    options = {"residual_size": 9, "tol": 0.0, "random_state": 0, "checkpoint": tmp_path}
    with pytest.warns(ConvergenceWarning):
        first = decompose(data.X, data.Y, max_iter=2, **options)
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    for max_iter in (2, 3):  # the second has a checkpoint of its own
        with file_size_limit(1000):
            if max_iter == 2:
                with pytest.warns(ConvergenceWarning):
                    assert_same(decompose(data.X, data.Y, max_iter=2, **options), first)
            else:
                with pytest.raises(OSError, match="Free space there, or name another folder") as caught:
                    decompose(data.X, data.Y, max_iter=3, **options)
                assert caught.value.filename.endswith(".sdgs-checkpoint")
        assert list(tmp_path.iterdir()) == [path]
        assert path.read_bytes() == content

"""What a model keeps for updates comes back from a file to the last digit; forged content is rejected."""

import numpy as np
import pandas as pd
import pytest
from model_file_helpers import assert_same, assert_same_predictions, forge, save_and_load
from scipy.sparse import csr_array

import sdgs
from sdgs import ModelFileError, SDGSClassifier
from sdgs.datasets import make_label_subspaces

DATA = make_label_subspaces(160, 8, 3, n_components=1, noise=0.1, random_state=0)
WORDS = csr_array(np.maximum(np.round(3 * DATA.X), 0))
FRAME = pd.DataFrame(DATA.Y, columns=["a", "b", "c"])
LISTS = [["xyz"[j] for j in np.flatnonzero(y)] for y in DATA.Y]
WEIGHT = np.linspace(0.5, 2, 160)
UNOBSERVED = DATA.Y.astype(float)
UNOBSERVED[::9, 1] = np.nan
MISSING = DATA.X.copy()
MISSING[::7, ::3] = np.nan

# Parameters, X, y and whether samples are weighted.
CASES = {
    "samples": ({"keep_samples": 500}, DATA.X, DATA.Y, False),
    "samples, words, weights": ({"keep_samples": 500}, WORDS, csr_array(DATA.Y), True),
    "samples, unobserved labels": ({"keep_samples": 500}, DATA.X.astype(np.float32), UNOBSERVED, False),
    "samples, missing": ({"keep_samples": 500}, MISSING, LISTS, False),
    "sums": ({"keep_samples": 0}, DATA.X, FRAME, False),
    "sums, kernel": ({"keep_samples": 0, "gamma": 1.0, "n_landmarks": 20}, DATA.X, DATA.Y, True),
    "sums, labels may be missing": ({"keep_samples": 0, "assume": "missing", "propensity": 0.8}, WORDS, FRAME, False),
    "sums, words": ({"keep_samples": 0}, WORDS, LISTS, False),
}


def fit(case):
    parameters, X, y, weighted = CASES[case]
    model = SDGSClassifier(1, **({"gamma": None, "cv": 2, "random_state": 0} | parameters))
    return model.fit(X[:100], y[:100], sample_weight=WEIGHT[:100] if weighted else None), X, y, weighted


@pytest.mark.parametrize("case", CASES)
def test_a_loaded_model_learns_on_as_the_saved_one_would(case, tmp_path):
    model, X, y, weighted = fit(case)
    loaded = save_and_load(model, tmp_path)
    assert_same(model, loaded)
    for rows in (slice(100, 130), slice(130, 160)):
        for one in (model, loaded):
            one.update(X[rows], y[rows], sample_weight=WEIGHT[rows] if weighted else None)
        assert_same_predictions(model, loaded, X)
        loaded = save_and_load(loaded, tmp_path)
        assert_same(model, loaded)
        assert loaded.n_samples_seen_ == rows.stop


@pytest.mark.parametrize("keep_samples", [500, 0])
@pytest.mark.parametrize("y", [FRAME, LISTS], ids=["frame", "lists"])
def test_new_labels_are_stored(keep_samples, y, tmp_path):
    first = y[:100].drop(columns="b") if y is FRAME else [[name for name in names if name != "y"] for names in y[:100]]
    model = SDGSClassifier(1, gamma=None, cv=2, keep_samples=keep_samples, random_state=0).fit(DATA.X[:100], first)
    if keep_samples:
        model.update(DATA.X[100:], y[100:])
    else:
        with pytest.warns(UserWarning, match="new labels"):
            model.update(DATA.X[100:], y[100:])
    loaded = save_and_load(model, tmp_path)
    assert_same(model, loaded)
    assert_same_predictions(model, loaded, DATA.X)
    assert list(loaded.classes_)[-1] in ("b", "y")


def test_the_file_does_not_grow_with_the_samples(tmp_path):
    data = make_label_subspaces(4000, 8, 3, n_components=1, noise=0.1, random_state=0)
    model = SDGSClassifier(1, gamma=None, cv=2, keep_samples=0, random_state=0).fit(data.X[:400], data.Y[:400])
    sizes = []
    for start in range(400, 4000, 1200):
        model.update(data.X[start : start + 1200], data.Y[start : start + 1200])
        model.save(tmp_path / "model.sdgs")
        sizes.append((tmp_path / "model.sdgs").stat().st_size)
    per_scored_sample = 3 * 4 + 3 * 8 + 8  # scores, labels and where those of a sample begin
    assert np.diff(sizes).max() <= 600 * per_scored_sample + 1000
    assert model._kept.gram.size * 8 + sizes[0] > 0


def put(name, value):
    def change(_, arrays):
        arrays[f"kept.{name}"] = value(arrays[f"kept.{name}"])

    return change


def set_field(name, value):
    return lambda document, _: document["kept"].__setitem__(name, value)


def first_set_to(value):
    def change(array):
        array = array.copy()
        array.reshape(-1)[0] = value
        return array

    return change


FORGERIES = {
    "another form": ("sums", set_field("form", "all"), "the form of what is kept"),
    "no object": ("sums", lambda document, _: document.__setitem__("kept", 3), "the form of what is kept"),
    "another field": ("samples", set_field("more", 1), "must have the fields"),
    "a short triangle": ("sums", put("gram", lambda A: A[:-1]), "kept.gram has shape"),
    "float32": ("sums", put("cross", lambda A: A.astype(np.float32)), "must be float64"),
    "a NaN": ("sums", put("cross", first_set_to(np.nan)), "not finite"),
    "a frequency above 1": ("sums", put("Y_mean", first_set_to(1.5)), "Y_mean must be between 0 and 1"),
    "no weight": ("sums", set_field("weight", 0), "sum of the sample weights must be a finite number > 0"),
    "no samples": ("sums", set_field("samples", 0), "the number of samples"),
    "fewer than scored": ("sums", set_field("scored", 3), "the number of scored samples"),
    "compared": ("sums", set_field("compared", -1), "the number of compared samples"),
    "weighs": ("sums", set_field("weighs_columns", 1), "true or false"),
    "size weights": ("sums, words", set_field("size_weights", [1.0]), "size_weights must be two numbers"),
    "size weight 0": ("sums, words", set_field("size_weights", [1.0, 0.0]), "size_weights must be a finite number > 0"),
    "scores": ("sums", put("scores", lambda A: A.astype(np.float64)), "scores must be float32"),
    "labels out of range": ("sums", put("labels.indices", first_set_to(3)), "labels.indices is out of range"),
    "labels twice": ("samples", put("labels.indices", lambda A: np.zeros_like(A)), "ascending in each row"),
    "rows of labels": ("samples", put("labels.indptr", lambda A: A[::-1].copy()), "labels.indptr is not valid"),
    "more labels": ("samples", put("labels.indptr", lambda A: np.append(A, A[-1])), "labels of 101 samples"),
    "infinity": ("samples", put("X.dense", first_set_to(np.inf)), "kept.X has entries that are not finite"),
    "fewer samples": ("samples", put("X.dense", lambda A: A[:-1]), "X.dense has shape"),
    "sparse": ("samples, words, weights", put("X.indices", first_set_to(99)), "X.indices is out of range"),
    "weights": ("samples, words, weights", put("sample_weight", first_set_to(-1.0)), "not negative"),
    "label values": ("samples, unobserved labels", put("labels.data", first_set_to(0.5)), "must be 1 and NaN"),
    "norm": ("samples", lambda document, _: document.__setitem__("readout", None), "keeps nothing for updates"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    for case in {case for case, _, _ in FORGERIES.values()}:
        fit(case)[0].save(folder / f"{case}.sdgs")
    return folder


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_content_is_rejected(name, files, tmp_path):
    case, change, message = FORGERIES[name]
    with pytest.raises(ModelFileError, match=message):
        sdgs.load(forge(files / f"{case}.sdgs", tmp_path, change))


def test_a_model_without_sums_needs_out_of_fold_probabilities(files, tmp_path):
    def remove(_, arrays):
        del arrays["out_of_fold.rows"], arrays["out_of_fold.probabilities"]

    with pytest.raises(ModelFileError, match=r"out_of_fold\.rows is missing"):
        sdgs.load(forge(files / "samples.sdgs", tmp_path, remove))
    assert sdgs.load(forge(files / "sums.sdgs", tmp_path, remove)).n_samples_seen_ == 100

"""Predictions for Dask arrays: lazy, block by block, without workers."""

import dask
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, issparse

import sdgs
from distributed_data import make_data
from sdgs import SDGSClassifier
from sdgs.distributed._map_method import _without_samples


def test_a_loaded_model_predicts_without_workers(tmp_path):
    data = make_data("dense")
    model = SDGSClassifier(2, random_state=0).fit(data.X, csr_array(data.Y))
    model.save(tmp_path / "model.sdgs")
    model = sdgs.load(tmp_path / "model.sdgs")
    with dask.config.set(scheduler="synchronous"):
        labels = model.predict(data.as_dask((0, 17, 100, 0, 63)))  # empty blocks stay empty
        assert issparse(labels._meta)
        assert (labels.compute() != model.predict(data.X)).nnz == 0
    np.testing.assert_array_equal(model.decomposition_.rows[0], np.flatnonzero(data.Y[:, 0]))  # of the model itself


def test_nothing_is_computed_before_it_is_needed():
    def unreadable(_):
        raise OSError("read too early")

    data = make_data("dense")
    model = SDGSClassifier(2, readout="norm", random_state=0).fit(data.X, data.Y)
    labels = model.predict(data.as_dask().map_blocks(unreadable, dtype=float, meta=np.empty((0, 0))))
    assert labels.shape == data.Y.shape
    with dask.config.set(scheduler="synchronous"), pytest.raises(OSError, match="read too early"):
        labels.compute()


def test_labels_of_a_data_frame_are_an_array():
    data = make_data("dense")
    frame = pd.DataFrame(data.Y, columns=list("abcdef"))
    model = SDGSClassifier(2, readout="norm", random_state=0).fit(data.X, frame)
    with dask.config.set(scheduler="synchronous"):
        np.testing.assert_array_equal(model.predict(data.as_dask()).compute(), model.predict(data.X).to_numpy())


def test_lists_of_labels_are_an_array_of_objects():
    data = make_data("dense")
    y = [np.flatnonzero(labels).astype(str).tolist() for labels in data.Y]
    model = SDGSClassifier(2, readout="norm", random_state=0).fit(data.X, y)
    with dask.config.set(scheduler="synchronous"):
        assert model.predict(data.as_dask()).compute().tolist() == model.predict(data.X)


@pytest.mark.usefixtures("client")
def test_a_model_that_was_fitted_on_workers_can_be_saved(tmp_path):
    data = make_data("sparse")
    model = SDGSClassifier(2, readout="norm", random_state=0).fit(data.as_dask(), data.Y)
    model.save(tmp_path / "model.sdgs")
    np.testing.assert_array_equal(sdgs.load(tmp_path / "model.sdgs").predict(data.X), model.predict(data.X))


@pytest.mark.usefixtures("client")
def test_a_model_that_was_fitted_on_workers_has_the_same_suspicious_labels():
    data = make_data("dense")
    options = {"n_components": 2, "gamma": None, "scaling": "rows", "random_state": 0}
    model, expected = (SDGSClassifier(**options).fit(X, data.Y) for X in (data.as_dask(), data.X))
    assert type(model.out_of_fold_probabilities_) is np.ndarray
    np.testing.assert_allclose(model.out_of_fold_probabilities_, expected.out_of_fold_probabilities_, atol=1e-4)
    found, known = (one.suspicious_labels(n_pairs=5) for one in (model, expected))
    np.testing.assert_array_equal(found.rows, known.rows)
    np.testing.assert_array_equal(found.given, known.given)
    others = model.suspicious_labels(data.as_dask(), data.Y, n_pairs=5)
    np.testing.assert_array_equal(others.rows, model.suspicious_labels(data.X, data.Y, n_pairs=5).rows)


def test_workers_do_not_get_the_probabilities_of_the_training_samples():
    data = make_data("dense")
    model = SDGSClassifier(2, random_state=0).fit(data.X, data.Y)
    assert not hasattr(_without_samples(model), "out_of_fold_probabilities_")
    assert hasattr(model, "out_of_fold_rows_")

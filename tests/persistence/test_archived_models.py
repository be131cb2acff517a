"""Models that were saved by earlier versions of the format still load and predict the same; see models/README.md."""

import numpy as np
import pandas as pd
import pytest
from archive_models import ARCHIVE, archive, to_array
from model_file_helpers import assert_same, save_and_load
from scipy.sparse import csr_array, issparse

import sdgs
from sdgs import SDGSClassifierCV
from sdgs.persistence.codecs._model_codec import VERSION

NAMES = sorted(path.stem for path in ARCHIVE.glob("*.sdgs"))


def test_every_version_has_a_file_per_kind_of_model():
    kinds = (
        "average",
        "chains",
        "forest",
        "kernel",
        "neighbours",
        "norm",
        "powerset",
        "ridge",
        "search",
        "search-of-path",
        "table",
    )
    assert [f"v{version}-{kind}" for version in range(1, VERSION + 1) for kind in kinds] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_archived_models_predict_the_same(name):
    with np.load(ARCHIVE / f"{name}-expected.npz") as expected:
        X, labels, scores = expected["X"], expected["labels"], expected["scores"]
    model = sdgs.load(ARCHIVE / f"{name}.sdgs")
    X = pd.DataFrame(X, columns=model.feature_names_in_) if hasattr(model, "feature_names_in_") else X
    for samples in (X, csr_array(X)) if name.endswith("ridge") else (X,):
        predicted = model.predict(samples)
        assert to_array(predicted).dtype == labels.dtype
        np.testing.assert_array_equal(to_array(predicted), labels)
        # The file may have been written on a machine whose BLAS rounds sums of products differently. Norms are those
        # of codes, which a relative gap of 1e-6 determines up to sqrt(2e-6) of the norm of a sample, here 1.
        atol = 1.5e-3 if name.endswith("norm") else 1e-8
        np.testing.assert_allclose(model.decision_function(samples), scores, rtol=1e-6, atol=atol)


@pytest.mark.parametrize("name", NAMES)
def test_archived_models_are_equal_when_they_are_saved_again(name, tmp_path):
    model = sdgs.load(ARCHIVE / f"{name}.sdgs")
    assert_same(model, save_and_load(model, tmp_path))


def test_an_archived_search_has_its_results_and_names():
    model = sdgs.load(ARCHIVE / "v1-search.sdgs")
    assert isinstance(model, SDGSClassifierCV)
    assert list(model.classes_) == ["amber", "blue", "cyan"]
    assert list(model.feature_names_in_) == [f"f{j}" for j in range(6)]
    assert model.budget == 5
    assert len(model.cv_results_["params"]) == len(model.cv_results_["score"]) == len(model.cv_results_["read_from"])
    assert model.read_from_ in model.cv_results_["read_from"]
    assert model.best_params_ in model.cv_results_["params"]
    assert model.predict(pd.DataFrame(np.ones((2, 6)), columns=model.feature_names_in_)).dtypes["blue"] == np.int8


def test_archived_models_keep_sparse_labels_and_classes():
    ridge, norm = (sdgs.load(ARCHIVE / f"v1-{kind}.sdgs") for kind in ("ridge", "norm"))
    assert issparse(ridge.predict(np.ones((2, 12))))
    assert set(norm.classes_) == {"amber", "blue", "cyan"}
    assert norm.components_[0].dtype == np.float32


@pytest.mark.slow
def test_the_archive_of_a_version_is_written_once(tmp_path):
    archive(tmp_path)
    assert len(list(tmp_path.glob(f"v{VERSION}-*.sdgs"))) == 11
    with pytest.raises(FileExistsError, match="never rewritten"):
        archive(tmp_path)

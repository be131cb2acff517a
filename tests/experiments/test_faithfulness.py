"""Deleting the reasons of a label lowers its log-odds as far as deleting what occlusion finds."""

import csv
import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from sdgs import SDGSClassifier
from sdgs.datasets import Dataset, load, make_composite_digits
from sdgs.experiments import Protocol, run
from sdgs.experiments._explanation_studies import EXPLANATION_STUDIES
from sdgs.experiments._faithfulness import measure_faithfulness

MIN_OF_OCCLUSION, MIN_OF_RANDOM = 0.9, 3.0


def words(as_array):
    """Labels that one word each decides, among words that mean nothing."""
    rng = np.random.default_rng(0)
    Y = (rng.random((300, 3)) < 0.4).astype(np.int8)
    X = (rng.random((300, 60)) < 0.3).astype(float)
    X[:, :3] = Y
    X[:, 0] = np.where(rng.random(300) < 0.05, 1 - X[:, 0], X[:, 0])
    return Dataset(as_array(X), Y, [f"x{j}" for j in range(60)], ["a", "b", "c"], "words", ())


@pytest.mark.parametrize("as_array", [csr_array, np.asarray], ids=["sparse", "dense"])
def test_the_deciding_words_are_the_reasons(as_array):
    record = measure_faithfulness(words(as_array), 0, n_samples=40)
    fall = record["measured"]
    assert fall.keys() == {"reasons", "occlusion", "random", "shares"}
    assert fall["reasons"] >= MIN_OF_OCCLUSION * fall["occlusion"]
    assert fall["reasons"] >= MIN_OF_RANDOM * fall["random"]
    assert record["n_samples"] == 40
    assert 20 < record["n_labels"] < 80


def test_a_measurement_is_repeatable_and_depends_on_the_seed():
    data = words(csr_array)
    first, again, other = (measure_faithfulness(data, seed, n_samples=5)["measured"] for seed in (0, 0, 1))
    assert first == again
    assert first != other


@pytest.mark.slow
def test_only_one_study_runs(small_data_home, tmp_path):
    protocol = Protocol(datasets=("two",), seeds=(0, 1), only="faithfulness")
    run(protocol, tmp_path, data_home=small_data_home)
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.json")}
    names = {f"studies/faithfulness--two--seed{seed}.json" for seed in (0, 1)}
    assert files == {"protocol.json", *names}
    record = json.loads((tmp_path / "studies" / "faithfulness--two--seed1.json").read_text())
    assert (record["kind"], record["method"], record["seed"]) == ("explanations", "faithfulness", 1)
    assert record["measured"]["reasons"] > 0
    assert {"sdgs", "numpy", "processor"} <= record["environment"].keys()
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "studies").iterdir()}
    run(protocol, tmp_path, data_home=small_data_home)  # nothing is left to do
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "studies").iterdir()} == times


def test_a_study_that_does_not_exist_is_rejected():
    with pytest.raises(ValueError, match="only must be"):
        Protocol(only="beauty")


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPLANATION_STUDIES["faithfulness"].datasets)
def test_reasons_are_faithful_on_real_data(data_home, name):
    data = load(name, "train", data_home=data_home)
    falls = [measure_faithfulness(data, seed)["measured"] for seed in range(3)]
    reasons, occlusion, random = (np.mean([fall[key] for fall in falls]) for key in ("reasons", "occlusion", "random"))
    assert reasons >= MIN_OF_OCCLUSION * occlusion
    assert reasons >= MIN_OF_RANDOM * random


def test_the_published_figures_reach_the_floors():
    table = Path(__file__).parents[2] / "docs" / "results" / "explanations.csv"
    figures = defaultdict(dict)
    with table.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["study"] == "faithfulness":
                figures[row["dataset"]][row["quantity"]] = float(row["mean"])
    assert len(figures) == 4
    for fall in figures.values():
        assert fall["reasons"] >= MIN_OF_OCCLUSION * fall["occlusion"]
        assert fall["reasons"] >= MIN_OF_RANDOM * fall["random"]


def test_removing_landmarks_changes_the_log_odds_by_their_parts():
    data = make_composite_digits(300, max_labels=2, subset="train", random_state=0)
    model = SDGSClassifier(gamma=1.0, random_state=0).fit(data.X, data.Y)
    X = data.X[:6]
    explanation = model.explain_prediction(X, "all")
    before, neighbours = model.decision_function(X), explanation.neighbours()
    (pipeline,) = model._pipelines
    kernel, ridge = pipeline.features.kernel, pipeline.ridge
    removed = np.unique(np.argsort(-np.abs(neighbours), axis=2)[:, :, :3])
    kept = np.setdiff1d(np.arange(kernel.n_landmarks), removed)
    assert 0 < kept.size < kernel.n_landmarks
    assert pipeline.features.columns is None
    columns = np.setdiff1d(np.arange(ridge.coef.shape[1]), removed)  # the kernel comes first
    smaller = replace(kernel, landmarks=kernel.landmarks[kept], rows=kernel.rows[kept], landmark_gram=None)
    model._pipelines = [
        replace(
            pipeline,
            features=replace(pipeline.features, kernel=smaller),
            ridge=replace(ridge, coef=ridge.coef[:, columns]),
        )
    ]
    change = before - model.decision_function(X)
    assert np.abs(change).max() > 0.5
    np.testing.assert_allclose(change, neighbours[:, :, removed].sum(axis=2), rtol=1e-9, atol=1e-9)

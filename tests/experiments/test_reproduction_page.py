"""The page of the reproduction."""

import json

import pytest

from sdgs.experiments import Protocol, run, write_report


def test_a_folder_without_records_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="sdgs reproduce"):
        write_report(tmp_path)


@pytest.mark.slow
def test_the_page_of_a_comparison_beyond_the_paper(tmp_path, write_mulan):
    write_mulan(tmp_path / "home", "mine")
    methods = ("sdgs-cv", "sdgs", "br", "ecc", "mlknn", "forest", "low_rank")
    protocol = Protocol(
        datasets=("mine",), methods=("mlknn",), beyond=True, beyond_seeds=(0, 1), beyond_methods=methods
    )
    run(protocol, tmp_path / "out", data_home=tmp_path / "home")
    records = [json.loads(path.read_text()) for path in (tmp_path / "out" / "beyond").iterdir()]
    assert {(r["method"], r["seed"]) for r in records} == {(m, seed) for m in methods for seed in (0, 1)}
    page = write_report(tmp_path / "out").read_text()
    assert "Beyond the paper" in page
    assert "Not compared: LightGBM, CatBoost, BOOMER" in page
    assert "points compared with the best other method by the mean" in page
    assert (tmp_path / "out" / "beyond.csv").is_file()
    assert "| mine |" in (tmp_path / "out" / "beyond.md").read_text()
    without = Protocol(datasets=("mine",), methods=("mlknn",))
    run(without, tmp_path / "out", data_home=tmp_path / "home")
    assert "Beyond the paper" not in write_report(tmp_path / "out").read_text()

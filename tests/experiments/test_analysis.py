"""Ranks and claims, compared with calculations by hand."""

import numpy as np
import pytest
from scipy.stats import chi2

from sdgs.experiments._analysis import claims, f1_ranking, ranking
from sdgs.experiments._result_tables import Row


def test_ranking_by_hand():
    scores = np.array([[3.0, 2, 1], [3, 1, 2], [2, 2, 1], [5, 4, 3]])
    result = ranking(scores, ["br", "mlknn", "sdgs"])
    np.testing.assert_allclose(result.ranks, [4.5 / 4, 8.5 / 4, 11 / 4])
    # Friedman's statistic with ties, from its definition
    ranks = np.array([[1, 2, 3], [1, 3, 2], [1.5, 1.5, 3], [1, 2, 3]])
    between = 4 * np.sum((ranks.mean(axis=0) - 2) ** 2)
    within = np.sum((ranks - 2) ** 2) / (4 * 2)
    assert result.p_value == pytest.approx(chi2.sf(between / within, 2))
    # Demsar's table: q = 2.569 for four methods at 5 %
    four = ranking(np.random.default_rng(0).random((11, 4)), list("abcd"))
    assert four.critical_difference == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 11)), rel=1e-3)
    assert ranking(scores[:2], ["a", "b", "c"]).p_value is None
    assert ranking(np.ones((5, 3)), ["a", "b", "c"]).p_value is None


def make_rows(**figures):
    """Rows from (F1, seconds, precision, recall) per method and data set."""
    rows = []
    for method, sets in figures.items():
        for number, (f1, seconds, precision, recall) in enumerate(sets):
            values = {"f1": f1, "seconds": seconds, "precision": precision, "recall": recall}
            rows.append(Row(f"set{number}", method, "cv", values, {}, {}))
    return rows


def test_verdicts_on_claims():
    sdgs = [(50, 1, 40, 60), (60, 1, 50, 50), (10, 9, 20, 20)]
    worse = [(40, 2, 20, 90), (50, 2, 20, 90), (90, 1, 90, 90)]
    better = [(70, 0.5, 50, 50), (70, 0.5, 50, 50), (70, 10, 50, 50)]
    prediction, speed, gap = claims(make_rows(sdgs=sdgs, br=worse))
    assert prediction.verdict == speed.verdict == gap.verdict == "holds"
    assert prediction.findings == ("F1 above BR's on 2 of 3 data sets; on average 40.0 against 60.0.",)
    assert "2 of 3 data sets; 11.0 against 5.0 CPU seconds" in speed.findings[0]
    assert "SDGS 6.7" in gap.findings[0]
    assert [claim.verdict for claim in claims(make_rows(sdgs=sdgs, br=worse, mlknn=better))] == ["holds in part"] * 3
    assert [claim.verdict for claim in claims(make_rows(sdgs=sdgs, mlknn=better))] == ["does not hold"] * 3
    assert claims(make_rows(sdgs=sdgs)) == []
    assert f1_ranking(make_rows(sdgs=sdgs, br=worse, mlknn=better), "cv").n_datasets == 3
    assert f1_ranking(make_rows(sdgs=sdgs, br=worse), "published") is None

"""The figures of the report."""

from sdgs.experiments._figures import tied_runs


def test_runs_of_ranks_without_a_significant_difference():
    assert tied_runs([1.0, 1.5, 2.6, 4.0], 1.2) == [(1.0, 1.5), (1.5, 2.6)]
    assert tied_runs([1.0, 2.0, 3.0], 0.5) == []
    assert tied_runs([1.0, 2.0, 3.0], 5.0) == [(1.0, 3.0)]

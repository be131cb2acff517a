"""A short run of every target (`make fuzz` for more), and of the harness itself: it must find what it is there for."""

import pytest

from fuzz.checks import VALID
from fuzz.draw import generator
from fuzz.findings import Summary
from fuzz.runner import run
from fuzz.target_misbehaviour import KINDS, kind_of
from fuzz.targets import SHARES, cases_per_target

N_CASES = 1200


def run_cases(cases, folder, **options):
    summary = Summary(folder)
    run(cases, n_workers=1, on_record=summary.add, **options)
    return summary


@pytest.mark.slow
def test_cases_of_all_targets_are_valid_or_clean_errors(tmp_path):
    numbers = cases_per_target(N_CASES)
    summary = run_cases([(name, case) for name, n in numbers.items() for case in range(n)], tmp_path)
    assert summary.n_findings == 0, summary.text()
    assert {name: count.total() for name, count in summary.outcomes.items()} == numbers
    assert all(summary.outcomes[name][VALID] for name in SHARES if numbers[name] > 10), summary.text()


@pytest.mark.slow
def test_the_harness_finds_every_kind_of_misbehaviour_and_goes_on(tmp_path):
    kinds = {kind_of(generator(0, "misbehaviour", case)): case for case in range(200)}
    assert kinds.keys() == KINDS.keys()
    summary = run_cases([("misbehaviour", case) for case in kinds.values()], tmp_path, max_seconds=1)
    messages = {record["case"]: record["message"] for records in summary.places.values() for record in records}
    assert summary.outcomes["misbehaviour"] == {"finding": len(kinds) - 1, VALID: 1}
    for kind, case in kinds.items():
        if kind:
            assert kind in messages[case]
            folder = tmp_path / f"misbehaviour-{case}"
            assert (folder / "input.txt").read_text() == kind
            assert f"--target misbehaviour --case {case}'" in (folder / "finding.txt").read_text()

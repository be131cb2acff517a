"""Random problems whose results are checked independently of the solvers, by ``tests/certificates.py``."""

import numpy as np

from certificates import random_decomposition, random_problem
from fuzz.checks import VALID
from fuzz.draw import chance


def prepare():
    for case in range(20):  # compiles the solvers
        for make_problem in (random_problem, random_decomposition):
            make_problem(np.random.default_rng(case)).violations()


def run_case(rng, folder):  # noqa: ARG001  (nothing is written)
    make_problem = random_decomposition if chance(rng, 0.3) else random_problem
    violations = make_problem(rng).violations()
    assert not violations, f"a result is worse than it says: {violations}"
    return VALID

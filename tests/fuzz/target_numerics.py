"""Random problems whose results are checked independently of the solvers, by ``tests/certificates.py``."""

from importlib import import_module

from fuzz.checks import VALID


def run_case(rng, folder):  # noqa: ARG001  (nothing is written)
    certificates = import_module("certificates")
    certificates.check_problem(certificates.random_problem(rng))
    return VALID

"""The paper's experiments: a fixed protocol, a runner that can be interrupted, and a report made from its records."""

from sdgs.experiments._protocol import METHODS, RULES, Method, Protocol
from sdgs.experiments._reproduction_page import write_report
from sdgs.experiments._runner import ExperimentError, run

__all__ = ["METHODS", "RULES", "ExperimentError", "Method", "Protocol", "run", "write_report"]

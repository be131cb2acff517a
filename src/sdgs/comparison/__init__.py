"""Methods compared on one data set by cross-validation, and over several data sets by their ranks."""

from sdgs.comparison._compare_methods import compare, default_methods
from sdgs.comparison._comparison_page import write_comparison_page
from sdgs.comparison._comparison_result import Comparison, MethodResult, MethodSummary
from sdgs.comparison._execution import ComparisonError
from sdgs.comparison._method_ranks import MethodRanks, rank_methods

__all__ = [
    "Comparison",
    "ComparisonError",
    "MethodRanks",
    "MethodResult",
    "MethodSummary",
    "compare",
    "default_methods",
    "rank_methods",
    "write_comparison_page",
]

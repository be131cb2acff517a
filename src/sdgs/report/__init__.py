"""A single HTML page about a model and samples with known labels, which works offline."""

from sdgs.report._content import model_content
from sdgs.report._model_comparison import fit_compared_methods
from sdgs.report._page import write_model_report

__all__ = ["fit_compared_methods", "model_content", "write_model_report"]

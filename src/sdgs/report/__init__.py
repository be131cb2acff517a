"""One page about a model and samples with known labels, for a browser that is offline."""

from sdgs.report._content import model_content
from sdgs.report._model_comparison import fitted_rivals
from sdgs.report._page import write_model_report

__all__ = ["fitted_rivals", "model_content", "write_model_report"]

"""One page about a model and samples with known labels, for a browser that is offline."""

from sdgs.report._content import model_content
from sdgs.report._page import write_model_report
from sdgs.report._rivals import fitted_rivals

__all__ = ["fitted_rivals", "model_content", "write_model_report"]

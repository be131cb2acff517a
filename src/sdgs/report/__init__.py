"""One page about a model and samples with known labels, for a browser that is offline."""

from sdgs.report._content import model_content
from sdgs.report._page import write_model_report

__all__ = ["model_content", "write_model_report"]

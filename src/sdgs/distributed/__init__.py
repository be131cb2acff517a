"""Training and prediction on Dask arrays. Imported only when there is one; needs the extra ``sdgs[dask]``."""

from sdgs.distributed._rows import Rows, WorkerLostError
from sdgs.distributed._training import check_solver, decomposed, gathered_labels

__all__ = ["Rows", "WorkerLostError", "check_solver", "decomposed", "gathered_labels"]

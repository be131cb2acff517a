"""The hyper-parameters of one pipeline, and the options that all pipelines of a fit share."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class PipelineParameters:
    """Parameters that decide what labels are read from.

    All but ``landmark_draw`` are parameters of :class:`sdgs.SDGSClassifier`, with the same names.
    """

    scaling: str | None
    n_components: int | tuple[int, ...]
    alpha: float
    huber: float | None = None
    gamma: float | None = None
    landmark_draw: int = 0  # pipelines that are averaged have different landmarks

    def as_dict(self) -> dict[str, Any]:
        """The parameters of the estimator, by name."""
        return {name: value for name, value in asdict(self).items() if name != "landmark_draw"}


@dataclass(frozen=True)
class DecompositionOptions:
    """How subspaces and landmarks are learnt, whatever the parameters."""

    residual_size: int | float
    solver: str
    max_iter: int
    tol: float
    n_landmarks: int | str
    seed: int
    n_jobs: int | None
    checkpoint: Path | None = None


@dataclass(frozen=True)
class RidgeChoice:
    """What cross-validation chooses for the ridge regression of a pipeline.

    Attributes
    ----------
    penalty : float
    read_from : tuple of str
        The leading feature blocks that labels are read from; see ``FEATURE_BLOCKS``.
    """

    penalty: float
    read_from: tuple[str, ...]

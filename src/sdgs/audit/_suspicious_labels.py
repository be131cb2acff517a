"""Suspicious labels: pairs of a sample and a label, the most suspicious first."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.audit._audit_tables import count, data_frame, html_page_table
from sdgs.selection._defaults import LIKELY_MISSING

_MAX_SHOWN = 10  # by ``print`` and in notebooks


@dataclass(frozen=True, eq=False)
class SuspiciousLabels:
    """Pairs of a sample and a label for which what is given may be a mistake, the most suspicious first.

    Attributes
    ----------
    rows : ndarray of shape (q,)
        The sample of each pair, as a row number.
    labels : ndarray of shape (q,)
        Its label, as a column number.
    given : ndarray of bool, shape (q,)
        Whether the sample has the label. If it has, the label may be wrong, else it may be missing.
    probability : ndarray of shape (q,)
        The probability of the label for the sample, from a model that was not fitted to it.
    suggested : ndarray of shape (q,) or None
        For targets with one class per sample: the most probable class, as a column number.
    n_samples, n_given : int
        How many samples, and labels of them, were checked.
    n_wrong : int
        At most about how many of the given labels are wrong: see
        :func:`sdgs.audit.rank_suspicious_labels`.
    n_missing : int
        How many labels are not given and have a probability of at least 0.8.
    label_names : ndarray of shape (k,)
    sample_names : ndarray of shape (q,)
        The name of the sample of each pair.
    """

    rows: NDArray[np.intp]
    labels: NDArray[np.intp]
    given: NDArray[np.bool_]
    probability: NDArray[np.float64]
    suggested: NDArray[np.intp] | None
    n_samples: int
    n_given: int
    n_wrong: int
    n_missing: int
    label_names: NDArray[Any]
    sample_names: NDArray[Any]

    def __len__(self) -> int:
        return self.rows.size

    @property
    def score(self) -> NDArray[np.float64]:
        """The probability of the opposite of what is given, (q,)."""
        return np.where(self.given, 1 - self.probability, self.probability)

    @property
    def wrong(self) -> "SuspiciousLabels":
        """The pairs whose label is given."""
        return self._select(self.given)

    @property
    def missing(self) -> "SuspiciousLabels":
        """The pairs whose label is not given."""
        return self._select(~self.given)

    def _select(self, pairs: NDArray[np.bool_]) -> "SuspiciousLabels":
        columns = ("rows", "labels", "given", "probability", "sample_names")
        suggested = None if self.suggested is None else self.suggested[pairs]
        return replace(self, suggested=suggested, **{name: getattr(self, name)[pairs] for name in columns})

    def to_frame(self) -> Any:
        """Convert to a DataFrame with one row per pair; needs pandas.

        Returns
        -------
        pandas.DataFrame
            With the columns ``sample``, ``label``, ``given``, ``probability`` and ``score``; and ``suggested`` for
            targets with one class per sample.
        """
        columns = {
            "sample": self.sample_names,
            "label": self.label_names[self.labels],
            "given": self.given,
            "probability": self.probability,
            "score": self.score,
        }
        if self.suggested is not None:
            columns["suggested"] = self.label_names[self.suggested]
        return data_frame(columns)

    def text(self, *, max_pairs: int | None = None) -> str:
        """Describe the pairs in sentences, one per line, after a summary; ``max_pairs`` limits their number."""
        shown = len(self) if max_pairs is None else min(max_pairs, len(self))
        more = [f"... and {len(self) - shown} more."] if len(self) > shown else []
        return "\n".join([self.summary(), *map(self._describe, range(shown)), *more])

    def summary(self) -> str:
        """How many labels were checked and are suspicious."""
        were = "was" if self.n_given == 1 else "were"
        checked = f"{count(self.n_given, 'label')} of {count(self.n_samples, 'sample')} {were} checked."
        wrong = f"At most about {self.n_wrong:,} of them {'is' if self.n_wrong == 1 else 'are'} wrong"
        if self.suggested is not None:
            return f"{checked} {wrong}."
        verb = "is" if self.n_missing == 1 else "are"
        probable = f"{verb} not given but probable (p >= {LIKELY_MISSING})"
        return f"{checked} {wrong}. {count(self.n_missing, 'other label')} {probable}."

    def _describe(self, i: int) -> str:
        name, p = self.label_names[self.labels[i]], self.probability[i]
        state = "given" if self.given[i] else "not given"
        end = ""
        if self.suggested is not None and self.suggested[i] != self.labels[i]:
            end = f"; {self.label_names[self.suggested[i]]} is more probable"
        return f"sample {self.sample_names[i]}: {name} is {state}, p = {p:.2f}{end}"

    def __repr__(self) -> str:
        return f"<SuspiciousLabels: {count(len(self), 'pair')} of {count(self.n_samples, 'sample')}>"

    def __str__(self) -> str:
        return self.text(max_pairs=_MAX_SHOWN)

    def _repr_html_(self) -> str:
        head = ["sample", "label", "", "probability", *([] if self.suggested is None else ["suggested"])]
        rows = []
        for i in range(min(len(self), _MAX_SHOWN)):
            row = [self.sample_names[i], self.label_names[self.labels[i]]]
            row += ["given" if self.given[i] else "not given", f"{self.probability[i]:.2f}"]
            rows.append(row + ([] if self.suggested is None else [self.label_names[self.suggested[i]]]))
        return html_page_table(self.summary(), head, rows, len(self))

"""Labels and what they have in common: subspaces, angles between them, co-occurrence."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._validation import check_choice, check_int, check_labels, check_names
from sdgs.decomposition._label_angles import LabelAngles, label_angles, leaves_of
from sdgs.displays._parts_figure import ink_map
from sdgs.displays._style import HEAT, INK, MUTED, axes_for, heat_map, map_size, on_top_of, plain, short, tick_names


class LabelSubspacesDisplay:
    """What the subspaces of labels look like: images where a shape is given, else the features that lie in them most.

    Parameters
    ----------
    components : sequence of k ndarrays of shape (r_i, p)
        Orthonormal rows, strongest first.
    label_names : array-like of shape (k,), optional
    feature_names : array-like of shape (p,), optional
    support : array-like of shape (k,), optional
        Training samples of each label: where there are more labels than can be drawn, the most frequent are.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(
        self,
        *,
        components: Sequence[NDArray[Any]],
        label_names: Any = None,
        feature_names: Any = None,
        support: Any = None,
    ) -> None:
        self.components = components
        self.label_names = label_names
        self.feature_names = feature_names
        self.support = support

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, feature_names: Any = None, label_names: Any = None, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the subspaces of a fitted model, each direction the way that its training samples go on average."""
        signs = [np.where(U.sum(axis=0) < 0, -1, 1) for U in estimator.decomposition_.coefficients]
        components = [sign[:, None] * C for sign, C in zip(signs, estimator.components_, strict=True)]
        names = estimator.classes_ if label_names is None else label_names
        features = getattr(estimator, "feature_names_in_", None) if feature_names is None else feature_names
        support = [len(rows) for rows in estimator.decomposition_.rows]
        display = cls(components=components, label_names=names, feature_names=features, support=support)
        return display.plot(ax=ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        labels: Sequence[int] | None = None,
        shape: tuple[int, ...] | None = None,
        max_labels: int = 15,
        max_features: int = 5,
    ) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        labels : sequence of int, optional
            Numbers of the labels to draw. Default: ``max_labels`` of them, the most frequent.
        shape : tuple of 2 ints, optional
            Height and width of the image that a sample is. Default: the features that lie most in each subspace. How
            much of a feature does is its squared cosine with the subspace.
        max_labels : int, default=15
        max_features : int, default=5

        Returns
        -------
        self
        """
        k, p = len(self.components), self.components[0].shape[1]
        names = check_names(self.label_names, "label_names", k, range(k))
        often = np.zeros(k) if self.support is None else np.asarray(self.support)
        first = np.argsort(-often, kind="stable")[: check_int(max_labels, "max_labels", minimum=1)]
        chosen = sorted(first.tolist()) if labels is None else list(labels)
        if shape is not None:
            if len(shape) != 2 or int(np.prod(shape)) != p:
                raise ValueError(f"shape must be the height and width of an image of {p} pixels, got {shape}.")
            return self._images(ax, chosen, names, shape)
        features = check_names(self.feature_names, "feature_names", p, None)
        return self._table(ax, chosen, names, features, min(check_int(max_features, "max_features", minimum=1), p))

    def _images(self, ax: Any, chosen: list[int], names: NDArray[Any], shape: tuple[int, ...]) -> Self:
        ranks = max(1, *(len(self.components[i]) for i in chosen))
        ratio = shape[1] / shape[0]
        ax = axes_for(self, ax, 1.0 + 0.95 * ranks * ratio, 0.4 + 0.95 * len(chosen))
        ax.set(xlim=(0, ranks), ylim=(len(chosen), 0))
        ax.set_yticks(np.arange(len(chosen)) + 0.5, [short(names[i], 20) for i in chosen])
        ax.set_xticks(np.arange(ranks) + 0.5, [str(j + 1) for j in range(ranks)])
        ax.tick_params(length=0)
        ax.set_xlabel("direction of the subspace, strongest first")
        plain(ax, "top", "right", "left", "bottom")
        cmap = ink_map()
        for line, i in enumerate(chosen):
            for column, row in enumerate(self.components[i]):
                cell = (column + 0.04, line + 0.04, 0.92, 0.92)
                inset = ax.inset_axes(cell, transform=ax.transData)
                limit = float(np.abs(row).max()) or 1.0
                inset.imshow(row.reshape(shape), cmap=cmap, vmin=-limit, vmax=limit, interpolation="nearest")
                inset.set_xticks([])
                inset.set_yticks([])
                for spine in inset.spines.values():
                    spine.set(edgecolor=MUTED, linewidth=0.6)
        return self

    def _table(self, ax: Any, chosen: list[int], names: Any, features: Any, n: int) -> Self:
        inside = np.array([np.square(self.components[i]).sum(axis=0) for i in chosen])
        top = np.argsort(-inside, axis=1, kind="stable")[:, :n]
        values = np.take_along_axis(inside, top, axis=1)
        longest = max(len(short(features[j], 24)) for j in top.ravel())
        ax = axes_for(self, ax, 2.2 + n * (0.35 + 0.075 * longest), 0.9 + 0.3 * len(chosen))
        image = ax.imshow(values, cmap=HEAT, vmin=0.0, aspect="auto", interpolation="nearest")
        tick_names(ax, "y", [names[i] for i in chosen], len(chosen), length=24)
        ax.set_xticks(range(n), [str(j + 1) for j in range(n)])
        ax.tick_params(length=0)
        ax.set_xlabel("features that lie most in a label's subspace")
        for line, column in np.ndindex(*values.shape):
            if values[line, column] > 0:
                text, colour = short(features[top[line, column]], 24), on_top_of(image, float(values[line, column]))
                ax.text(column, line, text, ha="center", va="center", fontsize=8, color=colour)
        ax.figure.colorbar(image, ax=ax, label="squared cosine", fraction=0.03, pad=0.02)
        return self


class AngleMapDisplay:
    """How much of each label's subspace others share, as a heat map or as a tree.

    Parameters
    ----------
    angles : LabelAngles
        See :func:`sdgs.label_angles`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(self, *, angles: LabelAngles) -> None:
        self.angles = angles

    @classmethod
    def from_estimator(cls, estimator: Any, *, label_names: Any = None, ax: Any = None, **options: Any) -> Self:
        """Draw the map of a fitted model, a decomposition, or a sequence of subspaces."""
        return cls(angles=label_angles(estimator, label_names=label_names)).plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, kind: str = "map", max_names: int = 40, **options: Any) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        kind : {"map", "tree"}, default="map"
            The map has a line for each label in the order of the tree: the share of its subspace that lies in that of
            the label of the column.
        max_names : int, default=40
            Of more labels the map names every so many. The tree has no more leaves than this: what is joined below them
            is one, with the name of one label and the number of others.
        **options : dict
            For ``imshow``, or for :func:`scipy.cluster.hierarchy.dendrogram`.

        Returns
        -------
        self
        """
        check_choice(kind, "kind", ("map", "tree"))
        check_int(max_names, "max_names", minimum=2)
        if kind == "tree":
            return self._tree(ax, max_names, options)
        order = self.angles.order()
        ax = axes_for(self, ax, *map_size(len(order)))
        names = [self.angles.label_names[i] for i in order]
        heat_map(ax, self.angles.shared[np.ix_(order, order)], names, max_names, **options)
        ax.set(ylabel="of the subspace of this label ...", xlabel="... this share lies in that of this one")
        return self

    def _tree(self, ax: Any, most: int, options: dict[str, Any]) -> Self:
        from scipy.cluster.hierarchy import dendrogram

        names, tree, k = self.angles.label_names, self.angles.tree(), len(self.angles.components)
        members = {i: [i] for i in range(k)}
        for step, (a, b, *_) in enumerate(tree):
            members[k + step] = members[int(a)] + members[int(b)]

        def leaf(node: int) -> str:
            first, *others = members[node]
            return short(names[first], 24) + (f" +{len(others)}" if others else "")

        cut = {"truncate_mode": "lastp", "p": most} if k > most else {}
        leaves = min(k, most)
        ax = axes_for(self, ax, 6.5, 1.0 + 0.2 * leaves)
        settings = {"orientation": "left", "color_threshold": 0, "above_threshold_color": INK, **cut, **options}
        dendrogram(tree, ax=ax, leaf_label_func=leaf, leaf_font_size=float(np.clip(320 / leaves, 7, 9.5)), **settings)
        shown = tree[-(leaves - 1) :, 2]  # the others are below the leaves
        room = 0.15 * (shown.max() - shown.min()) or 0.05
        ax.set_xlim(shown.max() + room / 2, max(shown.min() - room, 0.0))
        ax.set_xlabel("1 - overlap (1: orthogonal)")
        plain(ax, "top", "left", "right")
        return self


class CooccurrenceDisplay:
    """How often labels come together.

    Parameters
    ----------
    counts : ndarray of shape (k, k)
        Samples that carry both labels; on the diagonal those that carry the label.
    label_names : array-like of shape (k,), optional

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(self, *, counts: NDArray[np.int64], label_names: Any = None) -> None:
        self.counts = counts
        self.label_names = label_names

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, label_names: Any = None, ax: Any = None, **options: Any) -> Self:
        """Draw the labels that a fitted multi-label classifier predicts together."""
        names = getattr(estimator, "classes_", None) if label_names is None else label_names
        return cls.from_predictions(estimator.predict(X), label_names=names, ax=ax, **options)

    @classmethod
    def from_predictions(cls, Y: Any, *, label_names: Any = None, ax: Any = None, **options: Any) -> Self:
        """Draw the labels of a matrix (n, k) of 0 and 1 that come together, predicted or true."""
        names = getattr(Y, "columns", None) if label_names is None else label_names
        labels = check_labels(Y, some_positive=False).astype(np.int64)
        return cls(counts=(labels.T @ labels).toarray(), label_names=names).plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, max_labels: int = 40, **options: Any) -> Self:
        """Draw it: in each line, of the samples with that label the share that also has the label of the column.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        max_labels : int, default=40
            The most frequent ones; in an order in which labels that come together are near each other.
        **options : dict
            For ``imshow``.

        Returns
        -------
        self
        """
        k, support = len(self.counts), np.diag(self.counts)
        names = check_names(self.label_names, "label_names", k, range(k))
        kept = np.argsort(-support, kind="stable")[: check_int(max_labels, "max_labels", minimum=1)]
        counts, support = self.counts[np.ix_(kept, kept)], support[kept]
        either = support[:, None] + support - counts
        order = leaves_of(counts / np.maximum(either, 1))
        values = (counts / np.maximum(support, 1)[:, None])[np.ix_(order, order)]
        ax = axes_for(self, ax, *map_size(len(order)))
        heat_map(ax, values, [f"{short(names[kept[i]], 22)} ({support[i]})" for i in order], len(order), **options)
        ax.set(ylabel="of the samples with this label ...", xlabel="... this share has this one too")
        if k > len(kept):
            ax.set_title(f"the {len(kept)} most frequent of {k} labels", fontsize=10)
        return self

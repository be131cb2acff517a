"""Displays of labels: their subspaces, the angles between subspaces, and co-occurrence."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._last_step import feature_names_of, known_label_names, label_names_of, last_step, samples_of_last_step
from sdgs._utils._unobserved_labels import split_unobserved
from sdgs._utils._validation import check_choice, check_int, check_labels, check_names
from sdgs.decomposition._label_angles import LabelAngles, label_angles, leaves_of
from sdgs.displays import _style


class LabelSubspacesDisplay:
    """The subspaces of labels: as images, or as the features with the largest share in each subspace.

    Parameters
    ----------
    components : sequence of k ndarrays of shape (r_i, p)
        Orthonormal rows, largest singular value first.
    label_names : array-like of shape (k,), optional
    feature_names : array-like of shape (p,), optional
    support : array-like of shape (k,), optional
        Number of training samples of each label. If not all labels can be drawn, the most frequent ones are.

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
        """Draw the subspaces of a fitted model, or of a pipeline that ends with one.

        Each direction has the sign that makes its mean coefficient over the training samples positive.
        """
        model = last_step(estimator)
        signs = [np.where(U.sum(axis=0) < 0, -1, 1) for U in model.decomposition_.coefficients]
        components = [sign[:, None] * C for sign, C in zip(signs, model.components_, strict=True)]
        names = label_names_of(model, label_names, len(components))
        features = feature_names_of(estimator, feature_names, components[0].shape[1])
        support = [len(rows) for rows in model.decomposition_.rows]
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
        """Draw the subspaces.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        labels : sequence of int, optional
            Indices of the labels to draw. Default: the ``max_labels`` most frequent ones.
        shape : tuple of 2 ints, optional
            Height and width of the samples as images. Default: draw the ``max_features`` features with the largest
            squared cosine with the subspace.
        max_labels : int, default=15
        max_features : int, default=5

        Returns
        -------
        self
        """
        k, p = len(self.components), self.components[0].shape[1]
        names = check_names(self.label_names, "label_names", k, range(k))
        support = np.zeros(k) if self.support is None else np.asarray(self.support)
        most_frequent = np.argsort(-support, kind="stable")[: check_int(max_labels, "max_labels", minimum=1)]
        chosen = sorted(most_frequent.tolist()) if labels is None else list(labels)
        if shape is not None:
            if len(shape) != 2 or int(np.prod(shape)) != p:
                raise ValueError(f"shape must be the height and width of an image of {p} pixels, got {shape}.")
            return self._draw_images(ax, chosen, names, shape)
        features = check_names(self.feature_names, "feature_names", p, None)
        return self._draw_table(ax, chosen, names, features, min(check_int(max_features, "max_features", minimum=1), p))

    def _draw_images(self, ax: Any, chosen: list[int], names: NDArray[Any], shape: tuple[int, ...]) -> Self:
        max_rank = max(1, *(len(self.components[i]) for i in chosen))
        aspect_ratio = shape[1] / shape[0]
        ax = _style.axes_for(self, ax, 1.0 + 0.95 * max_rank * aspect_ratio, 0.4 + 0.95 * len(chosen))
        ax.set(xlim=(0, max_rank), ylim=(len(chosen), 0))
        ax.set_yticks(np.arange(len(chosen)) + 0.5, [_style.shorten(names[i], 20) for i in chosen])
        ax.set_xticks(np.arange(max_rank) + 0.5, [str(j + 1) for j in range(max_rank)])
        ax.tick_params(length=0)
        ax.set_xlabel("direction, largest singular value first")
        _style.hide_spines(ax, "top", "right", "left", "bottom")
        colormap = _style.signed_colormap()
        for row, i in enumerate(chosen):
            for column, component in enumerate(self.components[i]):
                cell = (column + 0.04, row + 0.04, 0.92, 0.92)
                inset = ax.inset_axes(cell, transform=ax.transData)
                limit = float(np.abs(component).max()) or 1.0
                inset.imshow(component.reshape(shape), cmap=colormap, vmin=-limit, vmax=limit, interpolation="nearest")
                inset.set_xticks([])
                inset.set_yticks([])
                inset.spines[:].set(edgecolor=_style.MUTED, linewidth=0.6)
        return self

    def _draw_table(self, ax: Any, chosen: list[int], names: Any, features: Any, n: int) -> Self:
        squared_cosines = np.array([np.square(self.components[i]).sum(axis=0) for i in chosen])
        top = np.argsort(-squared_cosines, axis=1, kind="stable")[:, :n]
        values = np.take_along_axis(squared_cosines, top, axis=1)
        longest = max(len(_style.shorten(features[j], 24)) for j in top.ravel())
        ax = _style.axes_for(self, ax, 2.2 + n * (0.35 + 0.075 * longest), 0.9 + 0.3 * len(chosen))
        image = ax.imshow(values, cmap=_style.HEAT_COLORMAP, vmin=0.0, aspect="auto", interpolation="nearest")
        _style.set_tick_names(ax, "y", [names[i] for i in chosen], len(chosen), max_length=24)
        ax.set_xticks(range(n), [str(j + 1) for j in range(n)])
        ax.tick_params(length=0)
        ax.set_xlabel("features with the largest share in the subspace")
        for row, column in np.ndindex(*values.shape):
            if values[row, column] > 0:
                text = _style.shorten(features[top[row, column]], 24)
                colour = _style.text_colour(image, float(values[row, column]))
                ax.text(column, row, text, ha="center", va="center", fontsize=8, color=colour)
        ax.figure.colorbar(image, ax=ax, label="squared cosine", fraction=0.03, pad=0.02)
        return self


class AngleMapDisplay:
    """The share of each label's subspace that lies in the subspaces of other labels, as a heat map or a tree.

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
        """Draw the display of a fitted model or pipeline, a decomposition, or a sequence of subspaces."""
        return cls(angles=label_angles(estimator, label_names=label_names)).plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, kind: str = "map", max_names: int = 40, **options: Any) -> Self:
        """Draw the map or the tree.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        kind : {"map", "tree"}, default="map"
            The map has one row per label, in the order of the tree: the share of its subspace that lies in the
            subspace of the label of the column.
        max_names : int, default=40
            The maximum number of names. A map with more labels names every few of them. A tree with more labels merges
            similar labels into one leaf, with the name of one and the number of the others.
        **options : dict
            For ``imshow``, or for :func:`scipy.cluster.hierarchy.dendrogram`.

        Returns
        -------
        self
        """
        check_choice(kind, "kind", ("map", "tree"))
        check_int(max_names, "max_names", minimum=2)
        if kind == "tree":
            return self._draw_tree(ax, max_names, options)
        order = self.angles.order()
        ax = _style.axes_for(self, ax, *_style.heat_map_size(len(order)))
        names = [self.angles.label_names[i] for i in order]
        _style.draw_heat_map(ax, self.angles.shared[np.ix_(order, order)], names, max_names, **options)
        ax.set(ylabel="share of the subspace of this label ...", xlabel="... that lies in the subspace of this label")
        return self

    def _draw_tree(self, ax: Any, max_leaves: int, options: dict[str, Any]) -> Self:
        from scipy.cluster.hierarchy import dendrogram

        names, tree, k = self.angles.label_names, self.angles.tree(), len(self.angles.components)
        members = {i: [i] for i in range(k)}
        for step, (a, b, *_) in enumerate(tree):
            members[k + step] = members[int(a)] + members[int(b)]

        def leaf_name(node: int) -> str:
            first, *others = members[node]
            return _style.shorten(names[first], 24) + (f" +{len(others)}" if others else "")

        truncation = {"truncate_mode": "lastp", "p": max_leaves} if k > max_leaves else {}
        n_leaves = min(k, max_leaves)
        ax = _style.axes_for(self, ax, 6.5, 1.0 + 0.2 * n_leaves)
        lines = {"orientation": "left", "color_threshold": 0, "above_threshold_color": _style.INK}
        leaves = {"leaf_label_func": leaf_name, "leaf_font_size": float(np.clip(320 / n_leaves, 7, 9.5))}
        dendrogram(tree, ax=ax, **{**lines, **leaves, **truncation, **options})
        distances = tree[-(n_leaves - 1) :, 2]  # merges that are not hidden in a leaf
        margin = 0.15 * (distances.max() - distances.min()) or 0.05
        ax.set_xlim(distances.max() + margin / 2, max(distances.min() - margin, 0.0))
        ax.set_xlabel("1 - overlap (1: orthogonal)")
        _style.hide_spines(ax, "top", "left", "right")
        return self


class CooccurrenceDisplay:
    """How often labels occur together.

    Parameters
    ----------
    counts : ndarray of shape (k, k)
        Number of samples with both labels; on the diagonal, with the label.
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
        """Draw the co-occurrence of the labels that a fitted multi-label classifier predicts."""
        names = known_label_names(estimator) if label_names is None else label_names
        return cls.from_predictions(estimator.predict(X), label_names=names, ax=ax, **options)

    @classmethod
    def from_predictions(cls, Y: Any, *, label_names: Any = None, ax: Any = None, **options: Any) -> Self:
        """Draw the co-occurrence of predicted or true labels, a matrix of 0 and 1; unobserved ones count as 0."""
        names = getattr(Y, "columns", None) if label_names is None else label_names
        labels = check_labels(split_unobserved(Y)[0], some_positive=False).astype(np.int64)
        return cls(counts=(labels.T @ labels).toarray(), label_names=names).plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, max_labels: int = 40, **options: Any) -> Self:
        """Draw the share of the samples with the label of the row that also have the label of the column.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        max_labels : int, default=40
            The maximum number of labels. The most frequent ones are drawn; labels that occur together are neighbours.
        **options : dict
            For ``imshow``.

        Returns
        -------
        self
        """
        k, support = len(self.counts), np.diag(self.counts)
        names = check_names(self.label_names, "label_names", k, range(k))
        chosen = np.argsort(-support, kind="stable")[: check_int(max_labels, "max_labels", minimum=1)]
        counts, support = self.counts[np.ix_(chosen, chosen)], support[chosen]
        union = support[:, None] + support - counts
        order = leaves_of(counts / np.maximum(union, 1))
        values = (counts / np.maximum(support, 1)[:, None])[np.ix_(order, order)]
        ax = _style.axes_for(self, ax, *_style.heat_map_size(len(order)))
        titles = [f"{_style.abbreviate(names[chosen[i]], 22)} ({support[i]})" for i in order]
        _style.draw_heat_map(ax, values, titles, len(order), **options)
        ax.set(ylabel="share of the samples with this label ...", xlabel="... that also have this label")
        if k > len(chosen):
            ax.set_title(f"the {len(chosen)} most frequent of {k} labels", fontsize=10)
        return self


class LabelInfluenceDisplay:
    """What finding the component of one label in a sample adds to the log-odds of another.

    Parameters
    ----------
    influence : ndarray of shape (k, k)
        Entry [j, i]: what the component of label i adds to the log-odds of label j, on average where it is found.
    label_names : array-like of shape (k,), optional
    support : array-like of shape (k,), optional
        Number of training samples of each label. If not all labels can be drawn, the most frequent ones are.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(self, *, influence: NDArray[np.float64], label_names: Any = None, support: Any = None) -> None:
        self.influence = influence
        self.label_names = label_names
        self.support = support

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, label_names: Any = None, ax: Any = None, **options: Any) -> Self:
        """Draw the influence of labels in samples ``X``, some hundred, given by a fitted model or pipeline."""
        model, X = last_step(estimator), samples_of_last_step(estimator, X)
        return cls.from_explanation(model.explain_labels(X, label_names=label_names)).plot(ax=ax, **options)

    @classmethod
    def from_explanation(cls, explanation: Any) -> Self:
        """Create the display of ``model.explain_labels(X)`` without drawing it."""
        terms = explanation.terms
        support = [len(rows) for rows in terms.pipelines[0].features.decomposition.rows]
        return cls(influence=explanation.influence, label_names=terms.label_names, support=support)

    def plot(self, ax: Any = None, *, max_labels: int = 40, **options: Any) -> Self:
        """Draw the map: blue where the component of the label of the column speaks for the label of the row.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        max_labels : int, default=40
            The maximum number of labels. The most frequent ones are drawn; labels that speak for each other are
            neighbours.
        **options : dict
            For ``imshow``.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If no component adds anything.
        """
        if not self.influence.any():
            raise ValueError(
                "there is no influence to draw, because no component of a label adds to any log-odds. Either the model "
                'reads labels from the sample alone (its read_from_ has neither "code" nor "norms"), or it finds no '
                "component in these samples."
            )
        k = len(self.influence)
        names = check_names(self.label_names, "label_names", k, range(k))
        support = np.zeros(k) if self.support is None else np.asarray(self.support)
        chosen = np.argsort(-support, kind="stable")[: check_int(max_labels, "max_labels", minimum=1)]
        values = self.influence[np.ix_(chosen, chosen)]
        symmetric = values + values.T
        order = leaves_of(symmetric / max(float(np.abs(symmetric).max()), np.finfo(np.float64).tiny))
        ax = _style.axes_for(self, ax, *_style.heat_map_size(len(order)))
        titles = [names[chosen[i]] for i in order]
        _style.draw_signed_map(ax, values[np.ix_(order, order)], titles, "added to the log-odds", **options)
        ax.set(ylabel="log-odds of this label", xlabel="component of this label")
        if k > len(chosen):
            ax.set_title(f"the {len(chosen)} most frequent of {k} labels", fontsize=10)
        return self

"""Fitted decision trees: the arrays of their nodes, checked so strictly that no sample can lead out of them.

scikit-learn follows the children of nodes in compiled code without a check. So a child must have a larger index than
its parent, which excludes cycles, and be the child of no other node; features must be columns of
the samples. The depth is computed, because scikit-learn reserves memory by it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.persistence._container import CheckedArrays, ModelFileError
from sdgs.persistence.codecs._stored_fields import INTEGER, Output, Source

_INTEGERS = ("left_child", "right_child", "feature", "n_node_samples")
_FLOATS = ("threshold", "impurity", "weighted_n_node_samples")
_FLAGS = ("missing_go_to_left",)
_NO_CHILD, _NO_FEATURE = -1, -2
_SUM_TOL = 1e-6  # of the shares of the classes in a node


def encode_trees(trees: list[Any], name: str, output: Output) -> None:
    """Write the nodes of all trees, one tree after the other."""
    nodes = [tree.__getstate__()["nodes"] for tree in trees]
    if set(nodes[0].dtype.names) != {*_INTEGERS, *_FLOATS, *_FLAGS}:
        raise ModelFileError("this version of sdgs does not know the trees of this version of scikit-learn.")
    output.arrays[f"{name}.sizes"] = np.array([len(each) for each in nodes], dtype=np.int64)
    for part in (*_INTEGERS, *_FLOATS, *_FLAGS):
        output.arrays[f"{name}.{part}"] = np.ascontiguousarray(np.concatenate([each[part] for each in nodes]))
    values = np.concatenate([tree.value for tree in trees])
    output.arrays[f"{name}.values"] = values.reshape(len(values), -1)


def decode_trees(name: str, source: Source) -> list[Any]:
    """The trees, for the sizes ``p`` and ``classes`` (the number of classes of each output)."""
    from sklearn.tree._tree import NODE_DTYPE, Tree

    p, n_classes, arrays = source.sizes["p"], source.sizes["classes"], source.arrays
    n_outputs, most = len(n_classes), max(n_classes)
    sizes = arrays.take(f"{name}.sizes", "i", None)
    if sizes.size == 0 or sizes.min() < 1 or sizes.max() >= 1 << 48:
        raise ValueError(f"{name}.sizes must be positive.")
    nodes = _take_nodes(name, arrays, int(sum(map(int, sizes))), NODE_DTYPE)
    values = arrays.take(f"{name}.values", "f", nodes.size, n_outputs * most).reshape(nodes.size, n_outputs, most)
    _check_values(values, n_classes, name)
    trees = []
    ends = np.cumsum(sizes)
    for start, end in zip(ends - sizes, ends, strict=True):
        part = nodes[start:end]
        _check_nodes(part, p, name)
        tree = Tree(p, np.array(n_classes, dtype=np.intp), n_outputs)
        state = {"max_depth": _depth(part), "node_count": len(part), "nodes": part, "values": values[start:end]}
        tree.__setstate__(state)  # scikit-learn's, which copies the arrays that were checked
        trees.append(tree)
    return trees


def _take_nodes(name: str, arrays: CheckedArrays, n: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    if set(dtype.names or ()) != {*_INTEGERS, *_FLOATS, *_FLAGS}:
        raise ValueError("it has trees, which this version of sdgs cannot make for this version of scikit-learn.")
    if arrays.shape(f"{name}.left_child") != (n,):
        raise ValueError(f"{name}.sizes do not sum to the number of nodes.")
    nodes = np.zeros(n, dtype=dtype)
    for part in _INTEGERS:
        nodes[part] = arrays.take(f"{name}.{part}", "i", n)
    for part in _FLOATS:  # a threshold is infinite where a node only separates missing values
        nodes[part] = arrays.take(f"{name}.{part}", "f", n, finite=part != "threshold")
    for part in _FLAGS:
        flags = arrays.take(f"{name}.{part}", "u", n)
        if flags.size and flags.max() > 1:
            raise ValueError(f"{name}.{part} must be 0 or 1.")
        nodes[part] = flags
    if np.isnan(nodes["threshold"]).any():
        raise ValueError(f"{name}.threshold is NaN.")
    return nodes


def _check_nodes(nodes: NDArray[Any], p: int, name: str) -> None:
    left, right, feature = nodes["left_child"], nodes["right_child"], nodes["feature"]
    is_leaf = left == _NO_CHILD
    inner = np.flatnonzero(~is_leaf)
    children = np.concatenate([left[inner], right[inner]])
    if not (right[is_leaf] == _NO_CHILD).all() or (children <= np.tile(inner, 2)).any():
        raise ValueError(f"{name} has a node whose child does not come after it.")
    if not np.array_equal(np.sort(children), np.arange(1, len(nodes))):
        raise ValueError(f"{name} has a node that is not the child of one other node.")
    if (feature[inner] < 0).any() or (feature[inner] >= p).any() or (feature[is_leaf] != _NO_FEATURE).any():
        raise ValueError(f"{name}.feature is out of range.")
    if (nodes["n_node_samples"] < 0).any() or (nodes["weighted_n_node_samples"] < 0).any():
        raise ValueError(f"{name} has a node with fewer than 0 samples.")


def _check_values(values: NDArray[Any], n_classes: list[int], name: str) -> None:
    """The share of each class of each output in each node."""
    if values.dtype != np.float64 or values.min() < 0 or values.max() > 1 + _SUM_TOL:
        raise ValueError(f"{name}.values must be float64, between 0 and 1.")
    for output, number in enumerate(n_classes):
        if np.abs(values[:, output, :number].sum(axis=1) - 1).max() > _SUM_TOL or values[:, output, number:].any():
            raise ValueError(f"{name}.values do not sum to 1 in each node.")


def _depth(nodes: NDArray[Any]) -> int:
    """The number of edges on the longest path from the first node."""
    left, right = nodes["left_child"].tolist(), nodes["right_child"].tolist()
    depth = [0] * len(left)
    for node, (child, other) in enumerate(zip(left, right, strict=True)):
        if child != _NO_CHILD:
            depth[child] = depth[other] = depth[node] + 1  # a node comes after its parent
    return max(depth)


@dataclass(frozen=True)
class TreeField:
    """``tree_`` of a decision tree."""

    def encode(self, value: Any, name: str, output: Output) -> None:
        """All in arrays."""
        encode_trees([value], name, output)

    def decode(self, content: Any, name: str, source: Source) -> Any:
        """The tree after all checks."""
        trees = decode_trees(name, source)
        if content is not None or len(trees) != 1:
            raise ValueError(f"{name} must be one tree.")
        return trees[0]


@dataclass(frozen=True)
class ForestField:
    """``estimators_`` of a forest: of each tree its nodes and its seed. All else is the same in all trees."""

    def encode(self, value: Any, name: str, output: Output) -> Any:
        """The number of features that each split considered; the rest are arrays."""
        encode_trees([one.tree_ for one in value], name, output)
        output.arrays[f"{name}.seeds"] = np.array([one.random_state for one in value], dtype=np.int64)
        return INTEGER.encode(int(value[0].max_features_), name, output)

    def decode(self, content: Any, name: str, source: Source) -> Any:
        """The trees, seeds and number of features of which ``finish_forest`` makes estimators."""
        trees = decode_trees(name, source)
        seeds = source.arrays.indices(f"{name}.seeds", 1 << 32, len(trees))
        return trees, seeds, INTEGER.decode(content, name, source)


def finish_forest(forest: Any, sizes: dict[str, Any]) -> None:
    """Make the estimators of a forest from what :class:`ForestField` read."""
    from sklearn.base import clone

    trees, seeds, max_features = forest.estimators_
    parameters = {name: getattr(forest, name) for name in forest.estimator_params}
    forest.estimator_, forest.estimators_ = forest.estimator, []
    n_classes, single = sizes["classes"], not isinstance(forest.classes_, list)
    forest.n_outputs_, forest.n_classes_ = len(n_classes), n_classes[0] if single else list(n_classes)
    for tree, seed in zip(trees, seeds.tolist(), strict=True):
        one = clone(forest.estimator).set_params(**parameters | {"random_state": seed})
        one.tree_, one.max_features_, one.n_features_in_ = tree, max_features, sizes["p"]
        codes = [np.arange(number, dtype=np.float64) for number in n_classes]
        one.classes_ = codes[0] if single else codes
        _set_sizes(one, n_classes)
        forest.estimators_.append(one)


def finish_tree(tree: Any, sizes: dict[str, Any]) -> None:
    """Set what follows from the classes of a decision tree."""
    _set_sizes(tree, sizes["classes"])


def _set_sizes(tree: Any, n_classes: list[int]) -> None:
    tree.n_outputs_ = len(n_classes)
    tree.n_classes_ = np.array(n_classes, dtype=np.int64) if isinstance(tree.classes_, list) else np.int64(n_classes[0])

"""Splitters with scikit-learn's interface."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.model_selection import (
    BaseCrossValidator,
    BaseShuffleSplit,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.utils import _safe_indexing, check_consistent_length, check_random_state, indexable
from sklearn.utils.multiclass import type_of_target

from sdgs._utils._label_collections import binarize_label_lists, has_label_lists
from sdgs._utils._unobserved_labels import split_unobserved
from sdgs._utils._validation import check_choice, check_int, check_labels, check_seed, is_data_frame
from sdgs.model_selection._stratify import stratify

Rows = NDArray[np.intp]
Split = tuple[Rows, Rows]


class MultilabelStratifiedKFold(BaseCrossValidator):
    """Folds with the same share of each label, by iterative stratification.

    Parameters
    ----------
    n_splits : int, default=5
        The number of folds.
    shuffle : bool, default=True
        Whether samples are taken in random order, and ties broken at random. If False, the same data always give the
        same folds.
    random_state : int, RandomState instance or None, default=None
        The seed; only if ``shuffle``.
    order : {1, 2}, default=1
        2 stratifies pairs of labels that occur together, too.

    See Also
    --------
    RepeatedMultilabelStratifiedKFold : Several such splits.
    MultilabelStratifiedShuffleSplit : Random splits with a given test size.
    fold_quality : How equal the folds are.

    Notes
    -----
    Sizes of folds differ by at most one, except with ``groups``. A label with fewer samples than folds is missing in
    some folds. Targets with one dimension are classes, and are split by
    :class:`~sklearn.model_selection.StratifiedKFold`, or with ``groups`` by
    :class:`~sklearn.model_selection.StratifiedGroupKFold`.

    Examples
    --------
    >>> import numpy as np
    >>> from sdgs.model_selection import MultilabelStratifiedKFold
    >>> Y = np.array([[1, 0], [1, 1], [1, 0], [1, 1], [0, 0], [0, 0]])
    >>> cv = MultilabelStratifiedKFold(n_splits=2, random_state=0)
    >>> [Y[test].sum(axis=0).tolist() for _, test in cv.split(np.zeros((6, 1)), Y)]
    [[2, 1], [2, 1]]
    """

    __metadata_request__split = {"groups": True}  # noqa: RUF012 (scikit-learn's way to ask for metadata)

    def __init__(self, n_splits: int = 5, *, shuffle: bool = True, random_state: Any = None, order: int = 1) -> None:
        self.n_splits = check_int(n_splits, "n_splits", minimum=2)
        self.shuffle = check_choice(shuffle, "shuffle", (True, False))
        self.order = check_choice(order, "order", (1, 2))
        self.random_state = random_state
        if not shuffle and random_state is not None:
            raise ValueError("random_state has no effect without shuffle. Leave it None, or set shuffle=True.")

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """The number of folds. The arguments exist for compatibility.

        Parameters
        ----------
        X, y, groups : object
            Ignored.

        Returns
        -------
        int
        """
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Rows for training and rows for testing, fold by fold.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples, of which only the number is used.
        y : {array-like, sparse matrix, DataFrame} of shape (n, k) or (n,)
            Labels, 0 or 1, and NaN for unobserved ones, which count as 0; or with one dimension, classes.
        groups : array-like of shape (n,), optional
            Samples with the same value stay together.

        Yields
        ------
        train, test : ndarray
            Row numbers, in order.
        """
        X, y, groups = indexable(X, y, groups)
        if _is_classes(y):
            splitter = StratifiedKFold if groups is None else StratifiedGroupKFold
            for_classes = splitter(self.n_splits, shuffle=self.shuffle, random_state=self.random_state)
            yield from for_classes.split(X, y, groups)
            return
        Y = _labels(y)
        codes = _group_numbers(groups)
        _check_enough(self.n_splits, Y.shape[0] if codes is None else int(codes.max()) + 1, codes is not None)
        size, n_spare = divmod(Y.shape[0], self.n_splits)
        seed = check_seed(self.random_state) if self.shuffle else None
        folds = stratify(Y, np.full(self.n_splits, size), n_spare=n_spare, seed=seed, order=self.order, groups=codes)
        for fold in range(self.n_splits):
            yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)


class RepeatedMultilabelStratifiedKFold(BaseCrossValidator):
    """Several :class:`MultilabelStratifiedKFold` with different random numbers.

    Parameters
    ----------
    n_splits : int, default=5
        The number of folds.
    n_repeats : int, default=10
        The number of times that samples are split into folds.
    random_state : int, RandomState instance or None, default=None
        The seed.
    order : {1, 2}, default=1
        2 stratifies pairs of labels that occur together, too.

    See Also
    --------
    MultilabelStratifiedKFold : One such split.

    Examples
    --------
    >>> from sdgs.model_selection import RepeatedMultilabelStratifiedKFold
    >>> RepeatedMultilabelStratifiedKFold(n_splits=5, n_repeats=2).get_n_splits()
    10
    """

    __metadata_request__split = {"groups": True}  # noqa: RUF012

    def __init__(self, n_splits: int = 5, *, n_repeats: int = 10, random_state: Any = None, order: int = 1) -> None:
        self.n_splits = check_int(n_splits, "n_splits", minimum=2)
        self.n_repeats = check_int(n_repeats, "n_repeats", minimum=1)
        self.order = check_choice(order, "order", (1, 2))
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """The number of folds times the number of repeats. The arguments exist for compatibility.

        Parameters
        ----------
        X, y, groups : object
            Ignored.

        Returns
        -------
        int
        """
        return self.n_splits * self.n_repeats

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Rows for training and rows for testing, fold by fold.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples, of which only the number is used.
        y : {array-like, sparse matrix, DataFrame} of shape (n, k) or (n,)
            Labels, 0 or 1, and NaN for unobserved ones, which count as 0; or with one dimension, classes.
        groups : array-like of shape (n,), optional
            Samples with the same value stay together.

        Yields
        ------
        train, test : ndarray
            Row numbers, in order.
        """
        rng = check_random_state(check_seed(self.random_state))
        for seed in rng.randint(np.iinfo(np.int32).max, size=self.n_repeats).tolist():
            yield from MultilabelStratifiedKFold(self.n_splits, random_state=seed, order=self.order).split(X, y, groups)


class MultilabelStratifiedShuffleSplit(BaseShuffleSplit):
    """Random splits in which training and test samples have the same share of each label.

    Parameters
    ----------
    n_splits : int, default=10
        The number of splits. Each is drawn anew, so that a sample may be tested in several of them.
    test_size : float or int, optional
        The share of the samples, or their number; by default the rest of ``train_size``, or 0.1. With ``groups`` the
        size is approximate.
    train_size : float or int, optional
        Likewise; by default the rest of ``test_size``.
    random_state : int, RandomState instance or None, default=None
        The seed.
    order : {1, 2}, default=1
        2 stratifies pairs of labels that occur together, too.

    See Also
    --------
    multilabel_train_test_split : One such split of arrays.

    Notes
    -----
    Targets with one dimension are classes, and are split by
    :class:`~sklearn.model_selection.StratifiedShuffleSplit`, or with ``groups`` as one label per class.

    Examples
    --------
    >>> import numpy as np
    >>> from sdgs.model_selection import MultilabelStratifiedShuffleSplit
    >>> Y = np.tile([[1, 0], [1, 1], [0, 0], [0, 1]], (5, 1))
    >>> cv = MultilabelStratifiedShuffleSplit(n_splits=1, test_size=0.2, random_state=0)
    >>> [Y[test].sum(axis=0).tolist() for _, test in cv.split(Y, Y)]
    [[2, 2]]
    """

    __metadata_request__split = {"groups": True}  # noqa: RUF012

    def __init__(
        self,
        n_splits: int = 10,
        *,
        test_size: Any = None,
        train_size: Any = None,
        random_state: Any = None,
        order: int = 1,
    ) -> None:
        super().__init__(
            n_splits=check_int(n_splits, "n_splits", minimum=1),
            test_size=test_size,
            train_size=train_size,
            random_state=random_state,
        )
        self.order = check_choice(order, "order", (1, 2))

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Rows for training and rows for testing, split by split.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples, of which only the number is used.
        y : {array-like, sparse matrix, DataFrame} of shape (n, k) or (n,)
            Labels, 0 or 1, and NaN for unobserved ones, which count as 0; or with one dimension, classes.
        groups : array-like of shape (n,), optional
            Samples with the same value stay together.

        Yields
        ------
        train, test : ndarray
            Row numbers, in random order.
        """
        X, y, groups = indexable(X, y, groups)
        sizes = {"test_size": self.test_size, "train_size": self.train_size}
        if _is_classes(y) and groups is None:
            yield from StratifiedShuffleSplit(self.n_splits, **sizes, random_state=self.random_state).split(X, y)
            return
        Y = _labels(y)
        codes = _group_numbers(groups)
        # scikit-learn's rules for sizes, and its errors
        train, test = next(ShuffleSplit(1, **sizes, random_state=0).split(np.empty((Y.shape[0], 0))))
        room = np.array([test.size, train.size, Y.shape[0] - test.size - train.size])
        room = room if room[2] else room[:2]
        if codes is not None:
            _check_enough(room.size, int(codes.max()) + 1, has_groups=True)
        rng = check_random_state(check_seed(self.random_state))
        for seed in rng.randint(np.iinfo(np.int32).max, size=self.n_splits).tolist():
            folds = stratify(Y, room, seed=seed, order=self.order, groups=codes)
            shuffled = np.random.default_rng(seed).permutation(Y.shape[0])
            yield shuffled[folds[shuffled] == 1], shuffled[folds[shuffled] == 0]


def multilabel_train_test_split(
    *arrays: Any,
    stratify: Any,
    groups: Any = None,
    test_size: Any = None,
    train_size: Any = None,
    random_state: Any = None,
    order: int = 1,
) -> list[Any]:
    """Split arrays into training and test samples that have the same share of each label.

    Parameters
    ----------
    *arrays : indexables of the same length
        Lists, arrays, sparse matrices or DataFrames.
    stratify : {array-like, sparse matrix, DataFrame} of shape (n, k) or (n,)
        Labels, 0 or 1, and NaN for unobserved ones, which count as 0; or with one dimension, classes.
    groups : array-like of shape (n,), optional
        Samples with the same value stay together.
    test_size : float or int, optional
        The share of the samples, or their number; by default the rest of ``train_size``, or 0.25.
    train_size : float or int, optional
        Likewise; by default the rest of ``test_size``.
    random_state : int, RandomState instance or None, default=None
        The seed.
    order : {1, 2}, default=1
        2 stratifies pairs of labels that occur together, too.

    Returns
    -------
    list
        For each array the training samples, then the test samples.

    Examples
    --------
    >>> import numpy as np
    >>> from sdgs.model_selection import multilabel_train_test_split
    >>> X, Y = np.arange(24), np.tile([[1, 0], [1, 1], [0, 0], [0, 1]], (6, 1))
    >>> X_train, X_test, Y_train, Y_test = multilabel_train_test_split(X, Y, stratify=Y, random_state=0)
    >>> Y_train.shape, Y_test.mean(axis=0).tolist()
    ((18, 2), [0.5, 0.5])
    """
    if not arrays:
        raise ValueError("Pass at least one array to split.")
    check_consistent_length(*arrays, stratify)
    if test_size is None and train_size is None:
        test_size = 0.25
    splitter = MultilabelStratifiedShuffleSplit(
        1, test_size=test_size, train_size=train_size, random_state=random_state, order=order
    )
    indexed = indexable(*arrays)
    train, test = next(splitter.split(indexed[0], stratify, groups))
    return [_safe_indexing(array, rows) for array in indexed for rows in (train, test)]


def _is_classes(y: Any) -> bool:
    """Whether the target has one dimension; an error if there is none."""
    if y is None:
        raise ValueError("y must be given: the labels are what is stratified.")
    return not issparse(y) and not has_label_lists(y) and not is_data_frame(y) and np.ndim(y) == 1


def _labels(y: Any) -> csr_array:
    """The labels as boolean CSR with sorted indices; classes become one label per class.

    Samples do not count as having a label that is unobserved.
    """
    if _is_classes(y):
        kind = type_of_target(y)
        if kind not in ("binary", "multiclass"):
            raise ValueError(f"y with one dimension must hold classes, got {kind} values.")
        classes, codes = np.unique(np.asarray(y), return_inverse=True)
        return csr_array((np.ones(codes.size, dtype=bool), (np.arange(codes.size), codes)), (codes.size, classes.size))
    if has_label_lists(y):
        return binarize_label_lists(y, "y")[0]
    Y = csr_array(check_labels(split_unobserved(y, "y")[0], name="y", some_positive=False))
    Y.sort_indices()
    return Y


def _group_numbers(groups: Any) -> NDArray[np.int64] | None:
    """Groups as numbers from 0."""
    if groups is None:
        return None
    codes: NDArray[np.int64] = np.unique(np.asarray(groups), return_inverse=True)[1].astype(np.int64).ravel()
    return codes


def _check_enough(n_splits: int, n_units: int, has_groups: bool) -> None:
    if n_units < n_splits:
        raise ValueError(
            f"There are {n_units} {'groups' if has_groups else 'samples'}, which is fewer than the {n_splits} parts to "
            "split into. Choose fewer."
        )

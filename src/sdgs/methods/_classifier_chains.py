"""Classifier chains, ensembles of them, and probabilistic inference in them."""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._validation import check_choice, check_int, check_number
from sdgs.methods._base_learners import (
    LEARNER_FIELD,
    MAX_SEED,
    Array,
    FittedLearner,
    ProblemTransformation,
    check_learner,
    fit_learner,
    in_threads,
    rows_of,
)
from sdgs.methods._chain_inference import (
    FittedChain,
    LabelDistribution,
    beam_search,
    greedy,
    latin_hypercube,
    mixture,
    monte_carlo,
    with_labels,
)
from sdgs.persistence.codecs._stored_fields import INTEGER, NUMBER, ArrayField, Fields, ListField, RecordField
from sdgs.selection._defaults import EXACT_CHAIN_LABELS, MAX_EXACT_CHAIN_LABELS

DECISIONS = ("greedy", "mode", "marginals", "f1")
INFERENCES = ("auto", "exact", "beam", "monte_carlo")
_BLOCK_SETS = 1 << 18  # label sets that are held at a time


_CHAIN_FIELD = RecordField(
    FittedChain,
    {"order": ArrayField("i", ("k",), below="k"), "links": ListField(LEARNER_FIELD, "k"), "label_weight": NUMBER},
)


class ClassifierChains(ProblemTransformation):
    r"""Classifier chains (Read et al., 2009), ensembles of them, and probabilistic ones (Dembczynski et al., 2010).

    Link t of a chain learns label :math:`\pi_t` from the features and the true labels :math:`\pi_1, ..., \pi_{t-1}`, so
    that a chain describes the joint distribution of the labels:

    .. math:: P(y \mid x) = \prod_t P(y_{\pi_t} \mid x, y_{\pi_1}, ..., y_{\pi_{t-1}})

    The classic chain predicts one label after the other and takes earlier predictions for true. The other decisions
    compute with the joint distribution. Use them if labels depend on each other and what is wanted is a measure of
    label sets: F1 or the share of samples whose labels are all right.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The binary base learner; None for :class:`~sklearn.linear_model.LogisticRegression` with ``max_iter=1000``.
        Without ``predict_proba`` the logistic function of its ``decision_function`` is taken for a probability.
    n_chains : int, default=1
        Chains of the ensemble, whose probabilities are averaged; the literature has 10. Joint distributions are
        averaged before the decision.
    order : "random", array-like of shape (k,) or (n_chains, k), or None, default=None
        The order of the labels in each chain, as indices of columns. None is the order of the columns for a single
        chain, and "random" for several.
    bootstrap : bool, default=True
        Whether each of several chains learns from samples drawn with replacement. A single chain learns from all.
    max_samples : float, default=1.0
        Share of the samples that each of several chains learns from.
    decision : {"greedy", "mode", "marginals", "f1"}, default="greedy"
        - "greedy": link after link, with labels predicted before as features. The scores are the probabilities given
          those labels.
        - "mode": the most probable label set, best for the share of samples whose labels are all right.
        - "marginals": labels with a probability above one half, best for the Hamming loss.
        - "f1": the label set with the largest expected F1 (Dembczynski et al., 2011).

        The scores of the last three are the probabilities of the labels under the joint distribution.
    inference : {"auto", "exact", "beam", "monte_carlo"}, default="auto"
        How the joint distribution is found, unless the decision is "greedy". "exact" takes all label sets, for at most
        15 labels that are not constant; "beam" the most probable ones that a beam search finds; "monte_carlo" draws
        some along the chain. "auto" is "exact" for up to 10 labels, else "beam" for "mode", and "monte_carlo" for
        "marginals" and "f1".
    beam_width : int, default=10
        Label sets per sample and chain in the beam search. The mode with width 1 is the greedy prediction.
    n_draws : int, default=100
        Label sets per sample and chain that "monte_carlo" draws.
    label_weight : float, default=1.0
        The value of a present label as a feature. It should be about as large as typical entries of X, because most
        base learners penalise coefficients: with unit-norm text rows 1 is large.
    random_state : int, RandomState instance or None, default=None
        For orders, samples and draws. Sets the ``random_state`` of the base learners too, unless it is None.
    n_jobs : int or None, default=None
        Links that are fitted, and chains that predict, at the same time.

    Attributes
    ----------
    order_ : ndarray of shape (n_chains, k)
    estimators_ : list of lists of classifiers
        Those of each chain, in its order; None for a label that is constant in training.
    classes_ : ndarray of shape (k,)

    Notes
    -----
    Several chains draw their samples without regard to weights, which then count in the fits. So there a sample of
    weight 2 is not drawn as two equal samples are; on average the result is the same.

    k fits per chain, with up to k - 1 more features than in binary relevance. Prediction takes k predictions for every
    label set that is followed; with logistic regression features are read once per label only.

    Examples
    --------
    >>> from sdgs.datasets import make_label_subspaces
    >>> from sdgs.methods import ClassifierChains
    >>> data = make_label_subspaces(200, 10, 4, random_state=0)
    >>> chains = ClassifierChains(n_chains=5, decision="f1", random_state=0).fit(data.X, data.Y)
    >>> chains.predict(data.X).shape
    (200, 4)
    """

    _stored_attributes: ClassVar[Fields] = {"_chains": ListField(_CHAIN_FIELD), "_draw_seed": INTEGER}

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_chains: int = 1,
        order: Any = None,
        bootstrap: bool = True,
        max_samples: float = 1.0,
        decision: str = "greedy",
        inference: str = "auto",
        beam_width: int = 10,
        n_draws: int = 100,
        label_weight: float = 1.0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_chains = n_chains
        self.order = order
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.decision = decision
        self.inference = inference
        self.beam_width = beam_width
        self.n_draws = n_draws
        self.label_weight = label_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("n_chains", "beam_width", "n_draws"):
            check_int(getattr(self, name), name, minimum=1)
        check_choice(self.bootstrap, "bootstrap", (True, False))
        if check_number(self.max_samples, "max_samples", positive=True) > 1:
            raise ValueError(f"max_samples must be a share in (0, 1], got {self.max_samples!r}.")
        check_choice(self.decision, "decision", DECISIONS)
        check_choice(self.inference, "inference", INFERENCES)
        check_number(self.label_weight, "label_weight", positive=True)

    def _fit_learners(self, X: Any, labels: Any, sample_weight: Any, rng: np.random.Generator) -> None:
        n, k = labels.shape
        Y = labels.toarray()
        self.order_ = _chain_orders(self.order, self.n_chains, k, rng)
        self._chains = []
        for order in self.order_:
            rows = self._training_rows(n, rng)
            links = _fit_links(
                self.estimator,
                rows_of(X, rows),
                Y[rows][:, order],
                self.label_weight,
                self._draw_seeds(rng, k),
                self.n_jobs,
                None if sample_weight is None else sample_weight[rows],
            )
            self._chains.append(FittedChain(order, links, float(self.label_weight)))
        self._draw_seed = int(rng.integers(MAX_SEED))
        self.estimators_ = [[link.estimator for link in chain.links] for chain in self._chains]

    def _finish_loading(self) -> None:
        if not self._chains:
            raise ValueError("a ClassifierChains in it has no chain.")
        for chain in self._chains:
            if np.unique(chain.order).size != len(self.classes_):
                raise ValueError("a chain in it is not a permutation of the labels.")
            for t, link in enumerate(chain.links):
                check_learner(link, self.n_features_in_ + t)
        self.order_ = np.stack([chain.order for chain in self._chains])
        self.estimators_ = [[link.estimator for link in chain.links] for chain in self._chains]

    def _training_rows(self, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
        if self.n_chains == 1:
            return np.arange(n)
        size = max(round(self.max_samples * n), 1)
        return np.sort(rng.integers(n, size=size) if self.bootstrap else rng.permutation(n)[:size])

    def _marginals(self, X: Any) -> Array:
        if self.decision == "greedy":
            by_chain = in_threads(self.n_jobs, greedy, ((chain, X) for chain in self._chains))
            return np.asarray(np.mean(by_chain, axis=0))
        return np.concatenate([distribution.marginals for distribution in self._distributions(X)])

    def _best_sets(self, X: Any) -> NDArray[np.bool_]:
        decisions: dict[str, Callable[[LabelDistribution], NDArray[np.bool_]]] = {
            "mode": LabelDistribution.mode,
            "f1": LabelDistribution.best_expected_f1,
        }
        if self.decision not in decisions:
            return self._decide(self._marginals(X))
        return np.concatenate([decisions[self.decision](each) for each in self._distributions(X)])

    def _distributions(self, X: Any) -> Iterator[LabelDistribution]:
        """The joint distributions of successive rows."""
        inference = self._resolve_inference()
        n_free = max(chain.n_free for chain in self._chains)
        n_sets = {"exact": 1 << n_free, "beam": 2 * self.beam_width, "monte_carlo": self.n_draws}[inference]
        rng, k = np.random.default_rng(self._draw_seed), len(self.classes_)
        draws = [latin_hypercube(rng, self.n_draws, k) if inference == "monte_carlo" else None for _ in self._chains]

        def infer(chain: FittedChain, uniforms: Array | None, block: Any) -> LabelDistribution:
            if uniforms is not None:
                return monte_carlo(chain, block, uniforms)
            return beam_search(chain, block, self.beam_width if inference == "beam" else None)

        step = max(_BLOCK_SETS // (n_sets * len(self._chains)), 1)
        for start in range(0, X.shape[0], step):
            block = X if step >= X.shape[0] else X[start : start + step]
            arguments = ((chain, uniforms, block) for chain, uniforms in zip(self._chains, draws, strict=True))
            yield mixture(in_threads(self.n_jobs, infer, arguments))

    def _resolve_inference(self) -> str:
        n_free = max(chain.n_free for chain in self._chains)
        if self.inference == "auto":
            if n_free <= EXACT_CHAIN_LABELS:
                return "exact"
            return "beam" if self.decision == "mode" else "monte_carlo"
        if self.inference == "exact" and n_free > MAX_EXACT_CHAIN_LABELS:
            raise ValueError(
                f'inference="exact" follows all label sets, for at most {MAX_EXACT_CHAIN_LABELS} labels, and {n_free} '
                'labels are not constant. Use "beam" or "monte_carlo".'
            )
        return self.inference


def _fit_links(
    estimator: Any,
    X: Any,
    Y: NDArray[np.bool_],
    label_weight: float,
    seeds: list[int | None],
    n_jobs: int | None,
    sample_weight: Any,
) -> list[FittedLearner]:
    """One learner per column of Y, from X and the columns before it."""

    def fit_link(t: int, seed: int | None) -> FittedLearner:
        y = Y[:, t]
        is_constant = bool((y == y[0]).all())
        inputs = X if is_constant else with_labels(X, Y[:, :t], label_weight)
        return fit_learner(estimator, inputs, y, seed=seed, sample_weight=sample_weight)

    return in_threads(n_jobs, fit_link, enumerate(seeds))


def _chain_orders(order: Any, n_chains: int, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """One permutation of the labels per chain, (n_chains, k)."""
    if isinstance(order, str):
        check_choice(order, "order", ("random",))
    if order is None and n_chains == 1:
        return np.arange(k)[None, :]
    if order is None or isinstance(order, str):
        return np.array([rng.permutation(k) for _ in range(n_chains)])
    orders = np.atleast_2d(np.asarray(order))
    if orders.shape not in ((1, k), (n_chains, k)) or not (np.sort(orders, axis=1) == np.arange(k)).all():
        raise ValueError(
            f"order must be a permutation of the {k} labels' indices, 0 to {k - 1}, or one per chain: shape ({k},) or "
            f"({n_chains}, {k}); got shape {np.shape(order)}."
        )
    return np.broadcast_to(orders, (n_chains, k)).astype(np.intp)

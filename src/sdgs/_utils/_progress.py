"""What a fit is at, told to scikit-learn's callbacks, where it has them, and to whoever else wants to know."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Any) -> Any:
        """The method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "Listener", "Task", "with_callbacks"]

Item = TypeVar("Item")
Listener = Callable[[float, str], None]  # is told which share of a fit is done, and a few words


class Task:
    """A part of a fit, which may have parts itself.

    Each begins and ends once, and the shares that they have of the time are guesses. Without an estimator nobody is
    told.
    """

    def __init__(self, estimator: Any = None, context: Any = None, share: float = 1.0, n_parts: int = 1) -> None:
        self._estimator, self._context = estimator, context
        self._share, self._n_parts, self._done = share, n_parts, 0.0
        self._parent: Task | None = None
        self._words = ""

    @contextmanager
    def part(self, name: str, n_parts: int | None = 0, share: float | None = None) -> Iterator["Task"]:
        """One of the parts, with so many parts of its own at most (None: nobody knows), and this share of the whole."""
        context = None
        if self._context is not None:
            context = self._context.subcontext(task_name=name, max_subtasks=n_parts)
            context.call_on_fit_task_begin(estimator=self._estimator)
        mine = self._share * (1 / self._n_parts if share is None else share)
        part = Task(self._estimator, context, mine, n_parts or 1)
        part._parent = self
        yield part
        if context is not None:
            context.call_on_fit_task_end(estimator=self._estimator)
        part._advance(mine - part._done)  # whatever its parts did not come to
        self.say()

    def each(self, name: str, items: Iterable[Item]) -> Iterator[Item]:
        """The items, each as a part."""
        for item in items:
            with self.part(name):
                yield item

    def say(self, words: str | None = None) -> None:
        """Tell how far the fit is, with the words that were said last."""
        root = self
        while root._parent is not None:
            root = root._parent
        root._words = root._words if words is None else words
        listener: Listener | None = getattr(self._estimator, "_progress", None)
        if listener is not None:
            listener(root._done, root._words)

    def _advance(self, by: float) -> None:
        task: Task | None = self
        while task is not None:
            task._done += by
            task = task._parent

"""Progress of a fit, for scikit-learn's callbacks (where scikit-learn has them) and for a listener."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Supports nothing."""

    def with_callbacks(method: Any) -> Any:
        """The method itself."""
        return method


__all__ = ["CallbackSupportMixin", "Listener", "Task", "with_callbacks"]

Item = TypeVar("Item")
Listener = Callable[[float, str], None]  # gets the share of a fit that is done, and a message


class Task:
    """A part of a fit, which may have parts itself.

    Each part begins and ends once; its share of the time is an estimate. Without an estimator nothing is reported.
    """

    def __init__(self, estimator: Any = None, context: Any = None, share: float = 1.0, n_parts: int = 1) -> None:
        self._estimator, self._context = estimator, context
        self._share, self._n_parts, self._done = share, n_parts, 0.0
        self._parent: Task | None = None
        self._message = ""

    @contextmanager
    def part(self, name: str, n_parts: int | None = 0, share: float | None = None) -> Iterator["Task"]:
        """A part that has at most ``n_parts`` parts itself (None: unknown), and this share of the task."""
        context = None
        if self._context is not None:
            context = self._context.subcontext(task_name=name, max_subtasks=n_parts)
            context.call_on_fit_task_begin(estimator=self._estimator)
        part_share = self._share * (1 / self._n_parts if share is None else share)
        part = Task(self._estimator, context, part_share, n_parts or 1)
        part._parent = self
        yield part
        if context is not None:
            context.call_on_fit_task_end(estimator=self._estimator)
        part._advance(part_share - part._done)  # what its own parts did not add up to
        self.report()

    def each(self, name: str, items: Iterable[Item]) -> Iterator[Item]:
        """The items, each as a part."""
        for item in items:
            with self.part(name):
                yield item

    def report(self, message: str | None = None) -> None:
        """Report the progress of the whole fit, with this message or the last one."""
        root = self
        while root._parent is not None:
            root = root._parent
        root._message = root._message if message is None else message
        listener: Listener | None = getattr(self._estimator, "_progress", None)
        if listener is not None:
            listener(root._done, root._message)

    def _advance(self, share: float) -> None:
        task: Task | None = self
        while task is not None:
            task._done += share
            task = task._parent

"""Search for the best candidate along one parameter after the other."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sdgs.readout._parameters import PipelineParameters
from sdgs.selection._candidate import CVResult
from sdgs.selection._defaults import MIN_GAIN


def coordinate_search(
    start: PipelineParameters,
    axes: Sequence[tuple[str, Sequence[Any]]],
    evaluate: Callable[[PipelineParameters], CVResult],
    is_worthwhile: Callable[[PipelineParameters, CVResult], bool] = lambda *_: True,
) -> tuple[CVResult, list[CVResult]]:
    """The best candidate found, and all that were evaluated.

    On each axis, a parameter and its ordered values, the search goes up from the current value while that gains at
    least ``MIN_GAIN``, and if it gained nothing, down. Candidates that are not worthwhile, given the best so far, are
    skipped.
    """
    best = evaluate(start)
    evaluated = {start: best}
    for name, values in axes:
        start_index = values.index(getattr(best.parameters, name))
        for step in (1, -1):
            index = start_index + step
            while 0 <= index < len(values):
                candidate = replace(best.parameters, **{name: values[index]})
                if candidate not in evaluated:
                    if not is_worthwhile(candidate, best):
                        index += step
                        continue
                    evaluated[candidate] = evaluate(candidate)
                result = evaluated[candidate]
                if result.value < best.value + MIN_GAIN:
                    break
                best, index = result, index + step
            if getattr(best.parameters, name) != values[start_index]:
                break
    return best, list(evaluated.values())

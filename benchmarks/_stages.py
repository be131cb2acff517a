"""Where the time of a fit goes: functions of the library are replaced by ones that add up their time."""

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from time import perf_counter
from typing import Any

STAGES = {
    "decompose": ("readout._features.decompose_samples",),
    "code": ("readout._features.ReadoutFeatures.encode",),
    "kernel": ("readout._landmark_kernel.fit_landmark_kernel", "readout._landmark_kernel.LandmarkKernel.transform"),
    "ridge": ("readout._ridge.prepare_ridge", "readout._ridge._solve", "readout._ridge.DualRidge._products"),
    "scores": ("readout._ridge.Ridge.scores",),
    "calibrate": ("readout._calibration.fit_calibrations",),
    "decide": ("readout._decision.Decision.decide", "readout._decision.metric_value"),
}
FLOOR = ("decompose", "code", "kernel", "ridge")  # the arithmetic that no other way to choose and calibrate can avoid


@contextmanager
def stage_times() -> Iterator[dict[str, float]]:
    """Seconds of each stage inside the block, without those of stages that it calls; for code on one thread."""
    seconds: dict[str, float] = defaultdict(float)
    inner: list[float] = []

    def timed(function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            start = perf_counter()
            inner.append(0.0)
            try:
                return function(*args, **kwargs)
            finally:
                elapsed = perf_counter() - start
                seconds[stage] += elapsed - inner.pop()
                if inner:
                    inner[-1] += elapsed

        return wrapper

    replaced = []
    for stage, paths in STAGES.items():
        for path in paths:
            module_name, *owners, name = _split(path)
            owner = import_module(module_name)
            for attribute in owners:
                owner = getattr(owner, attribute)
            function = getattr(owner, name)
            holders = [owner] if owners else _modules_with(name, function)
            for holder in holders:
                replaced.append((holder, name, function))
                setattr(holder, name, timed(function, stage))
    try:
        yield seconds
    finally:
        for holder, name, function in replaced:
            setattr(holder, name, function)


def _split(path: str) -> list[str]:
    """The module, the class if there is one, and the name of the function."""
    parts = path.split(".")
    return [".".join(["sdgs", *parts[:2]]), *parts[2:]]


def _modules_with(name: str, function: Any) -> list[Any]:
    """The loaded modules of the library that have imported a function."""
    modules = [module for key, module in list(sys.modules.items()) if key.startswith("sdgs") and module is not None]
    return [module for module in modules if vars(module).get(name) is function]

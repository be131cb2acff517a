"""How measures are shown: shares in percent, others as they are."""

from sdgs.metrics import ALL_METRICS

_NOT_SHARES = ("coverage", "coverage_error", "log_loss")


def factor(metric: str) -> float:
    """What a value is multiplied by to be shown."""
    return 1.0 if metric in _NOT_SHARES else 100.0


def digits(metric: str) -> int:
    """Digits after the point: one of a share, two of a loss, which is small."""
    return 1 if ALL_METRICS[metric].greater_is_better else 2


def titled(metric: str, *, arrow: bool = True) -> str:
    """The title of a measure, its unit, and whether greater or smaller is better."""
    direction = "↑" if ALL_METRICS[metric].greater_is_better else "↓"
    unit = " %" if factor(metric) == 100 else ""
    return f"{ALL_METRICS[metric].title}{unit}{f' {direction}' if arrow else ''}"

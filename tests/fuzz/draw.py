"""Random choices, odd names and odd numbers."""

import numpy as np

ODD_NAMES = (
    "a,b",
    "a;b",
    "a|b",
    "a\tb",
    "two words",
    "it's",
    'say "x"',
    "back\\slash",
    "dise\\~no",
    "100%",
    "%comment",
    "what?",
    "?",
    "{x}",
    "[odd]",
    "[/red]",
    "*",
    "c=a",
    "=1+1",
    "$a_{$",
    "$",
    "naïve",
    "日本語",
    "\u202eright to left",
    "e\u0301",
    "é",
    "😀",
    "<b>bold</b>",
    "</script><script>alert(1)</script>",
    "<!--",
    "&amp;",
    "{{7*7}}",
    "{% raw %}",
    "%s%d",
    "{0.__class__}",
    "../../escape",
    "/etc/passwd",
    "-C",
    "--output",
    "-",
    "nan",
    "inf",
    "none",
    "True",
    "1",
    "0",
    "1e5",
    "class",
    "sample",
    "labels",
    "__proto__",
    "constructor",
    "x" * 300,
)
CONTROL_NAMES = (
    "\x1b]0;title\x07",
    "\x1b[2J",
    "a\nb",
    "a\r\nb",
    "nul\x00",
    "\x7f",
    "\x9b31m",
    "\u2028",
    "\ufeffbom",
    "",
)
SURROGATE_NAMES = ("\ud800", "a\udcff")  # JSON can hold them, UTF-8 cannot
_PLAIN_NAMES = (*"abcdefgh", "Label1", "f_0", "is_calm", "tempo")
_NUMBERS = (0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 1e-5, 1e-310, 1e15, 1e22, -2.5e-8, 123456.789, 1e300, 2.0**53)


def chance(rng, probability):
    """True with this probability."""
    return bool(rng.random() < probability)


def pick(rng, options):
    """One of the options."""
    return options[int(rng.integers(len(options)))]


def name(rng, *, odd=0.4, pool=ODD_NAMES):
    """A plain name or, with probability ``odd``, one of the pool."""
    return pick(rng, pool) if chance(rng, odd) else pick(rng, _PLAIN_NAMES)


def distinct_names(rng, n, *, odd=0.4, pool=ODD_NAMES, allowed=lambda _: True):
    """Different names that are allowed."""
    names = {}
    while len(names) < n:
        new = name(rng, odd=odd, pool=pool)
        if new in names or not allowed(new):
            new = f"n{rng.integers(10**6)}"
        names[new] = None
    return list(names)


def number(rng):
    """A finite number, often a round or an extreme one."""
    return pick(rng, _NUMBERS) if chance(rng, 0.3) else round(float(rng.normal()), int(rng.integers(1, 17)))


def is_number(text):
    """Whether Python reads the text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def generator(seed, target, case):
    """The random numbers of a case."""
    return np.random.default_rng([seed, case, *target.encode()])

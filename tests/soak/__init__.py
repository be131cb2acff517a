"""Long runs: nothing grows, and answers stay the same. See ``__main__.py``."""

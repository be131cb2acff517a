"""The fuzzer: random and damaged files of every kind must give a valid result or a clean error. See ``__main__.py``."""

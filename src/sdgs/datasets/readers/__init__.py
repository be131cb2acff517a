"""Readers of data files. `_read` and `_read_blocks` choose among them by the format."""

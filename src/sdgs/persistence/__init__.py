"""Files: atomic writes, a container of arrays and JSON, checkpoints."""

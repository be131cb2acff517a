"""Choosing hyper-parameters by cross-validation."""

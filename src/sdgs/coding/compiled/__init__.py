"""Solvers for one row at a time, compiled by Numba."""

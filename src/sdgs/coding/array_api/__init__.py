"""The same solvers for many rows at once, in the array API standard."""

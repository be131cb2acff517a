"""The predictor of exported files: NumPy alone, and no module of this package outside this folder.

:mod:`sdgs.deployment._numpy_file` copies these modules into the file, so that it runs where nothing else is installed.
They compute what the library computes, step by step: an iterative solver stops at a tolerance, so that only the same
steps give the same code.
"""

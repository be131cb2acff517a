"""The command line, which prints what other modules compute."""

from sdgs.cli._app import app, main

__all__ = ["app", "main"]

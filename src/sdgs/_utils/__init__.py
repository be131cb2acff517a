"""Helpers that every layer uses; they import nothing from the layers above."""

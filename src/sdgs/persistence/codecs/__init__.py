"""Fitted models as JSON and arrays, and back."""

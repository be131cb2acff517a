"""Choosing hyper-parameters by cross-validation.

Empty on purpose: `sdgs.selection._defaults` is a layer below `sdgs.readout`, and the rest of this package one above it.
"""

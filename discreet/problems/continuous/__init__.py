"""Continuous measurements: the paper's infinite-dimensional problems for a one-dimensional Z, as
data and as proof.
"""

"""Measures of leakage: what an estimator reveals, and the mathematics that bounds it."""

"""Arithmetic of the judge and the solvers: double-double sums, outward rounding, sums over
outcomes.
"""

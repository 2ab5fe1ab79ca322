"""Continuous measurements: the paper's infinite-dimensional problems for a one-dimensional Z, as data and as proof.

density      densities that are monotone between known points, mixtures of them, and their checks
modes        where the densities of scipy.stats turn
model        the problem: min ⟨L, P⟩ over rules P(z), leakage at most ε
rule         a rule: finitely many intervals with a label (or a randomisation) each
bound        the integral of the least tilted loss, from below, by certified subdivision
"""

"""`tilt`, the project's own solver: a structured interior point whose cost per iteration is a few passes over the outcomes.

model           the problem in coordinates that do not cancel
newton          one step, with all outcomes eliminated
interior_point  the iteration
vertex          labels and ties, and the square system that determines the rest
pivots          the vertex next to labels and ties that are nearly right
finish          from an interior solution to the vertex: deterministic but for the ties
crossover       from a point that is nearly optimal to the vertex next to it: the way in
condense        outcomes too rare to matter, put together
cells           what outcomes that are summed have in common
kernels         the passes over many outcomes, in NumPy and compiled
strips          the compiled pass
sampling        a sample of the outcomes to start from
aggregation     many outcomes through few: aggregate, solve, certify, shrink
statement       what the rounds found, stated as a rule
streaming       problems in blocks that are never all in memory: rounds, rule, judge
follow          another budget of a model whose neighbours are solved
rescue          entropic proximal sweeps where the interior point does not converge
backend         all of it behind the contract of a backend
"""

from discreet.backends.tilt.backend import Tilt

__all__ = ["Tilt"]

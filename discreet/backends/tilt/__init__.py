"""`tilt`, the project's own solver: a structured interior point whose cost per iteration is a few
passes over the outcomes.

model           the problem in coordinates that do not cancel
charts          how tilts follow the law, also under several constraints; families: under each
                measure
newton          one step, with all outcomes eliminated
interior_point  the iteration
vertex          labels and ties, and the square system that determines the rest
crossover       from nearly known duals to the vertex: deterministic but for the ties
point           what goes through all of it: points, endings, groupings
passes          one pass over the outcomes, in NumPy; cells: the same compiled
rounds          many outcomes through few: aggregate, solve, certify, shrink
statement       what the rounds found, stated as a rule
backend         all of it behind the contract of a backend; budgets next to solved ones
"""

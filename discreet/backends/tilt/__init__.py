"""`tilt`, the project's own solver: a structured interior point whose cost per iteration is a few passes over the outcomes.

model           the problem in coordinates that do not cancel
newton          one step, with all outcomes eliminated
interior_point  the iteration
"""

from discreet.backends.tilt.backend import Tilt

__all__ = ["Tilt"]

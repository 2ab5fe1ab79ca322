"""discreet: design, solve, compare and certify privacy-aware minimum-error estimators.

    import discreet as ds

    p = ds.problems.paper_single(bins=64, budget=0.01)     # leakage budget in nats
    s = ds.solve(p, backend="tilt")
    s.status, s.error_probability, s.leakage, s.certificate.lower, s.certificate.upper

The best randomised guess Ŷ of a public variable Y from a measurement Z, when the guess may reveal
at most a stated amount about a private variable X. The public names are listed in `__init__.pyi`;
each loads when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0"
__all__ += ["__version__"]

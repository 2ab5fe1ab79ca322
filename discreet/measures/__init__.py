"""Measures of leakage: what an estimator reveals, and the mathematics that bounds it.

The public names are listed in `__init__.pyi`; each loads when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""The methods, one file each, the contract they implement, the registry, and the loop that runs
them.

The public names are listed in `__init__.pyi`; each loads when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

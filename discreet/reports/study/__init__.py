"""The work–precision study behind `discreet bench`. The public name is listed in `__init__.pyi`.

plan      what a study is, and reading it from TOML
cells     its attempts, each with a key: a hash of everything that its numbers depend on
runner    measuring what is missing
store     rows on disk, and results from anywhere
machine   what a measurement depends on besides the problem
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

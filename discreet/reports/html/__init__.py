"""Pages: measured results as one self-contained interactive page, and the builder of every page of
the project. The public names are listed in `__init__.pyi`.

data   what the page carries: attempts, and the statistics and figures of every choice of its
       filters
page   template, style, scripts and data in one file; pieces of static pages
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

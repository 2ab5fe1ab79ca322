"""Measured results: comparisons, studies, advice, tables, pictures and pages. The public names are
listed in `__init__.pyi`; each loads when it is first used.

measurements, study/, compare, crosscheck/   measuring: one row for every attempt, and where rows
                                             come from
curve                                        the privacy–utility curve of one problem
statistics/, advice/                         what rows say
pictures, tables, card, sections             which figures, tables and facts say it
wording, notation                            words
second_opinion, asv_results                  what `verify` says of an answer; results over commits
html/, published, outputs                    pages and files
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

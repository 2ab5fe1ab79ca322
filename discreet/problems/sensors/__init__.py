"""Sensor models: from the law of a measurement to the joint tensor p(x, y, z).

    single_sensor      one sensor, the bin of its measurement (`bins`)
    iid_sensors        M identical sensors, the counts per bin (`several`, `counts`)
    mixed_sensors      M sensors that may all differ, their pooled counts
    grouped_sensors    counts by groups of identical sensors, which pooled counts do not distinguish
    index_sensors      every report of every sensor, for few sensors

A sensor is any law Pr(it reports bin k given x_j, y_i); `binned_law` computes one from
distributions and bin edges. Given (x, y) the sensors are independent; X and Y may be dependent and
take any number of values. A model that would need more memory than `max_bytes` is refused with its
size and advice. `paper_sensor` contains the paper's parameters.

Source: docs/theory.md, section 19. The public names are listed in `__init__.pyi`; each loads when
it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

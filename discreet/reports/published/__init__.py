"""The published snapshot: a folder that GitHub shows, with Markdown, SVG pictures and one CSV, made from measurements.

Equal rows give equal bytes, in whatever order they come. No path and no user name of a machine gets in: file problems are
named by their last part, messages lose their paths, and tracebacks are left out.
"""

from __future__ import annotations

from discreet.reports.published.snapshot import NAMES, publish

__all__ = ["NAMES", "publish"]

"""Provenance for the records in files: a date, and versions of libraries.

The environment variable SOURCE_DATE_EPOCH (seconds since 1970) replaces the clock, so that files
can be reproduced byte for byte (https://reproducible-builds.org/specs/source-date-epoch).
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from datetime import UTC, datetime
from functools import cache

from discreet.checks import brief
from discreet.errors import InputError


def date_now() -> str:
    """Return the time in UTC to the second, as 2026-01-31T12:00:00Z; InputError if
    SOURCE_DATE_EPOCH is not a number of seconds.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        moment = datetime.now(UTC) if epoch is None else datetime.fromtimestamp(int(epoch), UTC)
    except (ValueError, OverflowError, OSError):
        raise InputError(
            f"SOURCE_DATE_EPOCH is {brief(epoch)}; give seconds since 1970 as a whole number, or "
            "unset it"
        ) from None
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


_DISTRIBUTIONS = {"pounce": "pounce-solver"}


def distribution_of(library: str) -> str:
    """The name under which an importable library is distributed."""
    return _DISTRIBUTIONS.get(library, library)


@cache
def version_of(library: str) -> str:
    """Return the version of an installed library without importing it, or "absent". Cached, since
    reading it takes milliseconds.
    """
    try:
        return importlib.metadata.version(distribution_of(library))
    except importlib.metadata.PackageNotFoundError:
        if library == "discreet":  # a checkout that is not installed has its own version
            return str(importlib.import_module(library).__version__)
        return "absent" if importlib.util.find_spec(library) is None else "unknown"

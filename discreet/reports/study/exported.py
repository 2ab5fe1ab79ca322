"""The problems of a study as files for other solvers, in a folder with a table that lists them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.backends import isolated
from discreet.backends.exchange.files import FORMATS, export, formats_of
from discreet.errors import InputError
from discreet.problems.certificate import Certificate
from discreet.reports.measurements import landmarks
from discreet.reports.outputs import Watch, replace_file
from discreet.reports.study.cells import Instance, instances_of
from discreet.reports.study.plan import Study
from discreet.showing.data import csv_text, plain
from discreet.storage.writing import check_output, marked, refusals

TABLE = "instances.csv"
"""The name of the table in the folder."""

COLUMNS = (
    "name",
    "problem",
    "budget",
    "measure",
    "secrets",
    "private_values",
    "guesses",
    "outcomes",
    "digest",
    "file",
    "bytes",
    "sha256",
    "lower_bound",
    "upper_bound",
    "note",
)
_IS_TABLE = marked(",".join(COLUMNS[:4]))


@dataclass(frozen=True)
class InstanceFile:
    """A file of an instance, and the certificate of the bracket that it states, if any."""

    instance: Instance
    path: Path
    certificate: Certificate | None

    @property
    def size(self) -> int:
        """Return the number of bytes."""
        return self.path.stat().st_size

    def record(self) -> dict[str, Any]:
        """Return this file's row of the table."""
        instance = self.instance
        certificate = self.certificate
        values = landmarks(instance.problem) | {
            "name": instance.slug,
            "problem": instance.words,
            "budget": instance.budget_word,
            "digest": instance.problem.digest,
            "file": self.path.name,
            "bytes": self.size,
            "sha256": hashlib.sha256(self.path.read_bytes()).hexdigest(),
            "lower_bound": certificate and certificate.lower,
            "upper_bound": certificate and certificate.upper,
            "note": instance.note,
        }
        return {name: plain(values[name]) for name in COLUMNS}


def export_study(
    study: Study,
    folder: str | Path,
    format_: str | None = None,
    *,
    certify: bool = False,
    overwrite: bool = False,
    watch: Watch | None = None,
) -> tuple[Sequence[InstanceFile], Sequence[str]]:
    """Write every problem of a study in one format, or in every format that can hold it; return the
    files and sentences about problems that were left out.

    certify   solve each problem first and state its bracket

    Raises InputError for an unknown format; FileError for an existing file that was not made here,
    unless it is to be overwritten.
    """
    if format_ is not None and format_ not in FORMATS:
        raise InputError(f"there is no format {format_!r}; choose one of: {', '.join(FORMATS)}")
    instances, left_out = instances_of(study)
    place = Path(folder)
    files = list[InstanceFile]()
    with refusals(folder):
        place.mkdir(parents=True, exist_ok=True)
    table = check_output(place / TABLE, _IS_TABLE, overwrite=overwrite)
    for done, instance in enumerate(instances):
        if watch is not None:
            watch(done, len(instances), instance.slug)
        chosen = [name for name in formats_of(instance.problem) if format_ in (None, name)]
        certificate = (
            isolated.solve_isolated(instance.problem).certificate if certify and chosen else None
        )
        for name in chosen:
            path = place / f"{instance.slug}{FORMATS[name].ending}"
            export(instance.problem, path, name, certificate=certificate, overwrite=overwrite)
            files.append(InstanceFile(instance, path, certificate))
    replace_file(table, csv_text(COLUMNS, (file.record().values() for file in files)))
    return files, left_out

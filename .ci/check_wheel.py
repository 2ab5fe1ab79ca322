"""Check that a wheel holds every module and data file of the package, its marker of types and its licence, and nothing else.

`python check_wheel.py WHEEL PACKAGE_FOLDER` compares the archive's names with the folder they were built from.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

__all__ = ["complaints"]

_DATA = ("*.toml", "*.csv.gz", "*.js", "*.css", "*.html")


def complaints(wheel: Path, package: Path) -> list[str]:
    """One sentence for each thing that is wrong with the wheel; empty when all is well."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    metadata = {name for name in names if name.split("/")[0].endswith(".dist-info")}
    modules = {f"{package.name}/{path.relative_to(package).as_posix()}" for path in package.rglob("*.py")}
    data = {f"{package.name}/{path.relative_to(package).as_posix()}" for end in _DATA for path in package.rglob(end)}
    wanted = modules | data | {f"{package.name}/py.typed"}
    found = names - metadata
    stray = sorted(name for name in found if not name.startswith(f"{package.name}/") or name.endswith((".pyc", ".so")))
    report = [f"the wheel lacks {name}" for name in sorted(wanted - found)]
    report += [f"the wheel holds {name}, which is no part of {package.name}" for name in stray]
    report += [
        f"the wheel holds {name}, a module that no longer exists" for name in sorted(found - wanted) if name.endswith(".py")
    ]
    if not any(name.endswith("/licenses/LICENSE") for name in metadata):
        report.append("the wheel lacks its LICENSE")
    return report


if __name__ == "__main__":
    wrong = complaints(Path(sys.argv[1]), Path(sys.argv[2]))
    print("\n".join(wrong) or f"{Path(sys.argv[1]).name}: every module of {sys.argv[2]}, and nothing else")
    sys.exit(1 if wrong else 0)

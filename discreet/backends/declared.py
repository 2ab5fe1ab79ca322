"""The backends that the files of this folder declare, read from their text without importing any.

A backend is a class with `name = "..."` and, below it, `capabilities = Capabilities(`. Standard
library only: benchmarks load this file by its path, for the backends of their own checkout, and
`python -I declared.py` prints the names.
"""

import re
from pathlib import Path

_LINES = r"(?:(?:    .*)?\n)*?"  # of the body of a class
_CLASS = re.compile(
    rf'^class (\w+).*:\n{_LINES}    name = "([\w-]+)"\n{_LINES}    capabilities = '
    rf"Capabilities\(",
    re.MULTILINE,
)


def declared() -> dict[str, str]:
    """Name -> "package.module:Class" of every backend, peers last."""
    here = Path(__file__).resolve().parent
    found = {}
    for path in sorted(here.rglob("*.py"), key=lambda path: (path.parent.name == "peers", path)):
        text = path.read_text(encoding="utf-8")
        module = ".".join(path.relative_to(here).with_suffix("").parts)
        for kind, name in _CLASS.findall(text) if "capabilities = Capabilities(" in text else ():
            found[name] = f"discreet.backends.{module}:{kind}"
    return found


if __name__ == "__main__":
    print(",".join(declared()))

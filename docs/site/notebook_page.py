"""A notebook as a page of Markdown, with the outputs that it holds: text, tables of pandas and pictures.

Nothing runs: docs/tutorial.py runs the notebook, and a test compares what it holds. Source: nbformat 4.5.
"""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any


def page_of(path: Path) -> tuple[str, dict[str, bytes]]:
    """The page, and the files beside it by name."""
    files: dict[str, bytes] = {}
    parts: list[str] = []
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for count, output in enumerate(cell["outputs"]):
            parts.append(_shown(output, f"{path.stem}-{number}-{count}.png", files))
    return "\n\n".join(parts) + "\n", files


def _shown(output: dict[str, Any], name: str, files: dict[str, bytes]) -> str:
    """One output: the richest form that it has."""
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text']).rstrip()}\n```"
    data = output["data"]
    if "image/png" in data:
        files[name] = base64.b64decode("".join(data["image/png"]))
        return f"![What the cell above draws]({name})"
    if "text/html" in data:
        inner = re.sub(r"\n\s*\n", "\n", "".join(data["text/html"]).strip())  # a blank line would end it
        inner = inner.replace('<table border="1" class="dataframe">', "<table>")
        return f'<div class="output">\n{inner}\n</div>'
    return f"```text\n{''.join(data['text/plain']).rstrip()}\n```"

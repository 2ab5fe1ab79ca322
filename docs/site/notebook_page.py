"""A notebook as a page of Markdown, with the outputs that it holds: text, tables of pandas, cards
and figures.

Nothing runs: docs/tutorial.py runs the notebook, and a test compares what it holds. Source:
nbformat 4.5.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any


def page_of(path: Path) -> str:
    """Return the notebook as a page of Markdown."""
    parts: list[str] = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts.append(f"```python\n{source}\n```")
            parts += map(_shown, cell["outputs"])
    return "\n\n".join(parts) + "\n"


def _shown(output: dict[str, Any]) -> str:
    """One output: the richest form that it has."""
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text']).rstrip()}\n```"
    data = output["data"]
    if "text/html" in data:
        # a blank line would end it
        inner = re.sub(r"\n\s*\n", "\n", "".join(data["text/html"]).strip())
        inner = inner.replace('<table border="1" class="dataframe">', "<table>")
        return f'<div class="output">\n{inner}\n</div>'
    return f"```text\n{''.join(data['text/plain']).rstrip()}\n```"

"""Print the one shell command under a heading of a Markdown file.

`python readme_command.py "Test it" README.md` prints the single line of the single fenced block
between `## Test it` and the next heading of the same level. Anything else there is an error: the
command in the README is the one that is tested.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

__all__ = ["command_under"]


def command_under(heading: str, text: str) -> str:
    """The one-line command in the only fenced block under `## heading`; raises ValueError when
    there is not exactly one.
    """
    sections = re.split(r"^## +(.+?) *$", text, flags=re.MULTILINE)
    bodies = [
        body for title, body in zip(sections[1::2], sections[2::2], strict=True) if title == heading
    ]
    if len(bodies) != 1:
        raise ValueError(f"there are {len(bodies)} headings '## {heading}'; write exactly one")
    blocks = re.findall(r"^```\w*\n(.*?)^```$", bodies[0], flags=re.MULTILINE | re.DOTALL)
    if len(blocks) != 1:
        raise ValueError(
            f"there are {len(blocks)} fenced blocks under '## {heading}'; write exactly one"
        )
    lines = blocks[0].strip().splitlines()
    if len(lines) != 1:
        raise ValueError(
            f"the block under '## {heading}' has {len(lines)} lines; write one command on one line"
        )
    return str(lines[0])


if __name__ == "__main__":
    print(command_under(sys.argv[1], Path(sys.argv[2]).read_text(encoding="utf-8")))

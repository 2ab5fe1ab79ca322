"""An extension of Python-Markdown, which Zensical calls by its name: it lets `github_markdown` read
the pages.
"""

from __future__ import annotations

from typing import Any

from github_markdown import rendered
from markdown import Markdown
from markdown.extensions import Extension


class GitHubMarkdown(Extension):
    """Replaces what Python-Markdown does with a page by `rendered`."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Replace the parser; Python-Markdown calls this function."""

        def convert(source: str) -> str:
            found, md.toc_tokens = rendered(source)  # type: ignore[attr-defined]
            return found

        md.convert = convert  # type: ignore[method-assign]


def makeExtension(**settings: Any) -> GitHubMarkdown:  # noqa: N802
    """Return the extension; Python-Markdown calls this function."""
    return GitHubMarkdown(**settings)

"""How much code a file holds: its tokens without comments, docstrings and layout."""

import ast
import tokenize

from checkout import text_of

_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def tokens_of(path):
    """The number of tokens, which no formatting changes."""
    tree = ast.parse(text_of(path))
    statements = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    texts = [each for each in statements if isinstance(each, ast.Constant)]
    documented = {each.lineno for each in texts if isinstance(each.value, str)}
    with path.open("rb") as stream:
        found = [each for each in tokenize.tokenize(stream.readline) if each.type not in _LAYOUT]
    strings = [each for each in found if each.type == tokenize.STRING]
    return len(found) - sum(each.start[0] in documented for each in strings)

"""The reference of public names, made from signatures and docstrings without importing anything.

A page for each public package has the names of its stub in alphabetical order: the signature, the
docstring, a link to the lines of the source, and the public members of classes, those of bases in
the project too. Properties are searched by their class, so that concepts are found before them. In a docstring, aligned columns are a table, lines that begin with names of
parameters and a colon are a list, and indented lines are code.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGES = (
    "discreet",
    "discreet.problems",
    "discreet.backends",
    "discreet.reports",
    "discreet.measures",
    "discreet.files",
)
FOLDER = "reference/python"
PROPERTIES = {"property", "cached_property", "functools.cached_property"}
_COLUMNS = re.compile(r"^(\S(?:.*?\S)?) {2,}(\S.*)$")
_NAMED = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*): (.*)$")
_CLASS = re.compile(r"(?<!\[)`([A-Z]\w+)`")
_CODE = re.compile(r"(`+[^`]+`+)")


@dataclass(frozen=True)
class Definition:
    """A function, a class or an assignment: its name, its file, its syntax, and its docstring."""

    name: str
    path: Path
    node: ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign
    text: str


def definitions(path: Path, body: list[ast.stmt]) -> Iterator[Definition]:
    """What the statements of a file or a class define; a string after an assignment is its
    docstring.
    """
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield Definition(node.name, path, node, ast.get_docstring(node) or "")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            stated = after.value if isinstance(after, ast.Expr) else None
            text = (
                stated.value
                if isinstance(stated, ast.Constant) and isinstance(stated.value, str)
                else ""
            )
            for target in targets:
                if isinstance(target, ast.Name):
                    yield Definition(target.id, path, node, inspect.cleandoc(text))


class Source:
    """The files of the project, each read once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.tree = cache(lambda path: ast.parse(path.read_text(encoding="utf-8")))

    def file(self, module: str) -> Path | None:
        """Return the file of a module; None if the project has no such module."""
        base = self._root.joinpath(*module.split("."))
        return next(
            (path for path in (base / "__init__.py", base.with_suffix(".py")) if path.is_file()),
            None,
        )

    def opening(self, module: str) -> str:
        """The docstring of a module."""
        path = self.file(module)
        return "" if path is None else ast.get_docstring(self.tree(path)) or ""

    def exported(self, package: str) -> dict[str, str]:
        """The names of a package's stub, with the full name of what each is; empty of a package
        without one.
        """
        stub = self._root.joinpath(*package.split("."), "__init__.pyi")
        found: dict[str, str] = {}
        for node in self.tree(stub).body if stub.exists() else []:
            if isinstance(node, ast.ImportFrom):
                module = (
                    ".".join([package, *filter(None, [node.module])]) if node.level else node.module
                )
                found.update(
                    {alias.asname or alias.name: f"{module}.{alias.name}" for alias in node.names}
                )
        return found

    def find(self, name: str) -> Definition | None:
        """Where a full name is defined, through imports; None of a module, and of what other
        projects define.
        """
        module, _, last = name.rpartition(".")
        path = self.file(module)
        if path is None or self.file(name) is not None:
            return None
        body = self.tree(path).body
        for each in definitions(path, body):
            if each.name == last:
                return each
        for node in body:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == last:
                        return self.find(f"{node.module}.{alias.name}")
        elsewhere = self.exported(module).get(last)
        return self.find(elsewhere) if elsewhere else None

    def wrapped(self, what: Definition) -> ast.FunctionDef:
        """A function with what its decorator in the project adds: parameters by keyword, and
        another result.
        """
        node = what.node
        assert isinstance(node, ast.FunctionDef)
        for mark in node.decorator_list:
            found = self.find(f"{self.module(what.path)}.{ast.unparse(mark).split('(')[0]}")
            for inner in ast.walk(found.node) if found is not None else ():
                if isinstance(inner, ast.FunctionDef) and any(
                    "functools.wraps" in ast.unparse(m) for m in inner.decorator_list
                ):
                    arguments = ast.arguments(
                        **{name: getattr(node.args, name) for name in ast.arguments._fields}
                    )
                    arguments.kwonlyargs = [*node.args.kwonlyargs, *inner.args.kwonlyargs]
                    arguments.kw_defaults = [*node.args.kw_defaults, *inner.args.kw_defaults]
                    return ast.FunctionDef(node.name, arguments, node.body, [], inner.returns)
        return node

    def module(self, path: Path) -> str:
        """The name of the module in a file."""
        return (
            path.relative_to(self._root)
            .with_suffix("")
            .as_posix()
            .removesuffix("/__init__")
            .replace("/", ".")
        )

    def family(self, kind: Definition) -> Iterator[Definition]:
        """A class and its bases in the project, nearest first."""
        yield kind
        for base in kind.node.bases if isinstance(kind.node, ast.ClassDef) else []:
            found = self.find(f"{self.module(kind.path)}.{ast.unparse(base).split('[')[0]}")
            if found is not None:
                yield from self.family(found)


class Reference:
    """The pages. listed: the link from such a page to the listing of a file."""

    def __init__(self, root: Path, listed: Callable[[Path], str]) -> None:
        self._source = Source(root)
        self._listed = listed

    def pages(self) -> dict[str, str]:
        """The pages by their place on the site."""
        return {f"{FOLDER}/{package}.md": self._page(package) for package in PACKAGES}

    def _page(self, package: str) -> str:
        parts = [f"# {package} {{#{package}}}", markdown_of(self._source.opening(package), ())]
        names = self._source.exported(package)
        for name in sorted(names, key=lambda each: (each.lower(), each)):
            anchor = f"{package}.{name}"
            parts += [f"## {name} {{#{anchor}}}", *self._entry(package, anchor, name, names[name])]
        linked = (
            part if part.startswith(("#", "```")) else _CLASS.sub(self._to_class, part)
            for part in parts
            if part
        )
        return "\n\n".join(linked) + "\n"

    def _to_class(self, found: re.Match[str]) -> str:
        """A class that words name, with a link to its entry."""
        package = next((each for each in PACKAGES if found[1] in self._source.exported(each)), None)
        return f"[{found[0]}]({package}.md#{package}.{found[1]})" if package else found[0]

    def _entry(self, package: str, anchor: str, name: str, full: str) -> list[str]:
        for other in PACKAGES[: PACKAGES.index(package)]:
            if self._source.exported(other).get(name) == full:
                return [f"The same as [{other}.{name}]({other}.md#{other}.{name})."]
        found = self._source.find(full)
        if found is None:
            more = f" Its names have [a page of their own]({full}.md)." if full in PACKAGES else ""
            return [
                f"A module. {markdown_of(self._source.opening(full).split(chr(10) * 2)[0], ())}{more}"
            ]
        if isinstance(found.node, ast.ClassDef):
            return self._class(anchor, name, found, found.node)
        return [*self._told(found, name), self._link(found)]

    def _class(self, anchor: str, name: str, kind: Definition, node: ast.ClassDef) -> list[str]:
        members: dict[str, Definition] = {}
        for owner in self._source.family(kind):
            assert isinstance(owner.node, ast.ClassDef)
            for each in definitions(owner.path, owner.node.body):
                members.setdefault(each.name, each)
        public = {key: each for key, each in members.items() if not key.startswith("_")}
        fields = {
            key: each for key, each in public.items() if not isinstance(each.node, ast.FunctionDef)
        }
        made = members.get("__init__")
        if made is not None and isinstance(made.node, ast.FunctionDef):
            head = signature(made.node, name, bound=True)
            taken = parameters(made.node)
            text = f"{kind.text}\n\n{made.text}"
        else:
            stated = [f"    {ast.unparse(each.node)}" for each in fields.values()]
            head = "\n".join([f"class {name}" + ":" * bool(stated), *stated])
            taken = tuple(fields)
            text = kind.text
        bases = ", ".join(f"`{ast.unparse(base)}`" for base in node.bases)
        parts = [
            _fence(head),
            markdown_of(text, taken),
            f"{f'Bases: {bases}. ' if bases else ''}{self._link(kind)}",
        ]
        properties = [f"`{key}`" for key in sorted(public) if _is_property(public[key])]
        if properties:
            parts.append(f"Properties: {', '.join(properties)}.")
        for key in sorted(public, key=lambda each: (each.lower(), each)):
            if key not in taken:
                each = public[key]
                unsearched = " data-search-exclude" if _is_property(each) else ""
                parts += [
                    f"### {name}.{key} {{#{anchor}.{key}{unsearched}}}",
                    *self._told(each, key, member=True),
                    self._link(each),
                ]
        return parts

    def _told(self, what: Definition, name: str, *, member: bool = False) -> list[str]:
        """The signature of a function or the value of a name, and its docstring."""
        node = what.node
        if not isinstance(node, ast.FunctionDef):
            value = ast.unparse(node)
            return [_fence(value if len(value) < 200 else name), markdown_of(what.text, ())]
        marks = _marks(node)
        node = self._source.wrapped(what)
        if marks & PROPERTIES:
            kind = f"`{ast.unparse(node.returns)}`. " if node.returns else ""
            return [f"Property. {kind}{markdown_of(what.text, ())}"]
        head = signature(node, name, bound=member and "staticmethod" not in marks)
        return [_fence(head), markdown_of(what.text, parameters(node)), _annotated(node)]

    def _link(self, what: Definition) -> str:
        marks = (
            what.node.decorator_list
            if isinstance(what.node, ast.FunctionDef | ast.ClassDef)
            else []
        )
        first = min([what.node.lineno, *(mark.lineno for mark in marks)])
        return f"[Source]({self._listed(what.path)}#L{first})"


def _marks(node: ast.FunctionDef) -> set[str]:
    """Return the names of the decorators of a function."""
    return {ast.unparse(mark).split("(")[0] for mark in node.decorator_list}


def _is_property(what: Definition) -> bool:
    return isinstance(what.node, ast.FunctionDef) and bool(_marks(what.node) & PROPERTIES)


# -- signatures
# --------------------------------------------------------------------------------------------------


def parameters(node: ast.FunctionDef) -> tuple[str, ...]:
    """The names of a function's parameters."""
    given = node.args
    each = [
        *given.posonlyargs,
        *given.args,
        *given.kwonlyargs,
        *filter(None, [given.vararg, given.kwarg]),
    ]
    return tuple(one.arg for one in each)


def signature(node: ast.FunctionDef, name: str, *, bound: bool = False) -> str:
    """`name(parameters) -> result`, one parameter a line where it is long; bound: without the first
    parameter.
    """
    given = node.args
    plain = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [
        *[None] * (len(plain) - len(given.defaults)),
        *given.defaults,
    ]
    parts = [_parameter(one, default) for one, default in zip(plain, defaults, strict=True)]
    if given.posonlyargs:
        parts.insert(len(given.posonlyargs), "/")
    parts = parts[1:] if bound else parts
    if given.vararg:
        parts.append("*" + _parameter(given.vararg, None))
    elif given.kwonlyargs:
        parts.append("*")
    parts += [
        _parameter(one, default)
        for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    if given.kwarg:
        parts.append("**" + _parameter(given.kwarg, None))
    result = (
        f" -> {ast.unparse(node.returns)}"
        if node.returns is not None and node.name != "__init__"
        else ""
    )
    line = f"{name}({', '.join(parts)}){result}"
    return (
        line
        if len(line) <= 80
        else f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){result}"
    )


def _kind(one: ast.arg) -> tuple[str, str]:
    """The type of a parameter, and the words that `Annotated` adds to it."""
    kind = one.annotation
    if (
        isinstance(kind, ast.Subscript)
        and ast.unparse(kind.value) == "Annotated"
        and isinstance(kind.slice, ast.Tuple)
    ):
        words = [
            part.value for part in ast.walk(kind.slice.elts[1]) if isinstance(part, ast.Constant)
        ]
        return ast.unparse(kind.slice.elts[0]), next(
            (word for word in words if isinstance(word, str)), ""
        )
    return (ast.unparse(kind) if kind is not None else ""), ""


def _annotated(node: ast.FunctionDef) -> str:
    """Return the descriptions in the annotations of parameters, as a list."""
    told = [(one.arg, _kind(one)[1]) for one in [*node.args.args, *node.args.kwonlyargs]]
    return "\n".join(f"- `{name}`: {_plain(words)}" for name, words in told if words)


def _parameter(one: ast.arg, default: ast.expr | None) -> str:
    kind = f": {_kind(one)[0]}" if one.annotation is not None else ""
    equal = " = " if kind else "="
    return f"{one.arg}{kind}" + (f"{equal}{ast.unparse(default)}" if default is not None else "")


def _fence(code: str) -> str:
    return f"```python\n{code}\n```"


# -- docstrings
# --------------------------------------------------------------------------------------------------


def markdown_of(text: str, named: tuple[str, ...]) -> str:
    """A docstring of ours as Markdown. named: the parameters, whose explanations become a list."""
    parts: list[str] = []
    code: list[str] = []
    for block in [*re.split(r"\n\s*\n", text.strip("\n")), ""]:
        lines = block.rstrip().split("\n")
        if block.strip() and all(line.startswith("    ") for line in lines):
            code.append("\n".join(line[4:] for line in lines))
            continue
        if code:
            parts.append("```text\n" + "\n\n".join(code) + "\n```")
            code = []
        if block.strip():
            parts.append(_table(lines) if _COLUMNS.match(lines[0]) else _list(lines, named))
    return "\n\n".join(parts)


def _list(lines: list[str], named: tuple[str, ...]) -> str:
    """A paragraph, and from the first explanation of a parameter on a list of them."""
    lead: list[str] = []
    items: list[str] = []
    for line in lines:
        found = _NAMED.match(line)
        if found and {each.strip("* ") for each in found[1].split(",")} <= set(named):
            items.append(f"- `{found[1]}`: {_plain(found[2])}")
        elif items:
            items[-1] += " " + _plain(line.strip())
        else:
            lead.append(_plain(line.strip()))
    return "\n\n".join(filter(None, ["\n".join(lead), "\n".join(items)]))


def _table(lines: list[str]) -> str:
    """Return aligned columns as a table. An indented line continues the last cell; after a line with
    only names, it begins the second cell.

    Lines after the columns become a paragraph.
    """
    rows: list[list[str]] = []
    rest: list[str] = []
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        names = re.fullmatch(r"[\w, *]+", line) and after.startswith("  ")
        if rest or not (line[0] == " " or _COLUMNS.match(line) or names):
            rest.append(_plain(line))
        elif line[0] == " ":
            rows[-1] = (
                [*rows[-1][:-1], f"{rows[-1][-1]} {line.strip()}"]
                if len(rows[-1]) > 1
                else [*rows[-1], line.strip()]
            )
        else:
            rows.append(re.split(r" {2,}", line))
    width = max(len(row) for row in rows)
    drawn = ["|" + " |" * width, "|" + "---|" * width]
    for row in rows:
        first = row[0] if "`" in row[0] else f"`{row[0]}`"
        cells = [first, *map(_plain, row[1:]), *[""] * (width - len(row))]
        drawn.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(drawn) + "\n\n" * bool(rest) + "\n".join(rest)


def _plain(text: str) -> str:
    """Words of a docstring so that Markdown changes nothing but code between backquotes."""
    parts = _CODE.split(text)
    return "".join(
        part if k % 2 else re.sub(r"([\\*_<$\[\]])", r"\\\1", part) for k, part in enumerate(parts)
    )

"""The registry of catalog entries: their names, their parameters, and how they are built from text.

An entry is written as a pure function of its own parameters (a random one takes a seed) that
returns a joint tensor. The registry turns it into a builder, which also takes a budget and names
the problem. The meaning and the valid values of a parameter are stated once, in the annotations of
the signature, so that Python, the command line and `discreet problems` cannot disagree.
"""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

import numpy as np

from discreet.checks import brief, format_value, nearest, positive, whole
from discreet.errors import InputError, InputWarning
from discreet.measures.measure import Measure
from discreet.measures.registry import measure_of
from discreet.numerics.double_double import Array
from discreet.problems.constraint import LeakageBudget
from discreet.problems.problem import Problem, shares_of_bayes

DEFAULT_FRACTION = 0.5
"""Default budget of a catalog problem, as a share of the leakage of the Bayes rule."""

FAMILIES = ("paper", "sensors", "random", "application", "survey", "adversarial")
"""The families of entries, in the order of listing."""


@dataclass(frozen=True)
class Means:
    """The meaning of a parameter, in its annotation: `Annotated[str, Means("private column")]`.

    checked   from the value and the name of the parameter, returns the value for the entry's
              function, or raises InputError
    is_size   True if the arrays of the problem grow with it
    """

    meaning: str
    checked: Callable[[Any, str], Any] = lambda value, name: value
    is_size: bool = False


def Whole(meaning: str, least: int = 1, most: float = 2.0**64) -> Means:  # noqa: N802 (stands where types do)
    """An integer from `least` to `most`; it counts as a size unless 0 is allowed or `most` is
    given.
    """
    return Means(
        meaning, lambda value, name: whole(value, name, least, most), least > 0 and most == 2.0**64
    )


def Number(meaning: str, zero: bool = False, most: float = 1e100) -> Means:  # noqa: N802
    """A finite number > 0 (≥ 0 with `zero`) and ≤ `most`."""
    return Means(meaning, lambda value, name: positive(value, name, zero=zero, most=most))


@dataclass(frozen=True)
class Parameter:
    """One parameter of an entry: its name, its default (whose type is the type of the parameter)
    and its meaning.
    """

    name: str
    default: Any
    meaning: str


@dataclass(frozen=True)
class Entry:
    """One named family of problems.

    name         the name that users type
    family       one of `FAMILIES`
    summary      the first paragraph of its docstring
    parameters   in the order of the builder's signature
    extra        the extra of discreet that its data needs ("" = base install)
    build        the builder, called with the parameters as keywords, a measure, and one of budget,
                 equivocation (nats) and fraction
    """

    name: str
    family: str
    summary: str
    parameters: tuple[Parameter, ...]
    extra: str
    build: Callable[..., Problem]

    def title(self, **values: Any) -> str:
        """Return the name with the parameters that differ from their defaults, such as
        paper-single(bins=64).
        """
        changed = [
            f"{p.name}={values[p.name]}"
            for p in self.parameters
            if p.name in values and values[p.name] != p.default
        ]
        return f"{self.name}({', '.join(changed)})" if changed else self.name


@dataclass(frozen=True)
class Budget:
    """The four ways to give a budget, at most one of them; without any, the problem keeps its own.

    leakage        ε in nats, ≥ 0; inf for no constraint
    equivocation   H0 in nats, ≤ H(X)
    perfect        ε = 0
    fraction       ε = fraction · I_MAP ≥ 0, where I_MAP is the leakage of the Bayes rule: 0 is
                   perfect privacy, 1 a slack budget
    """

    leakage: float | None = None
    equivocation: float | None = None
    perfect: bool = False
    fraction: float | None = None

    @property
    def given(self) -> list[str]:
        """The names of those that are given."""
        return [
            name for name, value in vars(self).items() if value is not None and value is not False
        ]

    def apply(self, model: Problem, measure: str | Measure | None = None) -> Problem:
        """Return the same model under this budget, applied to each constraint; by its own measures
        or the given one.

        Raises InputError if more than one budget is given, or one is out of range.
        """
        ways = ", ".join(vars(self))
        given = self.given
        if len(given) > 1:
            raise InputError(
                f"{' and '.join(given)} both set the leakage budget; give at most one of {ways}"
            )
        if not given:
            if measure is not None:
                raise InputError(f"the measure {measure} needs a budget; give one of {ways}")
            return model
        count = len(model.terms)
        if measure is not None:
            model = model.with_budget([LeakageBudget(math.inf, measure_of(measure))] * count)
        if self.equivocation is not None:
            return model.with_budget(equivocation=self.equivocation, measure=model.measure)
        if self.fraction is not None:
            share = positive(self.fraction, "fraction", zero=True)
            return model.with_budget(shares_of_bayes(model, [share] * count))
        if self.leakage is not None:
            return model.with_budget([self.leakage] * count)
        return model.with_budget([0.0] * count)


ENTRY_POINT_GROUP = "discreet.problems"
"""Entry points of other packages: each names a module that registers entries."""

_LARGEST = 100_000_000  # largest product of the sizes of a problem: at most 16 s and 4 GiB
_ENTRIES: dict[str, Entry] = {}


def register(
    family: str, *, extra: str = ""
) -> Callable[[Callable[..., Array | Problem]], Callable[..., Problem]]:
    """Return a decorator that turns a model into a builder and registers it. Annotations explain
    every parameter (`Means`).

    The name of the entry is that of the function, with hyphens; its summary is the first paragraph
    of the docstring.

    The model returns a joint tensor [n, m, N], whose sum is one up to rounding, or a `Problem`. The
    builder takes the parameters of the model, and as keywords the measure of leakage and at most
    one of budget, equivocation (nats) and fraction. Without these, a problem with a finite budget
    keeps it, and others get `DEFAULT_FRACTION` of the leakage of the Bayes rule.

    Raises ValueError for a name that is taken, an unknown family, or a parameter without a default
    or an explanation: mistakes in the code of the entry, found at import.
    """

    def enter(model: Callable[..., Array | Problem]) -> Callable[..., Problem]:
        name = model.__name__.replace("_", "-")
        paragraph = (inspect.getdoc(model) or "").partition("\n\n")[0]
        summary = " ".join(paragraph.split()).rstrip(".")
        if name in _ENTRIES:
            raise ValueError(
                f"the catalog already has an entry named {name!r}; choose another name"
            )
        if family not in FAMILIES:
            raise ValueError(
                f"the entry {name!r} has the family {family!r}; use one of: {', '.join(FAMILIES)}"
            )
        signature = inspect.signature(model)
        own = signature.parameters.values()
        hints = get_type_hints(model, include_extras=True)
        means: dict[str, Any] = {
            p.name: next(iter(getattr(hints.get(p.name), "__metadata__", ())), None) for p in own
        }
        explained = all(isinstance(note, Means) for note in means.values())
        if not explained or any(p.default is inspect.Parameter.empty for p in own):
            raise ValueError(
                f"every parameter of the entry {name!r} needs a default, and its "
                "meaning in the annotation"
            )

        @functools.wraps(model)
        def build(
            *args: Any,
            budget: float | None = None,
            equivocation: float | None = None,
            fraction: float | None = None,
            measure: str | Measure | None = None,
            **parameters: Any,
        ) -> Problem:
            given = signature.bind(*args, **parameters)
            given.apply_defaults()
            values = {key: means[key].checked(value, key) for key, value in given.arguments.items()}
            check_size(name, {key: value for key, value in values.items() if means[key].is_size})
            try:
                with np.errstate(all="ignore"):  # entries that are not finite are refused
                    made = model(**values)
                    title = _ENTRIES[name].title(**given.arguments)
                    if isinstance(made, Problem):
                        problem = made.titled(title)
                    else:
                        joint = made / made.sum()
                        problem = Problem.from_joint(joint, math.inf, measure=measure, name=title)
                        measure = None
            except ArithmeticError as error:
                raise InputError(
                    f"{name} cannot be computed from these parameters ({error}); give milder ones"
                ) from None
            if budget is None and equivocation is None and fraction is None and problem.oblivious:
                fraction = DEFAULT_FRACTION
            return Budget(budget, equivocation, fraction=fraction).apply(problem, measure)

        words = [
            p
            for p in inspect.signature(build, follow_wrapped=False).parameters.values()
            if p.kind is p.KEYWORD_ONLY
        ]
        public_signature = signature.replace(parameters=[*own, *words], return_annotation="Problem")
        build.__signature__ = public_signature  # type: ignore[attr-defined]
        parameters = tuple(Parameter(p.name, p.default, means[p.name].meaning) for p in own)
        _ENTRIES[name] = Entry(name, family, summary, parameters, extra, build)
        return build

    return enter


def check_size(name: str, sizes: Mapping[str, int]) -> None:
    """Raise InputError for sizes whose product is above `_LARGEST`."""
    if math.prod(sizes.values()) > _LARGEST:
        words = ", ".join(f"{key}={brief(value, 25)}" for key, value in sizes.items())
        raise InputError(
            f"{name} is too large with {words}: their product is above {_LARGEST:,}; "
            "give smaller sizes"
        )


@functools.cache
def _load_installed() -> None:
    """Import the modules that other packages name; one that cannot be imported is left out, with a
    warning.
    """
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            point.load()
        except Exception as error:  # code of another package may raise anything
            warnings.warn(
                f"the problems of {point.name} ({point.value}) cannot be loaded: "
                f"{type(error).__name__}: {error}",
                InputWarning,
                stacklevel=3,
            )


def entries() -> tuple[Entry, ...]:
    """Return all entries, family by family."""
    _load_installed()
    return tuple(sorted(_ENTRIES.values(), key=lambda each: FAMILIES.index(each.family)))


def entry(name: str) -> Entry:
    """Return the entry of that name; InputError, listing the names, if there is none."""
    _load_installed()
    registered = _ENTRIES.get(name)
    if registered is None:
        names = ", ".join(each.name for each in entries())
        raise InputError(
            f"the catalog has no problem {brief(name)}{nearest(name, _ENTRIES)}; it has: {names}"
        )
    return registered


def build(
    name: str,
    *,
    budget: float | None = None,
    equivocation: float | None = None,
    fraction: float | None = None,
    measure: str | Measure | None = None,
    **parameters: Any,
) -> Problem:
    """Build a catalog problem. Parameters given as strings are converted to the type of their
    default.

    At most one of budget, equivocation (nats) and fraction (of the leakage of the Bayes rule) may
    be given; without any, the default of the entry applies, which is half of the leakage of the
    Bayes rule unless its summary states otherwise. The leakage is that of `measure`, by default
    mutual information. Raises InputError.
    """
    registered = entry(name)
    known = {p.name: p for p in registered.parameters}
    values = {}
    for key, value in parameters.items():
        if key not in known:
            listed = (
                ", ".join(
                    f"{p.name} (default {format_value(p.default)})" for p in registered.parameters
                )
                or "none"
            )
            raise InputError(
                f"{name} has no parameter {brief(key)}{nearest(key, known)}; its "
                f"parameters are: {listed}"
            )
        values[key] = _parse(name, known[key], value) if isinstance(value, str) else value
    return registered.build(
        **values, budget=budget, equivocation=equivocation, fraction=fraction, measure=measure
    )


def _parse(owner: str, parameter: Parameter, text: str) -> Any:
    try:
        return _read(parameter.default, text.strip())
    except ValueError:
        raise InputError(
            f"{parameter.name} of {owner} is {brief(text)}; give a value like its default, "
            f"{format_value(parameter.default)}"
        ) from None


def _read(default: Any, text: str) -> Any:
    """Return a text as a value of the type of a default; ValueError if it is none."""
    if isinstance(default, tuple):
        one = default[0] if default else 0.0
        parts = text.strip("()[] ").split(",")
        return tuple([_read(one, part.strip()) for part in parts if part.strip()])
    if isinstance(default, bool):
        if text.lower() in ("true", "yes", "on", "1"):
            return True
        if text.lower() in ("false", "no", "off", "0"):
            return False
        raise ValueError(text)
    value = type(default)(text)
    if value != value:
        raise ValueError("NaN")
    return value

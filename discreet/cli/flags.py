"""The flags that commands share, with their help."""

from __future__ import annotations

from typing import Annotated

import typer

Problem = Annotated[str, typer.Argument(metavar="PROBLEM", help="A catalog name, name:key=value,..., or a .npz file.")]
SolutionFile = Annotated[str, typer.Argument(metavar="SOLUTION.npz", help="A solution file; only its arrays are read.")]
Backend = Annotated[str, typer.Option(metavar="NAME", help="Which backend; see discreet doctor.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Parameter of a catalog problem; may be repeated."),
]
Leakage = Annotated[float | None, typer.Option(metavar="NATS", help="Leakage budget I(X;Ŷ) ≤ NATS.")]
Equivocation = Annotated[float | None, typer.Option(metavar="NATS", help="The paper's H0: keep H(X given Ŷ) ≥ NATS.")]
Perfect = Annotated[bool, typer.Option("--perfect", help="Perfect privacy: leakage 0.")]
Fraction = Annotated[float | None, typer.Option(metavar="F", help="Budget as a fraction of what the Bayes rule leaks.")]
Gap = Annotated[float, typer.Option(help="Relative certified gap aimed at.")]
TimeLimit = Annotated[float | None, typer.Option(metavar="S", help="Seconds per attempt; then its process is killed.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are in the way, also those of others.")]
Json = Annotated[bool, typer.Option("--json", help="JSON, and nothing else, on standard output.")]

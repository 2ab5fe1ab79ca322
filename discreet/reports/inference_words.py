"""What can be inferred from a guess, in lines for people."""

from __future__ import annotations

import math

from discreet.problems.inference.adversary import Inference
from discreet.reports import wording

__all__ = ["inference_lines"]


def inference_lines(found: Inference) -> list[tuple[str, str]]:
    """(what, words) for each number of an inference."""
    lines = [
        (
            "infers X",
            f"errs {wording.number(found.x_error, 6)}{_interval(found, 'x_error')}; blindly {found.x_error_blind:.6g}",
        ),
        ("H(X given what is seen)", f"{_both(found.equivocation_nats)}{_interval(found, 'equivocation_nats')}"),
        ("leakage", f"{_both(found.leakage_nats)}{_interval(found, 'leakage_nats')}"),
        ("Fano's bound", f"errs at least {wording.number(found.fano_sharp, 6)} (plain form {found.fano_plain:.6g})"),
    ]
    if found.y_error is not None:
        lines.append(("infers Y", f"errs {wording.number(found.y_error, 6)}{_interval(found, 'y_error')}"))
    if found.xy_error is not None:
        lines.append(("infers X and Y", f"errs {wording.number(found.xy_error, 6)}{_interval(found, 'xy_error')}"))
    return lines


def _both(nats: float) -> str:
    return f"{wording.number(nats, 6)} nats ({wording.number(nats / math.log(2.0), 4)} bits)"


def _interval(found: Inference, name: str) -> str:
    if name not in found.intervals:
        return ""
    low, high = found.intervals[name]
    return f" [{wording.number(low, 4)}, {wording.number(high, 4)}]"

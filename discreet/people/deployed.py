"""A rule for people, as it is deployed: it reads `rule.json` and predicts. It needs NumPy and no
other file, so copy it.

Classifiers give p(y given z) [people, truths] and p(x given z) [people, groups]. The guess is the i
with the least score Σ_k loss_ki p(y_k given z) + Σ_j tilt_ij p(x_j given z). Where several tie,
`ties.second` draws one by a second tilt. At the few `ties.points` (the first sum for each guess,
then the p(x_j given z)) it is drawn from a column instead, and with probability
`ignore.probability` from `ignore.towards`. Coins are sticky: keyed hashes of ids, or of these
probabilities.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = "discreet people rule"
VERSION = 1


def digest_of(document: dict[str, Any]) -> str:
    """SHA-256 of the document without its digest, as JSON with sorted keys and no blanks."""
    told = {key: value for key, value in document.items() if key != "digest"}
    text = json.dumps(
        told, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def coins(known: np.ndarray, key: str) -> np.ndarray:
    """A number in [0, 1) for each id [people], or row of words of 8 bytes [people, k]: SipHash-1-3
    under 32 hex digits.
    """
    if len(known) > 8192:
        return np.concatenate(
            [coins(part, key) for part in np.array_split(known, len(known) // 8192 + 1)]
        )
    if known.ndim == 1 and known.dtype.kind in "iu":
        known = known.astype(np.int64)[:, None]
    elif known.ndim == 1:  # texts: UTF-8 and zeros
        texts = [str(each).encode(errors="surrogatepass") for each in known.tolist()]
        short = [
            each if len(each) <= 40 else hashlib.blake2b(each, digest_size=16).digest()
            for each in texts
        ]
        known = np.array(short, dtype="S40").view("<u8").reshape(-1, 5)
    k0, k1 = np.frombuffer(bytes.fromhex(key), dtype="<u8").tolist()
    start = (
        0x736F6D6570736575 ^ k0,
        0x646F72616E646F6D ^ k1,
        0x6C7967656E657261 ^ k0,
        0x7465646279746573 ^ k1,
    )
    a, b, c, d = (np.full(len(known), value, dtype=np.uint64) for value in start)

    def left(x: np.ndarray, bits: int) -> Any:
        return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))

    last = np.full(len(known), (known.shape[1] * 8 % 256) << 56, dtype=np.uint64)
    # Three rounds without a word end it.
    message = (*known.T.copy().view(np.uint64), last, *np.zeros(3, dtype=np.uint64))
    for k, word in enumerate(message):
        c = c ^ np.uint64(0xFF if k == len(message) - 3 else 0)
        d = d ^ word
        a = a + b
        c = c + d
        b = left(b, 13) ^ a
        d = left(d, 16) ^ c
        a = left(a, 32) + d
        c = c + b
        b = left(b, 17) ^ c
        d = left(d, 21) ^ a
        a = a ^ word
        c = left(c, 32)
    return np.asarray(((a ^ b ^ c ^ d) >> np.uint64(11)) * 2.0**-53)


class Rule:
    """A rule for people; `document` is what the file holds. Raises ValueError, in a sentence, for
    what is no such rule.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise ValueError(
                f"this is no rule for people: its format is not {FORMAT!r}; give the file of a rule"
            )
        if document.get("version") != VERSION:
            raise ValueError(
                f"the rule has version {document.get('version')!r} and version "
                f"{VERSION} is read; update"
            )
        if document.get("digest") != digest_of(document):
            raise ValueError(
                "the rule was changed since it was made: its digest does not fit; "
                "take the original file"
            )
        self.document = document
        kinds = (document[key] for key in ("guesses", "truths", "groups"))
        self.guesses, self.truths, self.groups = (
            tuple(tuple(v) if isinstance(v, list) else v for v in k) for k in kinds
        )
        self.loss, self.tilt = (
            np.array(document[key], dtype=np.float64) for key in ("loss", "tilt")
        )
        self.within = float(document["ties"]["within"])
        self.second = document["ties"]["second"]
        m = len(self.guesses)
        self.share = float(document["ignore"]["probability"])
        self.towards = np.array(document["ignore"]["towards"])
        ties = sorted(document["ties"]["points"], key=lambda tie: tie["point"][0])
        self.points = np.array([tie["point"] for tie in ties]).reshape(-1, m + len(self.groups)).T
        self.columns = np.array([tie["column"] for tie in ties]).reshape(-1, m)
        if self.loss.shape != (len(self.truths), m) or self.tilt.shape != (m, len(self.groups)):
            raise ValueError("the tables of the rule do not fit its labels; take the original file")

    @classmethod
    def load(cls, path: Any) -> Rule:
        """The rule in a file."""
        try:
            return cls(json.loads(Path(path).read_text(encoding="utf-8")))
        except (
            OSError,
            KeyError,
            TypeError,
            RecursionError,
            UnicodeDecodeError,
            json.JSONDecodeError,
        ) as error:
            raise ValueError(
                f"{path} holds no rule for people ({type(error).__name__}: {error}); give another"
            ) from None

    def save(self, path: Any, overwrite: bool = False) -> None:
        """Write the rule as JSON, a fact a line; FileExistsError if a file is there and may not be
        replaced.
        """
        with Path(path).open("w" if overwrite else "x", encoding="utf-8") as stream:
            stream.write(self.text)

    @property
    def text(self) -> str:
        """The JSON of its file."""
        facts = (
            f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
            for key, value in self.document.items()
        )
        return "{\n" + ",\n".join(facts) + "\n}\n"

    @property
    def needs_ids(self) -> Any:
        """Whether many people with one record draw: its coin would be the same for all of them, and
        who tries many records that are nearly alike would learn the guess before the lottery.
        """
        return self.document.get("coins") == "ids"

    @property
    def possible_guesses(self) -> tuple[Any, ...]:
        """The guesses that it can make: one for a constant rule."""
        return tuple(
            guess
            for guess, p in zip(self.guesses, self.towards, strict=True)
            if p > 0.0 or self.share < 1.0
        )

    def predict_proba(self, p_y: Any, p_x: Any) -> np.ndarray:
        """The probabilities of the guesses [people, guesses], of which `predict` draws."""
        p_y, p_x = (
            _check_values(p_y, "p_y", (len(p_x), len(self.truths))),
            _check_values(p_x, "p_x", (len(p_y), len(self.groups))),
        )
        # What fits into a cache takes a third of the time.
        if len(steps := range(0, len(p_y), 8192)) > 1:
            return np.concatenate(
                [self.predict_proba(p_y[k : k + 8192], p_x[k : k + 8192]) for k in steps]
            )
        losses = _sums(self.loss.T, p_y)
        scores = losses + _sums(self.tilt, p_x)
        seen = np.vstack([losses, p_x.T])
        found = np.eye(len(scores)).take(scores.argmin(axis=0), axis=0)
        if (second := self.second) is not None:  # draws one of those that tie
            tied = scores <= scores.min(axis=0) + second["band"]
            some = np.flatnonzero(tied.sum(axis=0) > 1)
            others = np.where(
                tied.T[some], _sums(np.array(second["tilt"]), p_x.take(some, axis=0)).T, np.inf
            ).T
            found[some] = ((powers := np.exp(others.min(axis=0) - others)) / powers.sum(axis=0)).T
        tie, end = (self.points[0].searchsorted(seen[0] + k * self.within) for k in (-2.0, 2.0))
        near = np.flatnonzero(tie < end)
        while near.size:  # the ties whose first number fits
            hit = near[
                (
                    np.abs(seen.take(near, axis=1) - self.points.take(tie[near], axis=1))
                    <= self.within
                ).all(axis=0)
            ]
            found[hit] = self.columns.take(tie[hit], axis=0)
            tie[near] = tie[near] + 1
            near = near[tie[near] < end[near]]
        return np.asarray((1.0 - self.share) * found + self.share * self.towards)

    def predict(
        self, p_y: Any, p_x: Any, ids: Any = None, fresh: np.random.Generator | None = None
    ) -> np.ndarray:
        """The guesses. Coins are tossed by ids (an integer or a text for each person), or afresh by
        a generator.
        """
        labels = np.array([*self.guesses, None], dtype=object)
        return np.asarray(labels[self.decide(p_y, p_x, ids, fresh)])

    def decide(
        self, p_y: Any, p_x: Any, ids: Any = None, fresh: np.random.Generator | None = None
    ) -> np.ndarray:
        """The positions of the guesses among `guesses`."""
        return self.draw(self.predict_proba(p_y, p_x), ids, fresh, (p_y, p_x))

    def draw(
        self, columns: np.ndarray, ids: Any, fresh: Any = None, record: tuple[Any, ...] = ()
    ) -> np.ndarray:
        """The positions drawn from columns [people, guesses]; without ids coins are tossed by the
        numbers of the record.
        """

        def toss(drawn: np.ndarray) -> Any:
            if fresh is not None:
                return fresh.random(drawn.size)
            if ids is not None and np.shape(ids) != columns.shape[:1]:
                raise ValueError(
                    f"ids has shape {list(np.shape(ids))}; give one id for each of "
                    f"{len(columns)} people"
                )
            if ids is None:
                known = np.hstack([np.asarray(each)[drawn] for each in record]) + 0.0
            else:
                known = np.asarray(ids)[drawn]
            return coins(known, str(self.document["key"]))

        return drawn_places(columns, toss)


def drawn_places(columns: np.ndarray, toss: Callable[[np.ndarray], Any]) -> np.ndarray:
    """Places [people] drawn from columns [people, guesses]; toss: the coins of the people of whom
    no guess is certain.
    """
    chances = columns.T.copy()
    coin = np.full(len(columns), 0.5)  # where it is certain, any coin does
    drawn = np.flatnonzero(chances.max(axis=0) < 1.0)
    coin[drawn] = toss(drawn)
    return sum(
        (coin >= total for total in np.cumsum(chances[:-1], axis=0)),
        np.zeros(len(coin), dtype=np.intp),
    )


def _sums(table: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """table · seen [guesses, people], added up in one order on every machine."""
    return np.array(
        [
            sum((t * column for t, column in zip(row, seen.T, strict=True)), np.zeros(len(seen)))
            for row in table
        ]
    )


def _check_values(values: Any, what: str, shape: tuple[int, int]) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(
            f"{what} has shape {list(array.shape)} or is not finite; give a row a "
            f"person, {list(shape)}"
        )
    return array

"""A rule for people, as it is deployed: it reads `rule.json` and predicts. It needs NumPy and no other file, so copy it.

Classifiers give p(y given z) [people, truths] and p(x given z) [people, groups]. The guess is the i with the least score
Σ_k loss_ki p(y_k given z) + Σ_j tilt_ij p(x_j given z). Where just the guesses of `ties.second` tie, a second tilt decides.
At the few `ties.points` (the first sum for each guess, then the p(x_j given z)) it is drawn from a column instead, and with
probability `ignore.probability` from `ignore.towards`. Coins are sticky: keyed hashes of ids, or of these probabilities.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

FORMAT, VERSION = "discreet people rule", 1


def digest_of(document: dict[str, Any]) -> str:
    """SHA-256 of the document without its digest, as JSON with sorted keys and no blanks."""
    told = {key: value for key, value in document.items() if key != "digest"}
    text = json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def coins(words: np.ndarray, key: str) -> np.ndarray:
    """A number in [0, 1) for each row of words [people, k] of 8 bytes: SipHash-1-3 under a key of 32 hexadecimal digits."""
    if len(words) > 8192:  # what fits into a cache takes a third of the time
        return np.concatenate([coins(part, key) for part in np.array_split(words, len(words) // 8192 + 1)])
    words = np.ascontiguousarray(words).view(np.uint64)
    k0, k1 = np.frombuffer(bytes.fromhex(key), dtype="<u8").tolist()
    start = (0x736F6D6570736575 ^ k0, 0x646F72616E646F6D ^ k1, 0x6C7967656E657261 ^ k0, 0x7465646279746573 ^ k1)
    a, b, c, d = (np.full(len(words), value, dtype=np.uint64) for value in start)

    def left(x: np.ndarray, bits: int) -> Any:
        return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))

    def rounds(count: int, a: Any, b: Any, c: Any, d: Any) -> Any:
        for _ in range(count):
            a, c = a + b, c + d
            b, d = left(b, 13) ^ a, left(d, 16) ^ c
            a, c = left(a, 32) + d, c + b
            b, d = left(b, 17) ^ c, left(d, 21) ^ a
            c = left(c, 32)
        return a, b, c, d

    last = np.full((len(words), 1), (words.shape[1] * 8 % 256) << 56, dtype=np.uint64)
    for word in np.hstack([words, last]).T:
        a, b, c, d = rounds(1, a, b, c, d ^ word)
        a = a ^ word
    a, b, c, d = rounds(3, a, b, c ^ np.uint64(0xFF), d)
    return np.asarray(((a ^ b ^ c ^ d) >> np.uint64(11)) * 2.0**-53)


class Rule:
    """A rule for people; `document` is what the file holds. Raises ValueError, in a sentence, for what is no such rule."""

    def __init__(self, document: dict[str, Any]) -> None:
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise ValueError(f"this is no rule for people: its format is not {FORMAT!r}; give the file of a rule")
        if document.get("version") != VERSION:
            raise ValueError(f"the rule has version {document.get('version')!r} and version {VERSION} is read; update")
        if document.get("digest") != digest_of(document):
            raise ValueError("the rule was changed since it was made: its digest does not fit; take the original file")
        self.document = document
        kinds = (document[key] for key in ("guesses", "truths", "groups"))
        self.guesses, self.truths, self.groups = (tuple(tuple(v) if isinstance(v, list) else v for v in k) for k in kinds)
        self.loss, self.tilt = (np.array(document[key], dtype=np.float64) for key in ("loss", "tilt"))
        self.ties = tuple((np.array(tie["point"]), np.array(tie["column"])) for tie in document["ties"]["points"])
        self.within, self.second, m = float(document["ties"]["within"]), document["ties"]["second"], len(self.guesses)
        self.share, self.towards = float(document["ignore"]["probability"]), np.array(document["ignore"]["towards"])
        if self.loss.shape != (len(self.truths), m) or self.tilt.shape != (m, len(self.groups)):
            raise ValueError("the tables of the rule do not fit its labels; take the original file")

    @classmethod
    def load(cls, path: Any) -> Rule:
        """The rule in a file."""
        try:
            return cls(json.loads(Path(path).read_text(encoding="utf-8")))
        except (OSError, KeyError, TypeError, RecursionError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise ValueError(f"{path} holds no rule for people ({type(error).__name__}: {error}); give another") from None

    def save(self, path: Any, overwrite: bool = False) -> None:
        """Write the rule as JSON, a fact a line; FileExistsError if a file is there and may not be replaced."""
        facts = (f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in self.document.items())
        with Path(path).open("w" if overwrite else "x", encoding="utf-8") as stream:
            stream.write("{\n" + ",\n".join(facts) + "\n}\n")

    @property
    def possible_guesses(self) -> tuple[Any, ...]:
        """The guesses that it can make: one for a constant rule."""
        return tuple(guess for guess, p in zip(self.guesses, self.towards, strict=True) if p > 0.0 or self.share < 1.0)

    def predict_proba(self, p_y: Any, p_x: Any) -> np.ndarray:
        """The probabilities of the guesses [people, guesses], of which `predict` draws."""
        p_y, p_x = _checked(p_y, "p_y", (len(p_x), len(self.truths))), _checked(p_x, "p_x", (len(p_y), len(self.groups)))
        losses = _sums(self.loss.T, p_y)
        scores, seen = losses + _sums(self.tilt, p_x), np.vstack([losses, p_x.T]).T
        found = np.eye(len(scores))[scores.argmin(axis=0)]
        if (second := self.second) is not None:  # decides where just the guesses `among` tie
            among, towards = np.array(second["among"]), second["share"] * np.array(second["towards"])
            tied = np.flatnonzero(((scores <= scores.min(axis=0) + second["band"]) == among[:, None]).all(axis=0))
            least = np.where(among, _sums(np.array(second["tilt"]), p_x[tied]).T, np.inf).argmin(axis=1)
            found[tied] = (1.0 - second["share"]) * np.eye(len(among))[least] + towards
        for point, column in self.ties:
            near = np.flatnonzero(np.abs(seen[:, 0] - point[0]) <= self.within)
            found[near[(np.abs(seen[near] - point) <= self.within).all(axis=1)]] = column
        return found if self.share == 0.0 else np.asarray((1.0 - self.share) * found + self.share * self.towards)

    def predict(self, p_y: Any, p_x: Any, ids: Any = None, fresh: np.random.Generator | None = None) -> np.ndarray:
        """The guesses. Coins are tossed by ids (an integer or a text for each person), or afresh by a generator."""
        return np.asarray(np.array([*self.guesses, None], dtype=object)[:-1][self.decide(p_y, p_x, ids, fresh)])

    def decide(self, p_y: Any, p_x: Any, ids: Any = None, fresh: np.random.Generator | None = None) -> np.ndarray:
        """The positions of the guesses among `guesses`."""
        return self.draw(self.predict_proba(p_y, p_x), ids, fresh, (p_y, p_x))

    def draw(self, columns: np.ndarray, ids: Any, fresh: Any = None, record: tuple[Any, ...] = ()) -> np.ndarray:
        """The positions drawn from columns [people, guesses]; without ids coins are tossed by the numbers of the record."""
        chosen = columns.argmax(axis=1)
        drawn = np.flatnonzero(columns[np.arange(len(columns)), chosen] < 1.0)
        coin = self._coins(drawn, len(columns), ids, record) if fresh is None else fresh.random(drawn.size)
        chosen[drawn] = (coin[:, None] >= np.cumsum(columns[drawn], axis=1)[:, :-1]).sum(axis=1)
        return np.asarray(chosen)

    def _coins(self, drawn: np.ndarray, people: int, ids: Any, record: tuple[Any, ...]) -> np.ndarray:
        if ids is None:
            words = np.hstack([np.asarray(each, dtype=np.float64)[drawn] for each in record]) + 0.0
        elif (ids := np.asarray(ids)).shape != (people,):
            raise ValueError(f"ids has shape {list(ids.shape)}; give one id for each of {people} people")
        elif ids.dtype.kind in "iu":
            words = ids[drawn].astype(np.int64)[:, None]
        else:
            texts = [hashlib.blake2b(str(each).encode(), digest_size=16).digest() for each in ids[drawn].tolist()]
            words = np.frombuffer(b"".join(texts), dtype="<u8").reshape(-1, 2)
        return coins(words, str(self.document["key"]))


def _sums(table: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """table · seen [guesses, people], added up in one order on every machine."""
    return np.array([sum((t * column for t, column in zip(row, seen.T, strict=True)), np.zeros(len(seen))) for row in table])


def _checked(values: Any, what: str, shape: tuple[int, int]) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"{what} has shape {list(array.shape)} or is not finite; give a row a person, {list(shape)}")
    return array

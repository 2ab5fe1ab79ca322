"""A rule for people as it is deployed: this file reads `rule.json` and predicts. It needs only
NumPy, so it can be copied.

Classifiers give p(y given z) [people, truths] and p(x given z) [people, groups]. The guess is the i
with the smallest score Σ_k loss_ki p(y_k given z) + Σ_j tilt_ij p(x_j given z). If several tie,
`ties.second` draws one by a second tilt. At the few `ties.points` (the first sum for each guess,
then the p(x_j given z), rounded) it is drawn from a column instead, and with probability
`ignore.probability` from `ignore.towards`. Coins are sticky: they are keyed hashes of ids, or of
these probabilities.

The key of the coins is secret and is not in the file. It also signs the file: `checksum`, which
anyone can compute, detects accidents, and `signature` detects edits by anyone without the key.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = "discreet people rule"
VERSION = 2
VARIABLE = "DISCREET_KEY"
"""The environment variable that holds a key, or the path of its file."""

NEEDS_IDS = (
    "the rule draws guesses for people with equal records, who would share a coin, or by a "
    "lottery, which the coins of near-duplicates average out; so the coin must depend on the "
    "person's id"
)

_SEALS = ("checksum", "signature", "digest")  # the last member is the checksum of version 1


def is_key(text: Any) -> bool:
    """Return True if this is a key: 32 hexadecimal digits in lower case."""
    return isinstance(text, str) and len(text) == 32 and not set(text) - set("0123456789abcdef")


def find_key(key: Any, file: Any) -> str | None:
    """Return a key: `key` or else the environment variable, as digits or as the path of a file that
    contains them; else the content of `file`, if it exists. Raises ValueError.
    """
    given = key or os.environ.get(VARIABLE)
    if is_key(given):
        return str(given)
    place = Path(given or file)
    if not given and not place.is_file():
        return None
    try:
        text = place.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        text = ""
    if is_key(text):
        return text
    # The given text is not shown, since it may be most of a key.
    what = f"key= or {VARIABLE}" if given else str(file)
    raise ValueError(
        f"{what} holds no key; give 32 hexadecimal digits in lower case, or a file that holds them"
    )


def write_key(path: Any, key: str, overwrite: bool = False) -> None:
    """Write a key into a new file that only its owner may read; FileExistsError if a file exists
    and may not be replaced.
    """
    if overwrite:
        Path(path).unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(f"{key}\n")


def _seal(facts: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the document of a rule: its facts, the fingerprint of the key, a checksum, and a
    signature by the key.
    """
    document = {**facts, "version": VERSION, "key_fingerprint": _authenticate(key, "fingerprint")}
    text = _canonical(document)
    return {
        **document,
        "checksum": _checksum(text),
        "signature": _authenticate(key, "signature", text),
    }


def _canonical(document: dict[str, Any]) -> bytes:
    """Return JSON with sorted keys and without spaces, without the members that depend on it."""
    facts = {name: value for name, value in document.items() if name not in _SEALS}
    return json.dumps(
        facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def _checksum(text: bytes) -> str:
    return "sha256:" + hashlib.sha256(text).hexdigest()


def _authenticate(key: str, purpose: str, text: bytes = b"") -> str:
    """Return the HMAC of a text, by a key that is derived from that of the coins for this
    purpose.
    """
    derived = hmac.digest(bytes.fromhex(key), f"discreet rule {purpose}".encode(), "sha256")
    return "hmac-sha256:" + hmac.digest(derived, text, "sha256").hex()


def coins(known: np.ndarray, key: str) -> np.ndarray:
    """Return a number in [0, 1) for each id [people], or each row of words of 8 bytes [people, k]:
    SipHash-1-3 with a key of 32 hexadecimal digits.
    """
    if len(known) > 8192:
        return np.concatenate(
            [coins(part, key) for part in np.array_split(known, len(known) // 8192 + 1)]
        )
    if known.ndim == 1 and known.dtype.kind in "iu":
        known = known.astype(np.int64)[:, None]
    elif known.ndim == 1:  # texts as UTF-8, padded with zeros
        texts = [str(each).encode(errors="surrogatepass") for each in known.tolist()]
        short = [  # a final zero could not be told from padding
            hashlib.blake2b(each, digest_size=16).digest()
            if len(each) > 40 or each.endswith(b"\0")
            else each
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
    # three rounds without a word finish the hash
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
    """A rule for people. `document` is the content of its file; `key` tosses its coins and has
    verified its signature, or is None. Raises ValueError, with a sentence, for anything else.
    """

    def __init__(self, document: dict[str, Any], key: str | None = None) -> None:
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise ValueError(
                f"this is not a rule for people: its format is not {FORMAT!r}; give the file of "
                "a rule"
            )
        version = document.get("version")
        if version not in (1, VERSION):
            raise ValueError(
                f"the rule has version {version!r} and version {VERSION} is read; update"
            )
        checksum = document.get("digest" if version == 1 else "checksum")
        if checksum != _checksum(_canonical(document)):
            raise ValueError(
                "the rule was changed since it was made: its checksum does not fit; "
                "take the original file"
            )
        if version == 1:  # version 1 contains its key, and no signature
            own = document["key"]
            facts = {name: document[name] for name in document if name not in ("key", "digest")}
            document = _seal(facts, own)
            key = key or own
        if key is not None:
            _check_seal(document, key)
        self.key = key
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
        ties = sorted(document["ties"]["points"], key=lambda tie: tie["point"])
        self.points = np.array([tie["point"] for tie in ties]).reshape(-1, m + len(self.groups)).T
        self.columns = np.array([tie["column"] for tie in ties]).reshape(-1, m)
        if self.loss.shape != (len(self.truths), m) or self.tilt.shape != (m, len(self.groups)):
            raise ValueError("the tables of the rule do not fit its labels; take the original file")

    @classmethod
    def sealed(cls, facts: dict[str, Any], key: str) -> Rule:
        """Return the rule of a document's facts, with a checksum, and a signature by this key."""
        return cls(json.loads(json.dumps(_seal(facts, key))), key)

    @classmethod
    def load(cls, path: Any, key: Any = None) -> Rule:
        """Load the rule of a file. Its key is `key`, or else in the environment variable
        DISCREET_KEY or in the file PATH.key. Without a key, a warning states that the signature
        was not checked.
        """
        key = find_key(key, f"{path}.key")
        try:
            rule = cls(json.loads(Path(path).read_text(encoding="utf-8")), key)
        except (
            OSError,
            KeyError,
            TypeError,
            RecursionError,
            UnicodeDecodeError,
            json.JSONDecodeError,
        ) as error:
            raise ValueError(
                f"{path} is not a rule for people ({type(error).__name__}: {error}); give another"
            ) from None
        if rule.key is None:
            warnings.warn(
                f"the signature of {path} was not checked, as its key is not known; give key=, set "
                f"{VARIABLE}, or put the key file back that was written with it",
                stacklevel=2,
            )
        return rule

    def save(self, path: Any, overwrite: bool = False) -> None:
        """Write the rule as JSON, one fact per line, and its key into PATH.key; FileExistsError if
        a file exists and may not be replaced.
        """
        with Path(path).open("w" if overwrite else "x", encoding="utf-8") as stream:
            stream.write(self.text)
        if self.key is not None:
            write_key(f"{path}.key", self.key, overwrite)

    @property
    def text(self) -> str:
        """Return the JSON text of its file."""
        facts = (
            f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
            for key, value in self.document.items()
        )
        return "{\n" + ",\n".join(facts) + "\n}\n"

    @property
    def needs_ids(self) -> bool:
        """True if its guesses need ids: if many people with one record draw, since its coin would
        be the same for all, or if a lottery hides a guess, since the coins of near-duplicates of
        a record would average the lottery out.
        """
        return bool(self.document.get("coins") == "ids")

    @property
    def possible_guesses(self) -> tuple[Any, ...]:
        """The guesses that it can make; a single one for a constant rule."""
        return tuple(
            guess
            for guess, p in zip(self.guesses, self.towards, strict=True)
            if p > 0.0 or self.share < 1.0
        )

    @property
    def draws(self) -> bool:
        """True if a coin decides for some people."""
        if self.share == 1.0:
            return bool(self.towards.max() < 1.0)
        return self.share > 0.0 or len(self.columns) > 0 or self.second is not None

    def predict_proba(self, p_y: Any, p_x: Any) -> np.ndarray:
        """Return the probabilities of the guesses [people, guesses], from which `predict` draws."""
        p_y, p_x = (
            _check_values(p_y, "p_y", (len(p_x), len(self.truths))),
            _check_values(p_x, "p_x", (len(p_y), len(self.groups))),
        )
        # blocks that fit into a cache take a third of the time
        if len(steps := range(0, len(p_y), 8192)) > 1:
            return np.concatenate(
                [self.predict_proba(p_y[k : k + 8192], p_x[k : k + 8192]) for k in steps]
            )
        losses = _sums(self.loss.T, p_y)
        scores = losses + _sums(self.tilt, p_x)
        seen = np.vstack([losses, p_x.T])
        columns = np.eye(len(scores)).take(scores.argmin(axis=0), axis=0)
        if (second := self.second) is not None:  # draws one of the guesses that tie
            tied = scores <= scores.min(axis=0) + second["band"]
            some = np.flatnonzero(tied.sum(axis=0) > 1)
            others = np.where(
                tied.T[some], _sums(np.array(second["tilt"]), p_x.take(some, axis=0)).T, np.inf
            ).T
            columns[some] = ((powers := np.exp(others.min(axis=0) - others)) / powers.sum(axis=0)).T
        tied = listed(seen, self.points, self.within)
        some = np.flatnonzero(tied >= 0)
        columns[some] = self.columns.take(tied[some], axis=0)
        return np.asarray((1.0 - self.share) * columns + self.share * self.towards)

    def predict(
        self, p_y: Any, p_x: Any, ids: Any = None, fresh: np.random.Generator | None = None
    ) -> np.ndarray:
        """Return the guesses. Coins are tossed by ids (an integer or a text for each person), or by
        a random generator.
        """
        labels = np.array([*self.guesses, None], dtype=object)
        return np.asarray(labels[self.decide(p_y, p_x, ids, fresh)])

    def decide(
        self, p_y: Any, p_x: Any, ids: Any = None, fresh: np.random.Generator | None = None
    ) -> np.ndarray:
        """Return the positions of the guesses in `guesses`."""
        if fresh is None and ids is None and self.needs_ids:
            raise ValueError(f"{NEEDS_IDS}; give ids=")

        def record(drawn: np.ndarray) -> np.ndarray:
            return np.hstack([np.asarray(each)[drawn] for each in (p_y, p_x)]) + 0.0

        return self.draw(self.predict_proba(p_y, p_x), ids, fresh, record)

    def draw(
        self,
        columns: np.ndarray,
        ids: Any,
        fresh: Any,
        record: Callable[[np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """Return the positions drawn from columns [people, guesses]; without ids, coins are tossed
        by the records of the people drawn.
        """
        if fresh is None and self.key is None and self.draws:
            raise ValueError(
                "the rule draws guesses by coins, and their key is not known; give key= when it is "
                f"loaded, set {VARIABLE}, or put the key file back that was written with it"
            )
        return draw_places(columns, ids, fresh, record, str(self.key))


def listed(seen: np.ndarray, points: np.ndarray, within: float) -> np.ndarray:
    """Return, for each person, the index of a point that is within this distance in every number,
    or −1 [people].

    seen: the numbers of each person [k, people]; points: in the order of their first number [k,
    points]. If several are that close, it is the last.
    """
    nearest = np.full(seen.shape[1], -1)
    tie, end = (points[0].searchsorted(seen[0] + k * within) for k in (-2.0, 2.0))
    candidates = np.flatnonzero(tie < end)
    while candidates.size:  # the points with a matching first number
        apart = np.abs(seen.take(candidates, axis=1) - points.take(tie[candidates], axis=1))
        hit = candidates[(apart <= within).all(axis=0)]
        nearest[hit] = tie[hit]
        tie[candidates] = tie[candidates] + 1
        candidates = candidates[tie[candidates] < end[candidates]]
    return nearest


def draw_places(
    columns: np.ndarray,
    ids: Any,
    fresh: Any,
    record: Callable[[np.ndarray], np.ndarray],
    key: str,
) -> np.ndarray:
    """Return the positions [people] drawn from columns [people, guesses].

    Coins are tossed by a generator or, by the key, from ids or the records of the people without a
    certain guess.
    """
    if ids is not None and np.shape(ids) != columns.shape[:1]:
        raise ValueError(
            f"ids has shape {list(np.shape(ids))}; give one id for each of {len(columns)} people"
        )
    chances = columns.T.copy()
    coin = np.full(len(columns), 0.5)  # for a certain guess, any coin works
    drawn = np.flatnonzero(chances.max(axis=0) < 1.0)
    if drawn.size and fresh is not None:
        coin[drawn] = fresh.random(drawn.size)
    elif drawn.size and ids is None:
        coin[drawn] = coins(record(drawn), key)
    elif drawn.size:
        known = np.asarray(ids)
        if known.dtype.kind == "U":  # which drops zeros at the end of a text
            known = np.asarray(ids, dtype=object)
        coin[drawn] = coins(known[drawn], key)
    return sum(
        (coin >= total for total in np.cumsum(chances[:-1], axis=0)),
        np.zeros(len(coin), dtype=np.intp),
    )


def _check_seal(document: dict[str, Any], key: str) -> None:
    """Raise ValueError unless the document was sealed with this key."""
    sealed = _seal(document, key)
    if document.get("key_fingerprint") != sealed["key_fingerprint"]:
        raise ValueError(
            "the key is not that of the rule, as its fingerprint does not fit; give the key that "
            "was written with the rule"
        )
    if document.get("signature") != sealed["signature"]:
        raise ValueError(
            "the rule was changed since it was signed: its signature does not fit; take the "
            "original file"
        )


def _sums(table: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return table · seen [guesses, people], summed in the same order on every machine."""
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

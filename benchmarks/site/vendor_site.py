"""Make a published asv site work without a network: fetch its scripts and styles once, check them, point the page at them.

    python benchmarks/site/vendor_site.py .asv/html [--cache FOLDER] [--packages FOLDER]

asv's page loads ten scripts and styles from content delivery networks. Each is also part of an npm package, listed in
`PACKAGED` with the checksum of the file. Five are byte for byte what the page asks for, and are checked against the page's
own integrity attribute as well. Four of flot's and one sorter of tables exist minified only on those networks: the
unminified source of the same release of flot, and the next published release of the sorter, take their place. The licence
of each package is put beside its scripts.

Packages are fetched by `npm pack`, under whatever registry npm is configured for, and files are kept in a cache beside the
site, so that publishing again needs no network. `--packages` takes tarballs (.tgz) that are there already. asv makes the
page anew at every publish; run this after it. A second run changes nothing. Exit code 2, with a sentence, where a file
cannot be had or is not what it should be; the page is then left as it was.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

FOLDER = "vendored"


class VendorError(Exception):
    """What is wrong and what to do, in a sentence."""


@dataclass(frozen=True)
class Packaged:
    """A file of an npm package, and the base64 SHA-512 of its content."""

    package: str
    path: str
    sha512: str


PACKAGED = {
    "jquery-3.3.1.min.js": Packaged(
        "jquery@3.3.1",
        "package/dist/jquery.min.js",
        "+NqPlbbtM1QqiK8ZAo4Yrj2c4lNQoGv8P79DPtKzj++l5jnN39rHA/xsqn8zE9l0uSoxaCdrOgFs6yjyfbBxSg==",
    ),
    "flot/0.8.3/jquery.flot.min.js": Packaged(
        "flot@0.8.3",
        "package/jquery.flot.js",
        "1bVFcysZL1+sq86GjuK3hopY6NUKgO8hbXkMn8Bh7OEKYuUKAsu+77qYVCCEkm5XkeKh4yodJtVNRQzbDjoA1Q==",
    ),
    "flot/0.8.3/jquery.flot.time.min.js": Packaged(
        "flot@0.8.3",
        "package/jquery.flot.time.js",
        "fEs27qcvuepYOlPbogPMCRS2q1JLH+sSuTf59pTAHu224ltQYiSF5wKkZ5AQgkmn39D8BzKkJfVNQrsTEHvWgQ==",
    ),
    "flot/0.8.3/jquery.flot.selection.min.js": Packaged(
        "flot@0.8.3",
        "package/jquery.flot.selection.js",
        "c6h/44fD74kBkH1kAEx6q6aq6KXcbSn4ReY45CTD4Tu6R1O2T7Ql0Aa/Pqkzh3MQHZam58pHnjyvfJA6JfM4AA==",
    ),
    "flot/0.8.3/jquery.flot.categories.min.js": Packaged(
        "flot@0.8.3",
        "package/jquery.flot.categories.js",
        "N8W4gxKd16zsSZZ2OWsQDMaQu0jnxJPSiAsOwFkXgvnB1W0mmOqbxFiNhgGFJUFLjII7Q8VHdGNMDP+RH87uuA==",
    ),
    "flot-orderbars@1.0.0/js/jquery.flot.orderBars.js": Packaged(
        "flot-orderbars@1.0.0",
        "package/js/jquery.flot.orderBars.js",
        "3xXz7WBfeSw+iQ3Ct9AvHScpfp24OHRixtQzekbjfRFM8+VziBImMP6so9h0gpDWWOGZ00nZymYP8c9pGkowYw==",
    ),
    "stupidtable/1.0.1/stupidtable.min.js": Packaged(
        "stupid-table-plugin@1.1.3",
        "package/stupidtable.min.js",
        "T2dqwCYHuN8dbqIgYhwdGm+VtfUBecC06wUrciItlLJsteoe07db34cbmp/GZGIrC5/q1xy1V96BuvPiMXnedA==",
    ),
    "blueimp-md5/2.19.0/js/md5.min.js": Packaged(
        "blueimp-md5@2.19.0",
        "package/js/md5.min.js",
        "8pbzenDolL1l5OPSsoURCx9TEdMFTaeFipASVrMYKhuYtly+k3tcsQYliOEKTmuB1t7yuzAiVo+yd7SJz+ijFQ==",
    ),
    "bootstrap@3.1.1/dist/js/bootstrap.min.js": Packaged(
        "bootstrap@3.1.1",
        "package/dist/js/bootstrap.min.js",
        "vO2Z2TMWFHV2Qyc0QaK4khEDOClJqw5RDzhsRT7CojWdo5aA2KFp5ry+dTGETq9fWYVg8NEz0/o6n2x1ArFI3w==",
    ),
    "bootstrap@3.1.1/dist/css/bootstrap.min.css": Packaged(
        "bootstrap@3.1.1",
        "package/dist/css/bootstrap.min.css",
        "BX/R0uUd8EXbPa29QfrCsxg5xPZR+JfM0k6K6zFiygTje1CXfxHclrUKJblO4lJeorJTmGJ4jjj0NjbQtbTRkg==",
    ),
}
"""End of the address in asv's page -> the file that takes its place."""

LICENCES = (
    Packaged(
        "jquery@3.3.1",
        "package/LICENSE.txt",
        "128uK7Eugl7ACHyopiV7ZZsQ8g6hs6FHXXcgLWhinKlpS8lH5HI/4XK/zeSgmsOrMoBX0C0amWWp1GZAqRB46A==",
    ),
    Packaged(
        "flot@0.8.3",
        "package/LICENSE.txt",
        "pUKFhbzN+qrTNl5OOuiAfeeV6v1vHB06GFU7GUoQdjJANmbWywIPtebNrLPs25Bmo8OT4mIaVFFdZUSF3oOVfg==",
    ),
    Packaged(
        "flot-orderbars@1.0.0",
        "package/package.json",
        "flDKpiQr4bjYwtQI0COfqivJ7o7QnyGYjdvlQyzHtXKJ7fXK3Tc/rIZ3CEkpA7jjvky1d4mjY1lcUxl0dzLvMQ==",
    ),
    Packaged(
        "stupid-table-plugin@1.1.3",
        "package/LICENSE",
        "84As1UNU5ZhE6b9yyn9wLfp4JhOj54wB3UBh/C7Cs4zw17b9UJgbElQUoFM6ILQBOgpwkm+SMtDlJaPAqAlprA==",
    ),
    Packaged(
        "blueimp-md5@2.19.0",
        "package/LICENSE.txt",
        "qh753qosHyW5uu7pZxNqk+7PEPIAZ5c0ULkhGzW91/LN9gxAdFb5AEORp8c5qTnXv6NPvtytJm5KcAqFhBMD3w==",
    ),
    Packaged(
        "bootstrap@3.1.1",
        "package/LICENSE",
        "Shn1eFTLZ+4qxrHkJM9EI0mJZ6qN/Ay84VUl7/FL62LUr++OD46elJ98n6AgYWcOrq20tgdcslh2N+q1ul5skg==",
    ),
)
"""The licence of each package, which lies beside its scripts; flot-orderbars states it in its description only."""

_TAG = re.compile(r'<(?:script|link)\b[^>]*?\b(?:src|href)="(?P<url>(?:https?:)?//[^"]+)"[^>]*>')
_INTEGRITY = re.compile(r'\bintegrity="([^"]+)"')


def vendor(site: Path, cache: Path, packages: Path | None = None) -> int:
    """Rewrite site/index.html and put the files beside it; the number of tags rewritten. Raises VendorError."""
    page = site / "index.html"
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        raise VendorError(f"cannot read {page}: {error.strerror}; run asv publish first, and give its html folder") from None
    tags = list(_TAG.finditer(text))
    contents = {tag["url"]: _content(tag["url"], tag[0], cache, packages) for tag in tags}
    for url, content in contents.items():
        target = site / FOLDER / _local_name(url)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(content)
    for each in LICENCES:
        if any(_packaged(url).package == each.package for url in contents):
            (site / FOLDER / f"LICENCE-{each.package}.txt").write_bytes(_kept(each, cache, packages))
    page.write_text(_TAG.sub(_local_tag, text), encoding="utf-8")
    return len(tags)


def _local_tag(tag: re.Match[str]) -> str:
    """The same tag for a file beside the page; integrity and cross-origin words are for networks (and fail on file://)."""
    name = f"{FOLDER}/{_local_name(tag['url'])}"
    if tag[0].startswith("<link"):
        return f'<link rel="stylesheet" href="{name}">'
    return f'<script src="{name}" onerror="js_load_failure()">'


def _local_name(url: str) -> str:
    return _packaged(url).path.rsplit("/", 1)[-1]


def _packaged(url: str) -> Packaged:
    for ending, packaged in PACKAGED.items():
        if url.endswith(ending):
            return packaged
    raise VendorError(
        f"asv's page loads {url}, which this command does not know; add it to PACKAGED in {Path(__file__).name}"
    )


def _content(url: str, tag: str, cache: Path, packages: Path | None) -> bytes:
    packaged = _packaged(url)
    content = _kept(packaged, cache, packages)
    _check_integrity(url, tag, content, packaged)
    return content


def _kept(packaged: Packaged, cache: Path, packages: Path | None) -> bytes:
    """The content of a packaged file, from the cache if it is there, and kept in it otherwise."""
    kept = cache / packaged.package.replace("/", "+") / packaged.path.rsplit("/", 1)[-1]
    content = kept.read_bytes() if kept.is_file() and _sha512(kept.read_bytes()) == packaged.sha512 else None
    if content is None:
        content = _extract(_tarball(packaged.package, cache, packages), packaged)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(content)
    return content


def _check_integrity(url: str, tag: str, content: bytes, packaged: Packaged) -> None:
    """Where the page asks for the very file that is packaged, its own checksum has to hold too."""
    asked = _INTEGRITY.search(tag)
    if asked is None or packaged.package in STAND_INS:
        return
    algorithm, _, expected = asked[1].partition("-")
    found = base64.b64encode(hashlib.new(algorithm, content).digest()).decode()
    if found != expected:
        raise VendorError(f"{packaged.path} of {packaged.package} is not the file of {url}: asv's page asks for {asked[1]}")


STAND_INS = {"flot@0.8.3", "stupid-table-plugin@1.1.3"}
"""Packages whose files take the place of another build of the same library."""


def _sha512(content: bytes) -> str:
    return base64.b64encode(hashlib.sha512(content).digest()).decode()


def _extract(tarball: Path, packaged: Packaged) -> bytes:
    try:
        with tarfile.open(tarball) as archive:
            member = archive.extractfile(packaged.path)
            content = member.read() if member is not None else b""
    except (OSError, KeyError, tarfile.TarError) as error:
        raise VendorError(f"cannot read {packaged.path} from {tarball}: {error}; remove the file and try again") from None
    if _sha512(content) != packaged.sha512:
        raise VendorError(
            f"{packaged.path} from {tarball} has another checksum than expected; remove the file and try again"
        )
    return content


def _tarball(package: str, cache: Path, packages: Path | None) -> Path:
    name = _archive(package)
    for folder in filter(None, (packages, cache)):
        if (folder / name).is_file():
            return folder / name
    if packages is not None:
        raise VendorError(f"{packages} has no {name}; put the package there, or leave --packages out to fetch it")
    _fetch(cache)
    return cache / name


def _archive(package: str) -> str:
    return f"{package.replace('@', '-')}.tgz"


def _fetch(cache: Path) -> None:
    """All packages that the cache does not hold yet, by one npm."""
    missing = sorted({each.package for each in PACKAGED.values() if not (cache / _archive(each.package)).is_file()})
    npm = shutil.which("npm")
    if npm is None:
        names = ", ".join(missing)
        raise VendorError(
            f"npm is not installed, which fetches {names}; install it, or give --packages a folder of tarballs"
        )
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="discreet-") as scratch:
        command = [npm, "pack", *missing, "--ignore-scripts", "--silent"]
        words = f"npm pack {' '.join(missing)}"
        try:
            done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            raise VendorError(f"{words} did not end within 120 s; see whether npm's registry can be reached") from None
        fetched = {path.name for path in Path(scratch).iterdir()}
        if done.returncode or not fetched >= set(map(_archive, missing)):
            last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0]
            raise VendorError(f"{words} failed ({last}); see whether npm's registry can be reached")
        for name in fetched:
            shutil.move(Path(scratch) / name, cache / name)


def main(arguments: list[str] | None = None) -> int:
    """The command line; 0, or 2 with a sentence on standard error."""
    parser = argparse.ArgumentParser(description="Make a published asv site work without a network.")
    parser.add_argument("site", type=Path, help="the folder that asv publish wrote")
    parser.add_argument("--cache", type=Path, help="where fetched files are kept (default: vendor beside the site)")
    parser.add_argument("--packages", type=Path, help="a folder of npm tarballs, instead of fetching them")
    asked = parser.parse_args(arguments)
    try:
        count = vendor(asked.site, asked.cache or asked.site.resolve().parent / "vendor", asked.packages)
    except VendorError as error:
        print(f"vendor_site: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"vendor_site: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    print(
        f"{count} scripts and styles now lie beside the page" if count else "nothing to do: the page loads nothing from afar"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

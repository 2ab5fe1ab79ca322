"""Publish the results of asv as a site that tells nothing of the machine's owner and works without a network.

    python benchmarks/site/publish_site.py [--results .asv/results] [--html .asv/html] [--machine NAME] [--packages FOLDER]

Three steps that can also be taken alone: the results are copied without paths and names (`share_results.py`), `asv publish`
makes the site of the copy, and its scripts are put beside it (`vendor_site.py`). The site is then looked through for
absolute paths once more. Paths are relative to where the command runs; everything else is as `asv.conf.json` says. Exit
code 2, with a sentence, where a step cannot be done.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from share_results import MACHINE, ShareError, share
from vendor_site import VendorError, vendor

CONFIGURATION = Path(__file__).resolve().parents[1] / "asv.conf.json"


class PublishError(Exception):
    """What is wrong and what to do, in a sentence."""


def publish(results: Path, html: Path, machine: str, packages: Path | None, configuration: Path = CONFIGURATION) -> int:
    """Make the site; the number of commits × environments in it. Raises ShareError, PublishError, VendorError."""
    with tempfile.TemporaryDirectory(prefix="discreet-") as scratch:
        count = share(results, Path(scratch) / "results", machine)
        settings = Path(scratch) / "asv.conf.json"
        settings.write_text(json.dumps(_settings(configuration, Path(scratch), html)), encoding="utf-8")
        command = [sys.executable, "-m", "asv", "publish", "--config", str(settings)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            last = ((done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"])[-1]
            raise PublishError(f"asv publish failed ({last}); run it by itself to see all that it says")
        _look_through(html, [scratch, str(configuration.parent)])
    vendor(html, html.resolve().parent / "vendor", packages)
    return count


def _settings(configuration: Path, scratch: Path, html: Path) -> dict[str, Any]:
    """asv's settings with absolute places: those of the copy and of the site, the repository where it was."""
    settings: dict[str, Any] = json.loads(configuration.read_text(encoding="utf-8"))
    here = configuration.parent
    places = {"repo": here / settings["repo"], "benchmark_dir": here / settings["benchmark_dir"], "html_dir": html}
    places |= {"results_dir": scratch / "results", "env_dir": scratch / "env"}
    return settings | {name: str(place.resolve()) for name, place in places.items()}


def _look_through(html: Path, words: list[str]) -> None:
    """asv is told absolute places; that none of them is in the site."""
    for path in sorted(path for path in html.rglob("*") if path.suffix in (".json", ".xml", ".html")):
        text = path.read_text(encoding="utf-8")
        for word in words:
            if word in text:
                raise PublishError(f"{path} would hold {word!r}; do not publish it, and tell how it came there")


def main(arguments: list[str] | None = None) -> int:
    """The command line; 0, or 2 with a sentence on standard error."""
    parser = argparse.ArgumentParser(description="Publish results of asv without names of the machine, for offline use.")
    parser.add_argument("--results", type=Path, default=Path(".asv/results"), help="results of asv (default: %(default)s)")
    parser.add_argument("--html", type=Path, default=Path(".asv/html"), help="where the site goes (default: %(default)s)")
    parser.add_argument("--machine", default=MACHINE, help="what the machine is called there (default: %(default)s)")
    parser.add_argument("--packages", type=Path, help="a folder of npm tarballs, instead of fetching them")
    asked = parser.parse_args(arguments)
    try:
        count = publish(asked.results, asked.html, asked.machine, asked.packages)
    except (ShareError, PublishError, VendorError) as error:
        print(f"publish_site: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"publish_site: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    print(f"the site of {count} commits is in {asked.html}; open index.html there under any web server")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

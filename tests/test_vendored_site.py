"""A published asv site, vendored: its files are checked, errors are clear, and a real browser shows it without a network."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks" / "site"


@pytest.fixture(scope="module")
def command() -> Iterator[Any]:
    """The module of the command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        for name in ("vendor_site", "share_results", "publish_site"):
            patch.delitem(sys.modules, name, raising=False)
        yield importlib.import_module("vendor_site")


def found_asv() -> Path:
    """The folder of asv, whose import takes longer than most tests."""
    found = importlib.util.find_spec("asv")
    if found is None or found.origin is None:
        pytest.skip("the extra `bench` is not installed")
    return Path(found.origin).parent


def asv_page() -> str:
    """The page that the installed asv publishes."""
    return (found_asv() / "www" / "index.html").read_text(encoding="utf-8")


def test_every_address_of_asvs_page_is_known(command: Any) -> None:
    urls = [tag["url"] for tag in command._TAG.finditer(asv_page())]
    assert len(urls) == len(command.PACKAGED) == 10
    names = {command._local_name(url) for url in urls}
    assert len(names) == len(urls), "two files would lie on top of each other"


def test_every_vendored_package_has_its_licence(command: Any) -> None:
    assert {each.package for each in command.LICENCES} == {each.package for each in command.PACKAGED.values()}


def test_without_a_site_the_command_says_what_to_do(
    command: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([str(tmp_path / "none")]) == 2
    assert "run asv publish first" in capsys.readouterr().err


def test_a_file_that_cannot_be_fetched_leaves_the_page_unchanged(
    command: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "html" / "index.html"
    page.parent.mkdir()
    page.write_text(asv_page(), encoding="utf-8")
    monkeypatch.setattr(command.shutil, "which", lambda name: None)
    assert command.main([str(page.parent)]) == 2
    assert "npm is not installed" in capsys.readouterr().err
    assert page.read_text(encoding="utf-8") == asv_page()


def test_a_changed_package_is_refused(command: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import tarfile

    (tmp_path / "index.html").write_text(asv_page(), encoding="utf-8")
    changed = tmp_path / "package" / "dist"
    changed.mkdir(parents=True)
    (changed / "jquery.min.js").write_text("something else", encoding="utf-8")
    with tarfile.open(tmp_path / "jquery-3.3.1.tgz", "w:gz") as archive:
        archive.add(changed / "jquery.min.js", "package/dist/jquery.min.js")
    assert command.main([str(tmp_path), "--packages", str(tmp_path), "--cache", str(tmp_path / "cache")]) == 2
    assert "has another checksum" in capsys.readouterr().err


def test_an_unknown_address_is_named(command: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "index.html").write_text('<script src="https://example.org/new.js"></script>', encoding="utf-8")
    assert command.main([str(tmp_path)]) == 2
    assert "loads https://example.org/new.js, which this command does not know" in capsys.readouterr().err


# -- the whole way, in a browser -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(command: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The site of a tiny project, published by the one command; skipped if the packages cannot be fetched."""
    found_asv()
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("tiny")
    _measure(folder)
    html = folder / "html"
    publisher = importlib.import_module("publish_site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        try:
            assert publisher.publish(folder / "results", html, "box", None, folder / "asv.conf.json") == 1
        except command.VendorError as error:
            if "npm pack" not in str(error):
                raise
            pytest.skip(str(error))
        yield html


def _measure(folder: Path) -> None:
    suite = folder / "suite"
    suite.mkdir()
    (suite / "__init__.py").touch()
    body = "class Sum:\n    params = [10, 1000]\n    param_names = ['size']\n"
    body += "    def time_sum(self, size):\n        sum(range(size))\n"
    (suite / "bench_sum.py").write_text(body, encoding="utf-8")
    settings = {"version": 1, "project": "tiny", "repo": ".", "branches": ["main"], "benchmark_dir": "suite"}
    settings |= {"environment_type": "virtualenv"}
    (folder / "asv.conf.json").write_text(json.dumps(settings | {"html_dir": "html"}), encoding="utf-8")
    _call(folder, "git", "init", "-q", "-b", "main")
    _call(folder, "git", "add", "suite")
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    _call(folder, "git", *who, "commit", "-q", "-m", "first")
    head = _call(folder, "git", "rev-parse", "HEAD").strip()
    asv = (sys.executable, "-m", "asv")
    bench = {"machine": "bench", "os": "", "arch": "", "cpu": "", "num_cpu": "2", "ram": ""}
    (folder / ".asv-machine.json").write_text(json.dumps({"bench": bench, "version": 1}), encoding="utf-8")
    _call(
        folder, *asv, "run", "-E", f"existing:{sys.executable}", "--set-commit-hash", head, "--quick", "--machine", "bench"
    )


def _call(folder: Path, *command: str) -> str:
    import os

    environment = os.environ | {"HOME": str(folder), "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_site_holds_no_path_and_no_name_of_the_machine(site: Path) -> None:
    (raw,) = (site.parent / "results" / "bench").glob("*-existing-*.json")
    told = raw.read_text(encoding="utf-8")
    assert sys.executable in told or sys.executable.replace("/", "_") in told  # as asv 0.6.4 has it
    names = [path.relative_to(site).as_posix() for path in site.rglob("*")]
    assert any("machine-box" in name and "python-existing" in name for name in names)
    told = [path.read_text(encoding="utf-8") for path in site.rglob("*") if path.suffix in (".json", ".xml", ".html")]
    for words in (str(site.parent), sys.executable, sys.executable.replace("/", "_"), "machine-bench", '"bench"'):
        assert not any(words in text for text in (*names, *told))


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
def test_the_licences_lie_beside_the_scripts(command: Any, site: Path) -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in (site / command.FOLDER).glob("LICENCE-*.txt")}
    assert sorted(texts) == sorted(f"LICENCE-{each.package}.txt" for each in command.LICENCES)
    assert all("MIT" in text or "Permission is hereby granted" in text for text in texts.values())


def test_the_vendored_site_shows_grid_and_plot_without_a_network(command: Any, site: Path, browser: Any) -> None:
    before = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in site.rglob("*") if path.is_file()}
    assert command.vendor(site, site.parent / "vendor") == 0
    assert before == {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in site.rglob("*") if path.is_file()}
    with _served(site) as address:
        page = browser.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.route(
            "**/*", lambda route: route.continue_() if route.request.url.startswith(address) else _afar(route, complaints)
        )
        page.goto(f"{address}/index.html")
        page.wait_for_selector("text=Sum.time_sum")
        page.goto(f"{address}/index.html#/summarylist")
        page.wait_for_selector("#summarylist-body table tbody tr")
        page.click("#summarylist-body th >> nth=1")
        page.goto(f"{address}/index.html#bench_sum.Sum.time_sum")
        page.wait_for_selector("#main-graph canvas.flot-base")
        page.wait_for_selector("#main-graph .flot-text >> nth=0", state="attached")
        page.close()
    assert complaints == []


def _afar(route: Any, complaints: list[str]) -> None:
    complaints.append(f"asked for {route.request.url}")
    route.abort()


class _served:  # noqa: N801 a context manager reads as a verb
    """Serve the folder on a port of this machine."""

    def __init__(self, folder: Path) -> None:
        import functools
        import http.server

        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))

    def __enter__(self) -> str:
        import threading

        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

"""Every published picture, drawn by the programs in which people open SVG files.

resvg, CairoSVG and Chromium draw in the gate, and librsvg where the system has it. A picture is
right if its ground is painted, all colours of its shapes are there, and nothing is black for want
of a colour; and if every program draws what resvg draws.
"""

import ctypes
import io
import os
import re
import xml.etree.ElementTree as ET
from functools import cache

import numpy as np
import pytest
import resvg_py
from checkout import DOCS, ROOT, text_of
from PIL import Image

from discreet.showing.plane import COLOURS

pytestmark = pytest.mark.gate

PICTURES = sorted(path for folder in ("docs", "reports") for path in (ROOT / folder).rglob("*.svg"))
NEARLY_BLACK = 0x18
"""The largest channel of every colour on a light ground is above it."""


def on_magenta(png):
    """The colours [height, width, 3] of a PNG; where nothing is painted, magenta, which no picture
    has.
    """
    drawn = Image.open(io.BytesIO(png)).convert("RGBA")
    ground = Image.new("RGBA", drawn.size, (255, 0, 255, 255))
    ground.alpha_composite(drawn)
    return np.asarray(ground.convert("RGB"), dtype=int)


@cache
def by_resvg(path):
    return on_magenta(bytes(resvg_py.svg_to_bytes(svg_path=str(path))))


def by_cairosvg(path):
    try:
        import cairosvg
    except (ImportError, OSError):
        pytest.skip("CairoSVG is not installed, or the library cairo")
    return on_magenta(cairosvg.svg2png(url=str(path)))


class Box(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_double) for name in ("x", "y", "width", "height"))


def by_librsvg(path):
    try:
        rsvg, cairo = (ctypes.CDLL(name) for name in ("librsvg-2.so.2", "libcairo.so.2"))
    except OSError:
        pytest.skip("librsvg is not installed")
    pointer = ctypes.c_void_p
    for function, kinds in (
        (rsvg.rsvg_handle_new_from_file, (ctypes.c_char_p, pointer)),
        (rsvg.rsvg_handle_render_document, (pointer, pointer, ctypes.POINTER(Box), pointer)),
        (cairo.cairo_image_surface_create, (ctypes.c_int, ctypes.c_int, ctypes.c_int)),
        (cairo.cairo_create, (pointer,)),
        (cairo.cairo_surface_write_to_png_stream, (pointer, pointer, pointer)),
    ):
        function.argtypes = kinds
        function.restype = pointer
    width, height = size_of(path)
    surface = cairo.cairo_image_surface_create(0, width, height)
    handle = rsvg.rsvg_handle_new_from_file(os.fsencode(path), None)
    box = ctypes.byref(Box(0.0, 0.0, width, height))
    assert rsvg.rsvg_handle_render_document(handle, cairo.cairo_create(surface), box, None)
    written = []

    @ctypes.CFUNCTYPE(ctypes.c_int, pointer, ctypes.POINTER(ctypes.c_char), ctypes.c_uint)
    def keep(_, data, length):
        written.append(data[:length])
        return 0

    cairo.cairo_surface_write_to_png_stream(surface, ctypes.cast(keep, pointer), None)
    return on_magenta(b"".join(written))


PROGRAMS = {"resvg": by_resvg, "cairosvg": by_cairosvg, "librsvg": by_librsvg}


def by_chromium(browser, path, scheme):
    width, height = size_of(path)
    page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": height})
    page.goto(path.as_uri())
    drawn = on_magenta(page.screenshot())
    page.close()
    return drawn


def size_of(path):
    found = re.search(r' width="([\d.]+)" height="([\d.]+)"', text_of(path))
    return tuple(int(float(length)) for length in found.groups())


def colours_of_shapes(path, dark=False):
    """The colours that a picture names for the fills and lines of its shapes, transparent ones left
    out.
    """
    picture = ET.parse(path).getroot()
    light, _, other = picture.findtext("{*}style").partition("@supports")
    shapes = [
        set(shape.get("class", "").split())
        for name in ("path", "circle", "rect")
        for shape in picture.iterfind(f".//{{*}}{name}")
    ]
    rules = re.findall(r"\.\w+ \.([\w.]+)\{([^{}]*)\}", other if dark else light)
    used = (
        rule
        for classes, rule in rules
        if "opacity" not in rule and any(set(classes.split(".")) <= shape for shape in shapes)
    )
    named = re.findall(r"(?:fill|stroke):#(\w{6})\b", ";".join(used))
    return {tuple(bytes.fromhex(colour)) for colour in named}


def colours_of(drawn):
    """The colours that occur [K, 3]."""
    packed = np.unique(drawn @ (1 << 16, 1 << 8, 1))
    return np.stack([packed >> 16, packed >> 8 & 0xFF, packed & 0xFF], axis=1)


def in_tiles(drawn, side=16):
    """The mean colours of squares; programs place letters and edges within a fraction of a pixel,
    and round the size of a picture up or down.
    """
    height, width = (length // side - 1 for length in drawn.shape[:2])
    whole = drawn[: height * side, : width * side]
    return whole.reshape(height, side, width, side, 3).mean(axis=(1, 3))


def faults(drawn, path, dark=False):
    """Return what is wrong with a picture as it was drawn."""
    ground = bytes.fromhex(COLOURS["paper"][dark][1:])
    if (drawn[[1, 1, -2, -2], [1, -2, 1, -2]] != tuple(ground)).any():
        yield f"{path.name}: the ground is not painted"
    seen = colours_of(drawn)
    for colour in colours_of_shapes(path, dark):
        if np.abs(seen - colour).max(axis=1).min() > 24:
            yield f"{path.name}: nothing is #{bytes(colour).hex()}"
    if dark:
        return
    if seen.max(axis=1).min() < NEARLY_BLACK:
        yield f"{path.name}: something is black"
    if np.abs(in_tiles(drawn) - in_tiles(by_resvg(path))).mean() > 4.0:
        yield f"{path.name}: resvg draws something else"


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_draws_every_picture_in_its_light_colours(program):
    found = [fault for path in PICTURES for fault in faults(PROGRAMS[program](path), path)]
    assert found == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_draws_every_picture_in_both_schemes(browser, scheme):
    found = [
        fault
        for path in PICTURES
        for fault in faults(by_chromium(browser, path, scheme), path, scheme == "dark")
    ]
    assert found == []


def test_a_picture_without_a_colour_is_found_out(tmp_path):
    """The faults of pictures whose colours are variables, as ours were."""
    whole = DOCS / "figures" / "one-sensor.svg"
    text = text_of(whole)
    path = tmp_path / "variables.svg"
    path.write_text(re.sub(r"(fill|stroke):#\w{6}", r"\1:var(--a)", text), encoding="utf-8")
    found = " ".join(faults(by_resvg(path), whole))
    assert "ground" in found
    assert "nothing is #0063a6" in found

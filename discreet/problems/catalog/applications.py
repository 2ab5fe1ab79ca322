"""The paper's three motivating applications as concrete models: smart meter, building, road.

The paper names the applications and gives no numbers. Every number here is a parameter or a
constant with its source; numbers marked *assumed* are round values of a plausible size, chosen by
us.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from discreet.errors import InputError
from discreet.numerics.double_double import Array
from discreet.problems.catalog.registry import Number, Whole, check_size, register
from discreet.problems.sensors.bins import NormalDensity, even_edges, interval_masses, single_sensor


@register("application")
def smart_meter(
    bins: Annotated[
        int, Whole("bins of power, even from 0 to 6 kW with the last one open", 2)
    ] = 24,
    home: Annotated[float, Number("Pr(somebody is home)", zero=True, most=1.0)] = 0.6,
    heating_home: Annotated[
        float, Number("Pr(heat pump runs) when somebody is home", zero=True, most=1.0)
    ] = 0.5,
    heating_away: Annotated[
        float, Number("Pr(heat pump runs) when nobody is home", zero=True, most=1.0)
    ] = 0.25,
    base: Annotated[float, Number("mean power of an empty house, kW")] = 0.25,
    living: Annotated[float, Number("mean power added by people at home, kW", zero=True)] = 0.7,
    heating: Annotated[float, Number("mean power added by the heat pump, kW", zero=True)] = 1.8,
    variation: Annotated[float, Number("standard deviation ÷ mean of the power")] = 0.45,
) -> Array:
    """X: somebody is home; Y: the heat pump runs; Z: mean power of a quarter of an hour, binned.

    A grid operator needs to know which flexible loads run; the household does not want to reveal
    when it is out.

    Power given (x, y) is gamma distributed with mean base + living·x + heating·y and a fixed
    coefficient of variation: power is positive and its spread grows with its mean (assumed). All
    eight numbers are assumed: 0.25 kW represents refrigerator and standby, 1.8 kW a small heat
    pump, and a heat pump is set back when nobody is home.
    """
    from scipy import stats

    p_x = np.array([1.0 - home, home])
    runs = np.array([heating_away, heating_home])
    square = variation**2
    laws = [
        [
            stats.gamma(1.0 / square, scale=(base + living * x + heating * y) * square)
            for y in (0, 1)
        ]
        for x in (0, 1)
    ]
    p_xy = p_x[:, None] * np.stack([1.0 - runs, runs], axis=1)
    return single_sensor(laws, p_xy, np.append(np.linspace(0.0, 6.0, bins), math.inf))


@register("application")
def building(
    temperature_bins: Annotated[
        int, Whole("bins of temperature, even over 16 to 28 °C with open ends", 2)
    ] = 12,
    co2_bins: Annotated[
        int, Whole("bins of CO2, even over 400 to 1600 ppm with open ends", 2)
    ] = 12,
    few: Annotated[int, Whole("people up to which a room counts as holding few")] = 4,
    many: Annotated[int, Whole("most people in the room", 2)] = 12,
    fresh_air: Annotated[float, Number("usual fresh air, litres per second")] = 60.0,
    loss: Annotated[
        float, Number("heat loss of the room and response of its control, W/K")
    ] = 300.0,
    temperature_noise: Annotated[
        float, Number("standard deviation of the temperature reading, K")
    ] = 0.7,
    co2_noise: Annotated[float, Number("standard deviation of the CO2 reading, ppm")] = 60.0,
    coupling: Annotated[
        float,
        Number(
            (
                "how far the load goes with occupancy: 0 independent, 1 fully; the share of each "
                "load stays"
            ),
            True,
            1.0,
        ),
    ] = 1.0,
) -> Array:
    """X: room empty, few or many people; Y: external heat load; Z: temperature and CO2, binned.

    The climate control needs the external heat load; the readings also reveal how many people are
    in the room.

    X is empty, few (1 to `few` people, equally likely) or many (the rest, up to `many`); Y is low,
    usual or high load, which is correlated with X, because people work by day, when the sun shines.
    In the steady state k people raise CO2 to 420 + 10^6 · 0.0052 k / (fresh air) ppm and warm the
    room by 75 k / loss kelvin; high load also opens the ventilation. Readings are normal around
    these values and independent given k and the load, hence dependent given X. The outcome is
    (temperature bin) · co2_bins + (CO2 bin). The heat and CO2 of a person are from the handbooks
    cited in the code; all other numbers are assumed.
    """
    if many <= few:
        raise InputError(f"many is {many} and few is {few}; give many > few")
    # ppm: NOAA Global Monitoring Laboratory, Mauna Loa annual mean of 2023 (421), rounded.
    outdoor = 420.0
    # Litres of CO2 per second, adult at office work: ANSI/ASHRAE 62.1, informative appendix (0.31
    # L/min)
    breath = 0.0052
    # W sensible, office work: ASHRAE Handbook of Fundamentals 2013, chapter 18, table 1. The rest
    # is assumed: a set point of 21 °C, which external load shifts by ±2 K; high load opens the
    # ventilation by half.
    heat = 75.0
    set_point = np.array([19.0, 21.0, 23.0])
    air = fresh_air * np.array([1.0, 1.0, 1.5])
    p_x = np.array([0.4, 0.35, 0.25])  # empty, few, many
    # Load given occupancy: sun and people.
    coupled = np.array([[0.5, 0.4, 0.1], [0.25, 0.5, 0.25], [0.1, 0.4, 0.5]])
    # p(load) is the same for every coupling
    share = coupling * coupled + (1.0 - coupling) * (p_x @ coupled)
    people = np.arange(many + 1.0)
    joint = np.zeros((3, 3, temperature_bins * co2_bins))
    for y in range(3):
        temperature = NormalDensity(
            (set_point[y] + heat * people / loss)[:, None], temperature_noise
        )
        co2 = NormalDensity((outdoor + 1e6 * breath * people / air[y])[:, None], co2_noise)
        warm = interval_masses(temperature, even_edges(temperature_bins, 16.0, 28.0))
        stale = interval_masses(co2, even_edges(co2_bins, 400.0, 1600.0))
        # Pr(outcome given k, y)
        reading = (warm[:, :, None] * stale[:, None, :]).reshape(people.size, -1)
        for x, present in enumerate((people == 0, (people > 0) & (people <= few), people > few)):
            joint[x, y] = p_x[x] * share[x, y] * reading[present].mean(axis=0)
    return joint


@register("application")
def road(
    bins: Annotated[
        int, Whole("bins of measured position, even over the road with open ends", 2)
    ] = 40,
    segments: Annotated[int, Whole("road segments to tell apart", 2)] = 4,
    length: Annotated[float, Number("length of a segment, m")] = 50.0,
    limit: Annotated[float, Number("speed limit, km/h")] = 50.0,
    deviation: Annotated[
        float, Number("standard deviation of the speed inside a class ÷ the limit", zero=True)
    ] = 0.1,
    delay: Annotated[float, Number("seconds since the vehicle passed the gate", zero=True)] = 8.0,
    start: Annotated[float, Number("standard deviation of where it was then, m")] = 30.0,
    noise: Annotated[float, Number("standard deviation of the position measurement, m")] = 10.0,
) -> Array:
    """X: speed class of a vehicle; Y: the road segment it is on; Z: its measured position, binned.

    Traffic control needs to know which segment a vehicle is on; its position, measured `delay`
    seconds after the gate, also reveals its speed.

    True position S = U + V·delay with U ~ N(0, start²) and V ~ N(mean of the class,
    (deviation·limit)²); Y is the segment that contains S (the first and last are open), Z = S +
    N(0, noise²). p(x, y, z) is the integral of the density of S given x times Pr(Z in bin given S)
    over the segment, by Gauss–Legendre quadrature on panels no wider than the noise. All numbers
    are assumed except the noise: K. Merry, P. Bettinger, "Smartphone GPS accuracy study in an urban
    environment", PLOS ONE 14 (2019), find errors of 7 to 13 m.
    """
    p_x = 0.3, 0.5, 0.2  # slow, at the limit, speeding; assumed, as their mean speeds
    centres = np.array([0.75, 1.0, 1.3]) * limit / 3.6 * delay  # m
    sigma = math.hypot(start, deviation * limit / 3.6 * delay)
    borders = even_edges(segments, 0.0, segments * length)
    edges = even_edges(bins, 0.0, segments * length)
    joint = np.zeros((3, segments, bins))
    for x, centre in enumerate(centres):
        # The mass beyond 12 standard deviations is below 1e-32.
        kept = np.clip(borders, centre - 12.0 * sigma, centre + 12.0 * sigma)
        for y in np.flatnonzero(kept[1:] > kept[:-1]):
            joint[x, y] = p_x[x] * _smear(kept[y], kept[y + 1], centre, sigma, noise, edges)
    return joint


def _smear(
    low: float, high: float, centre: float, sigma: float, noise: float, edges: Array
) -> Array:
    """Return ∫ over [low, high] of the normal density (centre, sigma) at s times Pr(s + N(0,
    noise²) in bin) [bins].
    """
    wide = (high - low) / min(noise, sigma)
    most = 5000
    if not wide <= most:
        raise InputError(
            f"the noise, {noise:g} m, is too small for a road of this size; give at least "
            f"{(high - low) / most:g} m"
        )
    panels = math.ceil(wide)
    check_size("road", {"bins": edges.size, "nodes of the quadrature": 16 * panels})
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = 0.5 * (high - low) / panels
    s = (low + half * (2.0 * np.arange(panels)[:, None] + 1.0 + nodes)).ravel()
    density = np.exp(-0.5 * ((s - centre) / sigma) ** 2) / (sigma * math.sqrt(2.0 * math.pi))
    weight = half * np.tile(weights, panels) * density
    return np.asarray(weight @ interval_masses(NormalDensity(s[:, None], noise), edges))

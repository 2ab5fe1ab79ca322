"""The paper's three motivating applications as concrete models: smart meter, building, road.

The paper names the applications and gives no numbers. Every number here is a parameter or a constant with its source; those
marked *assumed* are round values of a plausible size, chosen by us.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.problems.catalog.registry import register
from discreet.problems.checks import positive, whole
from discreet.problems.errors import InputError
from discreet.problems.numerics.double_double import Array
from discreet.problems.sensors import Normal, interval_masses, single_sensor

__all__ = ["building", "road", "smart_meter"]


# -- smart meter -------------------------------------------------------------------------------------------------------


@register(
    "smart-meter",
    family="application",
    summary="X: somebody is home; Y: the heat pump runs; Z: mean power of a quarter of an hour, binned",
    meanings={
        "bins": "bins of power, even from 0 to 6 kW with the last one open",
        "home": "Pr(somebody is home)",
        "heating_home": "Pr(heat pump runs) when somebody is home",
        "heating_away": "Pr(heat pump runs) when nobody is home",
        "base": "mean power of an empty house, kW",
        "living": "mean power added by people at home, kW",
        "heating": "mean power added by the heat pump, kW",
        "variation": "standard deviation ÷ mean of the power",
    },
)
def smart_meter(
    bins: int = 24,
    home: float = 0.6,
    heating_home: float = 0.5,
    heating_away: float = 0.25,
    base: float = 0.25,
    living: float = 0.7,
    heating: float = 1.8,
    variation: float = 0.45,
) -> Array:
    """A grid operator wants to know which flexible loads run; the household would rather not tell when it is out.

    Power given (x, y) is gamma distributed with mean base + living·x + heating·y and a fixed coefficient of variation: power
    is positive and its spread grows with its mean (assumed). All eight numbers are assumed: 0.25 kW stands for refrigerator
    and standby, 1.8 kW for a small heat pump, and a heat pump is set back when nobody is home.
    """
    from scipy import stats

    bins = whole(bins, "bins", 2)
    p_x = np.array([1.0 - positive(home, "home", zero=True, most=1.0), home])
    away = positive(heating_away, "heating_away", zero=True, most=1.0)
    runs = np.array([away, positive(heating_home, "heating_home", zero=True, most=1.0)])
    base, living, heating = (
        positive(base, "base"),
        positive(living, "living", zero=True),
        positive(heating, "heating", zero=True),
    )
    square = positive(variation, "variation") ** 2
    laws = [[stats.gamma(1.0 / square, scale=(base + living * x + heating * y) * square) for y in (0, 1)] for x in (0, 1)]
    p_xy = p_x[:, None] * np.stack([1.0 - runs, runs], axis=1)
    return single_sensor(laws, p_xy, np.append(np.linspace(0.0, 6.0, bins), math.inf))


# -- building ----------------------------------------------------------------------------------------------------------


@register(
    "building",
    family="application",
    summary="X: room empty, few or many people; Y: external heat load; Z: temperature and CO2 on a product grid",
    meanings={
        "temperature_bins": "bins of temperature, even over 16 to 28 °C with open ends",
        "co2_bins": "bins of CO2, even over 400 to 1600 ppm with open ends",
        "few": "people up to which a room counts as holding few",
        "many": "most people in the room",
        "fresh_air": "usual fresh air, litres per second",
        "loss": "heat loss of the room and answer of its control, W/K",
        "temperature_noise": "standard deviation of the temperature reading, K",
        "co2_noise": "standard deviation of the CO2 reading, ppm",
        "coupling": "how far the load goes with occupancy: 0 independent, 1 fully; the share of each load stays",
    },
)
def building(
    temperature_bins: int = 12,
    co2_bins: int = 12,
    few: int = 4,
    many: int = 12,
    fresh_air: float = 60.0,
    loss: float = 300.0,
    temperature_noise: float = 0.7,
    co2_noise: float = 60.0,
    coupling: float = 1.0,
) -> Array:
    """The climate control wants the external heat load; the readings also tell how many people are in the room.

    X is empty, few (1 to `few` people, equally likely) or many (the rest, up to `many`); Y is low, usual or high load, which
    goes with X, because people work by day, when the sun shines. In the steady state k people breathe CO2 up to
    420 + 10^6 · 0.0052 k / (fresh air) ppm and warm the room by 75 k / loss kelvin; high load also opens the ventilation.
    Readings are normal around these values and independent given k and the load, hence dependent given X. The outcome is
    (temperature bin) · co2_bins + (CO2 bin). The heat and CO2 of a person are from the handbooks cited in the code;
    all else is assumed.
    """
    bins = whole(temperature_bins, "temperature_bins", 2), whole(co2_bins, "co2_bins", 2)
    few, many = whole(few, "few", 1), whole(many, "many", 2)
    if many <= few:
        raise InputError(f"many is {many} and few is {few}; give many > few")
    fresh_air, loss = positive(fresh_air, "fresh_air"), positive(loss, "loss")
    temperature_noise, co2_noise = positive(temperature_noise, "temperature_noise"), positive(co2_noise, "co2_noise")
    coupling = positive(coupling, "coupling", zero=True, most=1.0)
    outdoor = 420.0  # ppm: NOAA Global Monitoring Laboratory, Mauna Loa annual mean of 2023 (421), rounded
    breath = 0.0052  # litres of CO2 per second, adult at office work: ANSI/ASHRAE 62.1, informative appendix (0.31 L/min)
    heat = 75.0  # W sensible, office work: ASHRAE Handbook of Fundamentals 2013, chapter 18, table 1
    # the rest is assumed: a set point of 21 °C, which external load shifts by ±2 K; high load opens the ventilation by half
    set_point = np.array([19.0, 21.0, 23.0])
    air = fresh_air * np.array([1.0, 1.0, 1.5])
    p_x = np.array([0.4, 0.35, 0.25])  # empty, few, many
    coupled = np.array([[0.5, 0.4, 0.1], [0.25, 0.5, 0.25], [0.1, 0.4, 0.5]])  # load given occupancy: sun and people
    share = coupling * coupled + (1.0 - coupling) * (p_x @ coupled)  # p(load) is the same for every coupling
    people = np.arange(many + 1.0)
    joint = np.zeros((3, 3, bins[0] * bins[1]))
    for y in range(3):
        temperature = Normal((set_point[y] + heat * people / loss)[:, None], temperature_noise)
        co2 = Normal((outdoor + 1e6 * breath * people / air[y])[:, None], co2_noise)
        warm = interval_masses(temperature, _open_edges(16.0, 28.0, bins[0]))
        stale = interval_masses(co2, _open_edges(400.0, 1600.0, bins[1]))
        reading = (warm[:, :, None] * stale[:, None, :]).reshape(people.size, -1)  # Pr(outcome given k, y)
        for x, present in enumerate((people == 0, (people > 0) & (people <= few), people > few)):
            joint[x, y] = p_x[x] * share[x, y] * reading[present].mean(axis=0)
    return joint


def _open_edges(low: float, high: float, bins: int) -> Array:
    """Edges [bins + 1]: even over [low, high], the outer bins open."""
    return np.concatenate([[-math.inf], np.linspace(low, high, bins + 1)[1:-1], [math.inf]])


# -- road --------------------------------------------------------------------------------------------------------------


@register(
    "road",
    family="application",
    summary="X: speed class of a vehicle; Y: the road segment it is on; Z: its measured position, binned",
    meanings={
        "bins": "bins of measured position, even over the road with open ends",
        "segments": "road segments to tell apart",
        "length": "length of a segment, m",
        "limit": "speed limit, km/h",
        "deviation": "standard deviation of the speed inside a class ÷ the limit",
        "delay": "seconds since the vehicle passed the gate",
        "start": "standard deviation of where it was then, m",
        "noise": "standard deviation of the position measurement, m",
    },
)
def road(
    bins: int = 40,
    segments: int = 4,
    length: float = 50.0,
    limit: float = 50.0,
    deviation: float = 0.1,
    delay: float = 8.0,
    start: float = 30.0,
    noise: float = 10.0,
) -> Array:
    """Traffic control wants to know which segment a vehicle is on; its position, `delay` seconds on, also tells its speed.

    True position S = U + V·delay with U ~ N(0, start²) and V ~ N(mean of the class, (deviation·limit)²); Y is the segment
    that holds S (the first and last are open), Z = S + N(0, noise²). p(x, y, z) is the integral of the density of S given x
    times Pr(Z in bin given S) over the segment, by Gauss–Legendre quadrature on panels no wider than the noise. All numbers
    are assumed but the noise: K. Merry, P. Bettinger, "Smartphone GPS accuracy study in an urban environment", PLOS ONE 14
    (2019), find errors of 7 to 13 m.
    """
    bins, segments = whole(bins, "bins", 2), whole(segments, "segments", 2)
    length, limit, noise = positive(length, "length"), positive(limit, "limit"), positive(noise, "noise")
    start, delay = positive(start, "start"), positive(delay, "delay", zero=True)
    p_x = 0.3, 0.5, 0.2  # slow, at the limit, speeding; assumed, as their mean speeds
    centres = np.array([0.75, 1.0, 1.3]) * limit / 3.6 * delay  # m
    sigma = math.hypot(start, positive(deviation, "deviation", zero=True) * limit / 3.6 * delay)
    borders, edges = _open_edges(0.0, segments * length, segments), _open_edges(0.0, segments * length, bins)
    joint = np.zeros((3, segments, bins))
    for x, centre in enumerate(centres):
        # what lies beyond 12 standard deviations is under 1e-32
        kept = np.clip(borders, centre - 12.0 * sigma, centre + 12.0 * sigma)
        for y in np.flatnonzero(kept[1:] > kept[:-1]):
            joint[x, y] = p_x[x] * _smeared(kept[y], kept[y + 1], centre, sigma, noise, edges)
    return joint


def _smeared(low: float, high: float, centre: float, sigma: float, noise: float, edges: Array) -> Array:
    """∫ over [low, high] of the normal density (centre, sigma) at s times Pr(s + N(0, noise²) in bin) [bins]."""
    panels, most = math.ceil((high - low) / min(noise, sigma)), 5000
    if panels > most:
        raise InputError(
            f"the noise, {noise:g} m, is too small for a road of this size; give at least {(high - low) / most:g} m"
        )
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = 0.5 * (high - low) / panels
    s = (low + half * (2.0 * np.arange(panels)[:, None] + 1.0 + nodes)).ravel()
    density = np.exp(-0.5 * ((s - centre) / sigma) ** 2) / (sigma * math.sqrt(2.0 * math.pi))
    weight = half * np.tile(weights, panels) * density
    return np.asarray(weight @ interval_masses(Normal(s[:, None], noise), edges))

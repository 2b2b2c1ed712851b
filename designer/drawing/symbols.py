"""The network symbols: which kind has which, and their outlines for the display list."""

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final

from designer.drawing.display import Outline, Path, Point, Stroke
from designer.model.resources import assets

GRID_PX: Final = 24.0
STROKE: Final = 1.5
"""Width of a symbol's line on its own grid."""

SYMBOL_OF_KIND: Final[Mapping[str, str]] = MappingProxyType(
    {
        "users": "users", "branch": "branch", "campus": "campus", "factory": "factory",
        "vehicle": "vehicle", "camera": "camera", "base_station": "gnb", "olt": "olt",
        "cmts": "cmts", "access_point": "wifi-ap", "aggregation_router": "agg-router",
        "upf": "upf", "edge_ai_server": "gpu",
        "bng": "bng", "pe": "router", "firewall": "firewall", "steering": "steering",
        "load_balancer": "load-balancer", "api_gateway": "gateway", "ai_gateway": "gateway",
        "model_router": "model-router", "auth": "policy", "policy": "policy",
        "service_chain": "service-chain",
        "metro_router": "router", "core_router": "router", "dci": "router", "roadm": "roadm",
        "optical_span": "roadm", "cloud_onramp": "cloud-onramp", "peering_gateway": "peering",
        "leaf": "switch", "rail_switch": "switch", "storage_switch": "switch", "spine": "spine",
        "super_spine": "spine", "optical_circuit_switch": "ocs",
        "server": "gpu", "nvlink_domain": "nvlink", "nic": "dpu", "dpu": "dpu",
        "serving_pool": "pool", "prefill_pool": "pool", "decode_pool": "pool",
        "object_storage": "storage", "file_storage": "storage", "vector_store": "vector-store",
        "kv_store": "kv-store", "tool_service": "tool", "scheduler": "scheduler",
        "observability": "observability", "external_api": "external-api",
    }
)  # fmt: skip

SYMBOL_OF_GROUP: Final[Mapping[str, str]] = MappingProxyType(
    {
        "region": "site", "site": "site", "zone": "site", "room": "pod", "pod": "pod",
        "rack": "pod", "fabric": "spine", "custom": "ui-group",
    }
)  # fmt: skip

_SVG: Final = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True, slots=True)
class Shape:
    """One part of a symbol on the 24 px grid: filled, or drawn with the symbol's line."""

    outline: Outline
    filled: bool


def node_symbol(kind: str, gpus: int | None, access: str | None) -> str:
    """Name of the symbol of a node; an unknown kind is shown as a cloud.

    A server that is known to hold no GPU is a plain one; users on mobile or satellite access show
    their access.
    """
    if kind == "server" and gpus == 0:
        return "server"
    if kind == "users" and access:
        words = set(re.split(r"[^a-z0-9]+", access.lower()))
        if words & {"leo", "geo", "satellite"}:
            return "satellite"
        if words & {"5g", "nr", "mobile", "lte", "4g", "urllc"}:
            return "phone"
    return SYMBOL_OF_KIND.get(kind, "cloud")


@cache
def symbols() -> Mapping[str, tuple[Shape, ...]]:
    """All symbols by name."""
    tree = ET.parse(assets().joinpath("symbols", "symbols.svg")).getroot()
    return MappingProxyType(
        {symbol.attrib["id"]: tuple(_shapes(symbol)) for symbol in tree.iter(f"{_SVG}symbol")}
    )


def draw_symbol(
    name: str, element: str, layer: str, corner: Point, size_px: float, colour: str
) -> tuple[Path, ...]:
    """The symbol's paths in a square with that top left corner."""
    scale = size_px / GRID_PX
    stroke = Stroke(colour, STROKE * scale)
    return tuple(
        Path(element, layer, *corner, scale, shape.outline, colour, None)
        if shape.filled
        else Path(element, layer, *corner, scale, shape.outline, None, stroke)
        for shape in symbols()[name]
    )


def _shapes(symbol: ET.Element, turn: tuple[float, ...] = ()) -> Iterator[Shape]:
    for part in symbol:
        tag = part.tag.removeprefix(_SVG)
        if tag == "g":
            turned = re.findall(r"-?[\d.]+", part.get("transform", ""))
            yield from _shapes(part, tuple(map(float, turned)) or turn)
        elif tag != "title":
            outline = _turned(_OUTLINE[tag](part), turn)
            yield Shape(outline, part.get("fill", "none") != "none")


def _turned(outline: Outline, turn: tuple[float, ...]) -> Outline:
    if not turn:
        return outline
    angle, cx, cy = turn
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))

    def at(x: float, y: float) -> Point:
        return cx + (x - cx) * cos - (y - cy) * sin, cy + (x - cx) * sin + (y - cy) * cos

    return tuple(
        (step, tuple(value for x, y in zip(n[::2], n[1::2], strict=True) for value in at(x, y)))
        for step, n in outline
    )


def _numbers(part: ET.Element, *names: str) -> tuple[float, ...]:
    return tuple(float(part.get(name, "0")) for name in names)


def _rect(part: ET.Element) -> Outline:
    x, y, w, h, r = _numbers(part, "x", "y", "width", "height", "rx")
    if r == 0:
        return parse_path(f"M{x} {y}H{x + w}V{y + h}H{x}Z")
    arc = f"A{r} {r} 0 0 1 "
    return parse_path(
        f"M{x + r} {y}H{x + w - r}{arc}{x + w} {y + r}V{y + h - r}{arc}{x + w - r} {y + h}"
        f"H{x + r}{arc}{x} {y + h - r}V{y + r}{arc}{x + r} {y}Z"
    )


def _circle(part: ET.Element) -> Outline:
    cx, cy, r = _numbers(part, "cx", "cy", "r")
    return parse_path(f"M{cx - r} {cy}A{r} {r} 0 1 1 {cx + r} {cy}A{r} {r} 0 1 1 {cx - r} {cy}Z")


def _path(part: ET.Element) -> Outline:
    return parse_path(part.attrib["d"])


_OUTLINE: Final = MappingProxyType({"rect": _rect, "circle": _circle, "path": _path})
_TAKES: Final = MappingProxyType(
    {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "S": 4, "Q": 4, "A": 7, "Z": 0}
)


def parse_path(data: str) -> Outline:
    """An SVG path (1.1, section 8.3; M L H V C S Q A Z) with absolute points and cubics only.

    Raises KeyError for another command.
    """
    steps: list[tuple[str, tuple[float, ...]]] = []
    here = start = handle = (0.0, 0.0)
    for letter, arguments in _commands(data):
        command = letter.upper()
        numbers = _absolute(command, arguments, here) if letter.islower() else arguments
        if command == "Z":
            steps.append(("Z", ()))
            here = handle = start
            continue
        made = _as_basic(command, numbers, here, handle)
        steps += made
        last = made[-1][1]
        here = (last[-2], last[-1])
        handle = (last[2], last[3]) if command in "CS" else here
        if command == "M":
            start = here
    return tuple(steps)


def _commands(data: str) -> Iterator[tuple[str, tuple[float, ...]]]:
    for letter, rest in re.findall(r"([A-Za-z])([^A-Za-z]*)", data):
        takes = _TAKES[letter.upper()]
        numbers = _split(letter.upper(), rest)
        if takes == 0:
            yield letter, ()
            continue
        for index in range(0, len(numbers), takes):
            # Further pairs after a move are lines.
            follow = {"M": "L", "m": "l"}.get(letter, letter) if index else letter
            yield follow, numbers[index : index + takes]


def _split(command: str, rest: str) -> tuple[float, ...]:
    number = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
    if command != "A":
        return tuple(map(float, re.findall(number, rest)))
    flag = r"[\s,]*([01])"
    arc = re.compile(rf"[\s,]*({number})" * 3 + flag * 2 + rf"[\s,]*({number})" * 2)
    return tuple(float(value) for match in arc.finditer(rest) for value in match.groups())


def _absolute(command: str, numbers: tuple[float, ...], here: Point) -> tuple[float, ...]:
    if command == "V":
        return (numbers[0] + here[1],)
    if command == "A":
        return (*numbers[:5], numbers[5] + here[0], numbers[6] + here[1])
    return tuple(number + here[index % 2] for index, number in enumerate(numbers))


def _as_basic(
    command: str, n: tuple[float, ...], here: Point, handle: Point
) -> list[tuple[str, tuple[float, ...]]]:
    if command == "H":
        return [("L", (n[0], here[1]))]
    if command == "V":
        return [("L", (here[0], n[0]))]
    if command == "S":
        return [("C", (2 * here[0] - handle[0], 2 * here[1] - handle[1], *n))]
    if command == "Q":
        first = (here[0] + 2 / 3 * (n[0] - here[0]), here[1] + 2 / 3 * (n[1] - here[1]))
        second = (n[2] + 2 / 3 * (n[0] - n[2]), n[3] + 2 / 3 * (n[1] - n[3]))
        return [("C", (*first, *second, n[2], n[3]))]
    if command == "A":
        return list(_arc(here, n))
    return [(command, n)]


def _arc(here: Point, n: tuple[float, ...]) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Cubic pieces of at most a quarter turn (SVG 1.1, F.6.5; error below 0.03 % of the radius)."""
    rx, ry, tilt, large, sweep, x, y = n
    if rx == 0 or ry == 0 or (x, y) == here:
        yield "L", (x, y)
        return
    cos, sin = math.cos(math.radians(tilt)), math.sin(math.radians(tilt))
    dx, dy = (here[0] - x) / 2, (here[1] - y) / 2
    px, py = cos * dx + sin * dy, cos * dy - sin * dx
    grow = max(1.0, math.sqrt((px / rx) ** 2 + (py / ry) ** 2))
    rx, ry = rx * grow, ry * grow
    inner = (rx * ry) ** 2 - (rx * py) ** 2 - (ry * px) ** 2
    root = math.sqrt(max(0.0, inner / ((rx * py) ** 2 + (ry * px) ** 2)))
    root = -root if large == sweep else root
    qx, qy = root * rx * py / ry, -root * ry * px / rx
    cx, cy = cos * qx - sin * qy + (here[0] + x) / 2, sin * qx + cos * qy + (here[1] + y) / 2
    begin = math.atan2((py - qy) / ry, (px - qx) / rx)
    turn = math.atan2((-py - qy) / ry, (-px - qx) / rx) - begin
    turn += 2 * math.pi if sweep and turn < 0 else 0
    turn -= 2 * math.pi if not sweep and turn > 0 else 0
    pieces = max(1, math.ceil(abs(turn) / (math.pi / 2) - 1e-9))
    step = turn / pieces
    reach = 4 / 3 * math.tan(step / 4)

    def at(u: float, v: float) -> Point:
        return cx + cos * rx * u - sin * ry * v, cy + sin * rx * u + cos * ry * v

    for piece in range(pieces):
        a, b = begin + piece * step, begin + (piece + 1) * step
        first = at(math.cos(a) - reach * math.sin(a), math.sin(a) + reach * math.cos(a))
        second = at(math.cos(b) + reach * math.sin(b), math.sin(b) - reach * math.cos(b))
        end = (x, y) if piece == pieces - 1 else at(math.cos(b), math.sin(b))
        yield "C", (*first, *second, *end)

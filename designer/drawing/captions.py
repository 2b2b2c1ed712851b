"""What is written in a box: symbol, name, the one value that matters, and a group's totals."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from designer.drawing.symbols import SYMBOL_OF_GROUP, node_symbol
from designer.drawing.text import fitted, width_px
from designer.model.design import Design
from designer.model.kinds import GPU_HOSTS, SWITCHES, USER_KINDS, tier_of
from designer.model.things import Group, Link, Node

TIMES: Final = "\u00d7"
State = Literal["known", "guessed", "unknown"]

NAME_PX: Final = 11.0
VALUE_PX: Final = 10.0
GRID_PX: Final = 4
MOST_TEXT_PX: Final = 148.0
LEAST_WIDTH_PX: Final = 80
"""Room for a badge such as "132 ms" under the name."""
HEIGHT_PX: Final = 40.0
"""One height for all, so that neighbouring stacks line up and links run level."""
TEXT_X_PX: Final = 30.0
"""From a box's left edge to its text: 8, the symbol's 16, 6."""


@dataclass(frozen=True, slots=True)
class Caption:
    """The content of a box and the size it asks for, px at 100 %, on the grid."""

    symbol: str
    name: str
    value: str
    pill: str
    state: State
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Totals:
    """What a group holds, its inner counts multiplied out, its own count left aside.

    unknown_gpus, unknown_users: hosts and populations whose number nobody gave.
    """

    nodes: int = 0
    users: int = 0
    gpus: int = 0
    switches: int = 0
    unknown_gpus: int = 0
    unknown_users: int = 0

    def plus(self, other: "Totals", times: int) -> "Totals":
        """These and so many times the others."""
        return Totals(
            self.nodes + times * other.nodes,
            self.users + times * other.users,
            self.gpus + times * other.gpus,
            self.switches + times * other.switches,
            self.unknown_gpus + times * other.unknown_gpus,
            self.unknown_users + times * other.unknown_users,
        )

    def words(self) -> str:
        """The two totals that say most; what is known is the least where some is not."""
        said = [
            _at_least(_counted(self.users, "user"), self.unknown_users),
            _at_least(_counted(self.gpus, "GPU"), self.unknown_gpus),
            _counted(self.switches, "switch", "switches"),
        ]
        return " · ".join([word for word in said if word][:2]) or _counted(self.nodes, "node")


def pill_of(count: int) -> str:
    """The count of a box that stands for several."""
    return f"{TIMES}{count:,}" if count > 1 else ""


def node_caption(node: Node) -> Caption:
    """What is written in a node's box."""
    symbol = node_symbol(node.kind, node.gpus, node.access)
    value, field = _value(node)
    kind = node.provenance[field].kind if field in node.provenance else "given"
    state: State = "known"
    if value.endswith("unknown") or kind == "unknown":
        state = "unknown"
    elif kind == "guessed" and value:
        state, value = "guessed", f"~ {value}"
    return _sized(symbol, node.name or node.id, value, pill_of(node.count), state)


def group_caption(group: Group, totals: Totals) -> Caption:
    """What is written in the box of a collapsed or empty group."""
    symbol = SYMBOL_OF_GROUP.get(group.kind, "ui-group")
    words = " · ".join(word for word in (totals.words(), _candidate(group)) if word)
    each = f"{words} each" if group.count > 1 and words else words
    return _sized(symbol, group.name or group.id, each, pill_of(group.count), "known")


def group_totals_words(group: Group, totals: Totals) -> str:
    """What stands on the right of an open group's title."""
    return " · ".join(word for word in (totals.words(), _candidate(group)) if word)


def totals_by_group(design: Design) -> Mapping[str, Totals]:
    """Totals of every group, and of the whole design under the empty id."""
    found = {key: Totals() for key in ("", *design.groups)}
    depth = {key: _depth(design, key) for key in design.groups}
    for node in design.nodes.values():
        home = node.group if node.group in found and node.group else ""
        found[home] = found[home].plus(_of_node(node), node.count)
    for key in sorted(design.groups, key=lambda key: (-depth[key], key)):
        group = design.groups[key]
        above = group.parent if group.parent in found and group.parent else ""
        found[above] = found[above].plus(found[key], group.count)
    return found


def totals_by_lane(design: Design, times: Mapping[str, int]) -> Mapping[str, Totals]:
    """Totals of every lane; `times` is how often each counted node is there, groups included."""
    found: dict[str, Totals] = {}
    for key, often in times.items():
        node = design.nodes[key]
        lane = tier_of(node.kind, node.tier)
        found[lane] = found.get(lane, Totals()).plus(_of_node(node), often)
    return found


def accelerator_words(key: str) -> str:
    """An accelerator's key of the catalogue as people write it: "H200 SXM"."""
    return key.replace("_", " ").replace("-", " ").upper()


def rate_words(gbps: float) -> str:
    """A rate as it stands beside a link: 1.2G, 400G, 3.2T, 50M."""
    if gbps >= 1000:
        return f"{gbps / 1000:.4g}T"
    return f"{gbps:.4g}G" if gbps >= 1 else f"{gbps * 1000:.3g}M"


def capacity_words(link: Link) -> str:
    """A link's capacity in words: its members, and both directions where they differ."""
    if link.capacity_gbps is None:
        return "capacity ?"
    words = rate_words(link.capacity_gbps)
    back = link.reverse_capacity_gbps()
    if back is not None and back != link.capacity_gbps:
        words = f"{words} / {rate_words(back)}"
    return f"{link.members} {TIMES} {words}" if link.members > 1 else words


def _sized(symbol: str, name: str, value: str, pill: str, state: State) -> Caption:
    room = width_px(pill, VALUE_PX, 600, "tabular") + 18 if pill else 0.0
    shown = fitted(name, MOST_TEXT_PX - room, NAME_PX, 600)
    under = fitted(value, MOST_TEXT_PX, VALUE_PX, 400, "tabular") if value else ""
    text = max(
        width_px(shown, NAME_PX, 600) + room,
        width_px(under, VALUE_PX, 400, "tabular") if under else 0.0,
    )
    width = max(float(LEAST_WIDTH_PX), on_grid(TEXT_X_PX + text + 8))
    return Caption(symbol, shown, under, pill, state, width, HEIGHT_PX)


def on_grid(length: float) -> float:
    """The length rounded up to the grid."""
    return float(-(-length // GRID_PX) * GRID_PX)


def _value(node: Node) -> tuple[str, str]:
    """The one value that says most about a node, and the field that it comes from."""
    if node.kind in USER_KINDS and node.users is not None:
        return f"{node.users:,}", "users"
    if node.kind == "users":
        return "users unknown", "users"
    if node.kind in GPU_HOSTS and node.accelerator:
        model = accelerator_words(node.accelerator)
        each = " each" if node.count > 1 else ""
        known = f"{node.gpus} {TIMES} {model}{each}"
        return (known if node.gpus else f"{model}, GPUs unknown"), "gpus"
    if node.kind in GPU_HOSTS and node.gpus:
        return _counted(node.gpus, "GPU"), "gpus"
    if node.forwarding_us is not None:
        return f"{node.forwarding_us:.4g} µs", "forwarding_us"
    if node.service_time is not None and node.service_time.mean_ms is not None:
        return f"{node.service_time.mean_ms:.4g} ms", "service_time"
    if node.throughput_gbps is not None:
        return rate_words(node.throughput_gbps), "throughput_gbps"
    return "", ""


def _of_node(node: Node) -> Totals:
    hosts = node.kind in GPU_HOSTS
    unknown = hosts and node.gpus is None
    return Totals(
        nodes=1,
        users=node.users or 0,
        gpus=(node.gpus or 0) if hosts else 0,
        switches=1 if node.kind in SWITCHES else 0,
        unknown_gpus=1 if unknown else 0,
        unknown_users=1 if node.kind == "users" and node.users is None else 0,
    )


def _counted(number: int, one: str, many: str | None = None) -> str:
    if not number:
        return ""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _at_least(words: str, unknown: int) -> str:
    return f"≥ {words}" if words and unknown else words


def _candidate(group: Group) -> str:
    return "candidate" if group.site is not None and group.site.candidate else ""


def _depth(design: Design, key: str) -> int:
    seen: list[str] = []
    walk: str | None = key
    while walk is not None and walk in design.groups and walk not in seen:
        seen.append(walk)
        walk = design.groups[walk].parent
    return len(seen)

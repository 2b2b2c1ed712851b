"""What accelerators say to each other: all-reduce, expert exchange, stage and pool hand-offs.

Times are seconds, messages bytes, rates 1e9 bytes/s in one direction unless the name says gbits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from designer.model.silicon import Accelerator, AllReduceFigure, ServingConstants

MESH_SHARES: Final = ((2, 47.7 / 64), (8, 312.9 / 448))
"""Reached share of a full mesh's links by accelerators: MI300X, 47.7 GB/s of one link between 2
and 312.9 GB/s of seven between 8 (stas00/ml-engineering, network)."""

HANDOFF_S: Final = 0.38e-3
"""Fixed part of a hand-off of KV between pools (fit to Mooncake's published points)."""

HANDOFF_SHARE: Final = 0.73
"""Reached share of the NIC rate in a hand-off; 0.48 to 0.87 elsewhere."""

_MESSAGE_BYTES: Final = float(2**20)
"""The size at which kernels of an all-reduce are compared: a decode step of some 100 sequences."""


class CannotServe(ValueError):
    """The replica cannot be computed; the message is one sentence with the remedy."""


@dataclass(frozen=True, slots=True)
class Fabric:
    """The drawn path between servers, for one accelerator, one direction."""

    gbytes_per_s: float
    one_way_s: float
    share: float = 1.0
    """Of the rate that a collective reaches."""

    @property
    def s_per_byte(self) -> float:
        """Seconds a byte at the reached rate."""
        return 1.0 / (self.gbytes_per_s * 1e9 * self.share)


@dataclass(frozen=True, slots=True)
class Line:
    """A time that grows with a message: `fixed_s + s_per_byte * bytes`."""

    fixed_s: float
    s_per_byte: float

    def at(self, message_bytes: float) -> float:
        """Seconds for one message."""
        return self.fixed_s + self.s_per_byte * message_bytes


NO_TIME: Final = Line(0.0, 0.0)


def handoff_s(kv_bytes: float, nic_gbits_per_s: float, share: float = HANDOFF_SHARE) -> float:
    """Seconds to hand `kv_bytes` from a prefill pool to a decode pool over NICs of that sum rate.

    The path's propagation comes on top.
    """
    return HANDOFF_S + kv_bytes / (share * nic_gbits_per_s * 1e9 / 8)


@dataclass(frozen=True, slots=True)
class ExpertSpread:
    """Experts spread over more accelerators than one tensor-parallel group (not calibrated).

    `domain` of the `ranks` share the scale-up links, the others are reached over NICs.
    """

    ranks: int
    domain: int
    link_gbytes_per_s: float
    nic_gbytes_per_s: float
    one_way_s: float
    overlap: float = 0.0
    """Share of the exchange that hides behind arithmetic."""

    def exchange(self, hidden: int, experts_per_token: int) -> Line:
        """Seconds of one MoE layer's exchange as a line over the TOKENS of one rank.

        A token's activation goes to each of its experts at 1 byte an element and returns at 2;
        experts lie evenly over the ranks.
        """
        token_bytes = 3.0 * hidden * experts_per_token
        near = min(self.domain, self.ranks)
        in_domain = token_bytes * (near - 1) / self.ranks / (self.link_gbytes_per_s * 1e9)
        beyond = token_bytes * (self.ranks - near) / self.ranks / (self.nic_gbytes_per_s * 1e9)
        seen = 1.0 - self.overlap
        return Line(seen * 2 * self.one_way_s, seen * max(in_domain, beyond))


def measured_all_reduce(
    figures: Sequence[AllReduceFigure], system: str, accelerators: int
) -> AllReduceFigure | None:
    """The fastest measured kernel of that system at 1 MiB, or None where nobody measured it.

    Between measured numbers of cards the next larger number stands in.
    """
    counts = {figure.accelerators for figure in figures if figure.system == system}
    enough = [count for count in counts if count >= accelerators]
    if not enough:
        return None
    rows = [f for f in figures if f.system == system and f.accelerators == min(enough)]
    return min(rows, key=lambda row: measured_line(row, accelerators).at(_MESSAGE_BYTES))


def measured_line(figure: AllReduceFigure, accelerators: int) -> Line:
    """The all-reduce time of a measured kernel."""
    busy = 2 * (accelerators - 1) / accelerators
    return Line(figure.latency_us * 1e-6, busy / (figure.bus_gbytes_per_s * 1e9))


def _mesh_share(accelerators: int) -> float:
    (few, share_few), (many, share_many) = MESH_SHARES
    part = (min(max(accelerators, few), many) - few) / (many - few)
    return share_few + part * (share_many - share_few)


def scale_up_line(
    accelerator: Accelerator,
    ways: int,
    constants: ServingConstants,
    figures: Sequence[AllReduceFigure] = (),
) -> Line:
    """AR inside one scale-up domain of `ways` accelerators, as a line over bytes.

    NVLink and other switched links by formula, a full mesh by its links in use, PCIe by the
    measured table (a card that nobody measured takes those of its PCIe generation).
    Raises CannotServe where no link or no measured row is known.
    """
    if ways == 1:
        return NO_TIME
    if accelerator.is_pcie:
        figure = measured_all_reduce(figures, pcie_stand_in(accelerator, figures), ways)
        if figure is None:
            raise CannotServe(
                f"No all-reduce of {ways} {accelerator.id} over PCIe is known; "
                "use fewer tensor-parallel ways or give measured figures."
            )
        return measured_line(figure, ways)
    if accelerator.link_gbytes_per_s is None:
        raise CannotServe(
            f"{accelerator.id} has no link to others of its kind; use 1 tensor-parallel way."
        )
    busy = 2 * (ways - 1) / ways
    rate = constants.all_reduce_share * accelerator.link_gbytes_per_s
    if accelerator.link_pair_gbytes_per_s is not None:
        rate = accelerator.link_pair_gbytes_per_s * (ways - 1) * _mesh_share(ways)
    return Line(constants.all_reduce_s, busy / (rate * 1e9))


def pcie_stand_in(accelerator: Accelerator, figures: Sequence[AllReduceFigure]) -> str:
    """The system whose measured all-reduce a PCIe card takes: its own or one of its generation."""
    if any(figure.system == accelerator.id for figure in figures):
        return accelerator.id
    return "rtx_pro_6000_server" if accelerator.link_kind.startswith("PCIe 5") else "l40s"

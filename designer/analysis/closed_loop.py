"""A benchmark's closed loop: a fixed number of clients, each asking again when it is answered."""

from dataclasses import dataclass
from typing import Final

from designer.analysis.scale_up import CannotServe
from designer.analysis.serving import Replica

BUSIEST: Final = 0.98
"""Limit of the share of time that other clients' prefills take."""


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """Mean times over requests in ms, and the batch that decodes."""

    ttft_ms: float
    itl_ms: float
    request_ms: float
    batch: float
    prefill_ms: float
    step_ms: float
    wait_ms: float
    """For the running step and the prefills ahead, in steady state."""
    cycle_ms: float
    """From one prefill of a client to its next."""

    @property
    def requests_per_s(self) -> float:
        """What the replica serves in steady state."""
        return 1e3 * self.batch / self.cycle_ms


def closed_loop(
    replica: Replica,
    clients: float,
    prompt_tokens: float,
    output_tokens: float,
    opening_share: float = 0.0,
) -> ClosedLoop:
    """Mean times of `clients` clients that keep one request each in flight.

    `opening_share` is the share of first tokens that fall in a benchmark's opening burst; 0 in
    steady state. Raises CannotServe where the model does not fit or a link is not known.
    """
    room = replica.kv_room_tokens
    if room is None:
        raise CannotServe(
            f"{replica.model.id} lacks {replica.missing_gbytes:.1f} GB on each "
            f"{replica.accelerator.id}; use more accelerators or a smaller format."
        )
    context = prompt_tokens + output_tokens / 2
    batch = min(clients, room / context)
    if batch < 1:
        raise CannotServe(
            f"One sequence of {context:.0f} tokens is more than the room of {room:.0f} tokens; "
            "use more accelerators or shorter prompts."
        )
    prefill = replica.prefill_s(prompt_tokens)
    step = replica.decode_s(batch, context)
    others = max(batch - 1, 0.0)
    itl = step + replica.constants.interference * others * prefill / output_tokens
    cycle = prefill + output_tokens * itl
    busy = min(BUSIEST, others * prefill / cycle)
    queue = busy * prefill / (2 * (1 - busy * others / batch))
    wait = min(step / 2 + queue, others * prefill / 2 + step / 2)
    steady = (1 - opening_share) * (prefill + wait)
    opening = opening_share * prefill * (batch + 1) / 2
    turned_away = (clients - batch) / batch * cycle
    ttft = replica.constants.request_s + steady + opening + turned_away
    return ClosedLoop(
        ttft_ms=1e3 * ttft,
        itl_ms=1e3 * itl,
        request_ms=1e3 * (ttft + (output_tokens - 1) * itl),
        batch=batch,
        prefill_ms=1e3 * prefill,
        step_ms=1e3 * step,
        wait_ms=1e3 * wait,
        cycle_ms=1e3 * cycle,
    )

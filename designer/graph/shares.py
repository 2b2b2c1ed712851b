"""What flows get of the links that they share: max-min, by priority, and by weighted classes.

Everywhere: capacity (links,) and demand (flows,) in one unit of rate, inf allowed; row f of
(indptr, link, share) says which part of flow f's rate crosses which link (a link that is named
twice counts twice); weight (flows,) above 0.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from designer.graph import kernel_sharing
from designer.graph.compiled import Floats, Ints, Mask, SmallInts

_NOTHING_LEFT = 1e-12
_ROUNDS = 400
_UNDAMPED = 8
_SETTLED = 1e-10


class BadFlows(ValueError):
    """Capacities, rows, weights or demands do not fit together; the message says how."""


@dataclass(frozen=True, slots=True)
class Filling:
    """A max-min allocation and its certificate.

    rates: (flows,). limit: (flows,) the link that limits the flow, -1 where it gets its demand.
    level: (links,) rate over weight at which the link filled up; inf where it has room.
    """

    rates: Floats
    limit: Ints
    level: Floats


@dataclass(frozen=True, slots=True)
class TwoLevel:
    """Rates under weighted classes. `settled` is false where the iteration found no fixed point.

    limit: (flows,) the link that offers the flow least, -1 where it gets its demand.
    """

    rates: Floats
    limit: Ints
    settled: bool
    rounds: int


@dataclass(frozen=True, slots=True)
class _Rows:
    capacity: Floats
    indptr: Ints
    link: SmallInts
    share: Floats
    weight: Floats
    demand: Floats


def max_min(
    capacity: ArrayLike,
    indptr: ArrayLike,
    link: ArrayLike,
    share: ArrayLike,
    weight: ArrayLike,
    demand: ArrayLike,
) -> Floats:
    """Weighted max-min rates, (flows,). Raises BadFlows."""
    return fill(capacity, indptr, link, share, weight, demand).rates


def fill(
    capacity: ArrayLike,
    indptr: ArrayLike,
    link: ArrayLike,
    share: ArrayLike,
    weight: ArrayLike,
    demand: ArrayLike,
) -> Filling:
    """Weighted max-min by progressive filling, O(entries + links log links). Raises BadFlows.

    A flow on no link of finite capacity gets its demand, though that be inf.
    """
    return _fill(_rows(capacity, indptr, link, share, weight, demand))


def bottleneck(
    capacity: ArrayLike,
    indptr: ArrayLike,
    link: ArrayLike,
    share: ArrayLike,
    weight: ArrayLike,
    demand: ArrayLike,
) -> Ints:
    """The link that limits each flow, (flows,); -1 where it gets its demand. Raises BadFlows."""
    return fill(capacity, indptr, link, share, weight, demand).limit


def by_priority(
    capacity: ArrayLike,
    indptr: ArrayLike,
    link: ArrayLike,
    share: ArrayLike,
    weight: ArrayLike,
    demand: ArrayLike,
    priority: ArrayLike,
) -> Floats:
    """Max-min within each priority on what the more urgent ones leave; 0 is served first.

    priority: (flows,) whole numbers. Raises BadFlows.
    """
    rows = _rows(capacity, indptr, link, share, weight, demand)
    rates = np.zeros(len(rows.demand))
    left = rows.capacity
    for chosen, part in _in_turn(rows, np.asarray(priority, dtype=np.int64)):
        rates[chosen] = _fill(_with_capacity(part, left)).rates
        left = _remaining(left, rows.capacity, part, rates[chosen])
    return rates


def two_level(
    capacity: ArrayLike,
    indptr: ArrayLike,
    link: ArrayLike,
    share: ArrayLike,
    weight: ArrayLike,
    demand: ArrayLike,
    flow_class: ArrayLike,
    class_priority: ArrayLike,
    class_weight: ArrayLike,
) -> TwoLevel:
    """Strict priority between classes; within a priority, class weights on each link.

    flow_class: (flows,) index of a class; class_priority, class_weight: (classes,). A weight is
    that of a class on a link, however many flows it has there; flows of a class share by `weight`,
    each capped by what its other links offer. Iterated from unlimited offers to the fixed point
    (others can exist). Without one the rates are scaled to fit, and `settled` is false.
    An elastic flow has demand inf. Raises BadFlows.
    """
    rows = _rows(capacity, indptr, link, share, weight, demand)
    member = np.asarray(flow_class, dtype=np.int64)
    urgency = np.asarray(class_priority, dtype=np.int64)
    heft = np.asarray(class_weight, dtype=np.float64)
    if len(heft) and heft.min() <= 0:
        raise BadFlows("the weight of a class must be above 0")
    rates, limit = np.zeros(len(rows.demand)), np.full(len(rows.demand), -1, np.int64)
    left, settled, rounds = rows.capacity, True, 0
    for chosen, part in _in_turn(rows, urgency[member]):
        one = _classes(_with_capacity(part, left), member[chosen], heft)
        rates[chosen], limit[chosen] = one.rates, one.limit
        settled, rounds = settled and one.settled, max(rounds, one.rounds)
        left = _remaining(left, rows.capacity, part, one.rates)
    return TwoLevel(rates, limit, settled, rounds)


def usage(links: int, indptr: Ints, link: SmallInts, share: Floats, rates: Floats) -> Floats:
    """What the rates sum to on each link, (links,)."""
    flow = np.repeat(np.arange(len(rates)), np.diff(indptr))
    return np.bincount(link, weights=share * rates[flow], minlength=links).astype(np.float64)


def _fill(rows: _Rows) -> Filling:
    flows, links = len(rows.demand), len(rows.capacity)
    rates, limit = np.zeros(flows), np.empty(flows, np.int64)
    level = np.empty(links)
    kernel_sharing.fill(
        rows.capacity, rows.indptr, rows.link, rows.share, rows.weight, rows.demand,
        np.argsort(rows.demand / rows.weight, kind="stable").astype(np.int64),
        rates, limit, level,
    )  # fmt: skip
    return Filling(rates, limit, level)


def _classes(rows: _Rows, member: Ints, heft: Floats) -> TwoLevel:
    """The classes of one priority; one alone has nobody to share with, which needs no rounds."""
    if len(np.unique(member)) == 1:
        alone = _fill(rows)
        return TwoLevel(alone.rates, alone.limit, True, 1)
    return _iterate(rows, member, heft)


def _iterate(rows: _Rows, member: Ints, heft: Floats) -> TwoLevel:
    pointers, entries, flow_of = kernel_sharing.by_link(len(rows.capacity), rows.indptr, rows.link)
    offer, wish = np.full(len(rows.link), np.inf), np.empty(len(rows.link))
    # A wish of inf has no share of 0 to be multiplied with, and no more than this can be had.
    most = np.minimum(rows.demand, 1.0 + 2.0 * _finite_sum(rows.capacity) / _least(rows.share))
    rates = kernel_sharing.wishes_of(rows.indptr, most, offer, wish)
    for round_ in range(1, _ROUNDS + 1):
        last = offer.copy() if round_ > _UNDAMPED else offer
        kernel_sharing.offer_round(
            rows.capacity, pointers, entries, flow_of, rows.share, rows.weight, member, heft,
            wish, offer,
        )  # fmt: skip
        if round_ > _UNDAMPED:
            # Two links can hand a flow's part back and forth for ever; meeting halfway ends it,
            # and has the same fixed points.
            offer = 0.5 * (offer + last)
        before, rates = rates, kernel_sharing.wishes_of(rows.indptr, most, offer, wish)
        if np.all(np.abs(rates - before) <= _SETTLED * np.abs(rates)) and round_ > 1:
            break
    load = usage(len(rows.capacity), rows.indptr, rows.link, rows.share, rates)
    settled = bool(round_ < _ROUNDS and np.all(load <= rows.capacity * (1 + 1e-8) + 1e-300))
    if not settled:
        rates = _scaled(rows, rates, load)
    return TwoLevel(
        np.where(rates >= most, rows.demand, rates), _tightest(rows, offer), settled, round_
    )


def _scaled(rows: _Rows, rates: Floats, load: Floats) -> Floats:
    """Rates cut so that no link carries more than it can."""
    over = np.divide(rows.capacity, load, out=np.ones_like(load), where=load > rows.capacity)
    kept = np.ones(len(rates))
    some = np.flatnonzero(np.diff(rows.indptr))
    if len(some):
        kept[some] = np.minimum.reduceat(over[rows.link], rows.indptr[some])
    return rates * kept


def _tightest(rows: _Rows, offer: Floats) -> Ints:
    limit = np.full(len(rows.demand), -1, np.int64)
    some = np.flatnonzero(np.diff(rows.indptr))
    if not len(some):
        return limit
    least = np.minimum.reduceat(offer, rows.indptr[some])
    owner = np.repeat(np.arange(len(some)), np.diff(rows.indptr)[some])
    places = np.flatnonzero(offer == least[owner])
    _, first = np.unique(owner[places], return_index=True)
    held = least < rows.demand[some]
    limit[some[held]] = rows.link[places[first][held]]
    return limit


def _in_turn(rows: _Rows, priority: Ints) -> list[tuple[Mask, _Rows]]:
    return [
        (chosen, _chosen(rows, chosen)) for chosen in (priority == p for p in np.unique(priority))
    ]


def _chosen(rows: _Rows, chosen: Mask) -> _Rows:
    entry = np.repeat(chosen, np.diff(rows.indptr))
    indptr = np.concatenate(([0], np.cumsum(np.diff(rows.indptr)[chosen]))).astype(np.int64)
    return _Rows(
        rows.capacity, indptr, rows.link[entry], rows.share[entry], rows.weight[chosen],
        rows.demand[chosen],
    )  # fmt: skip


def _with_capacity(rows: _Rows, capacity: Floats) -> _Rows:
    return _Rows(capacity, rows.indptr, rows.link, rows.share, rows.weight, rows.demand)


def _remaining(left: Floats, capacity: Floats, rows: _Rows, rates: Floats) -> Floats:
    """What is left of each link; rounding that is left of a full link is nothing."""
    finite = np.where(np.isfinite(rates), rates, 0.0)
    rest = left - usage(len(left), rows.indptr, rows.link, rows.share, finite)
    return np.where(rest > _NOTHING_LEFT * capacity, rest, 0.0)


def _finite_sum(values: Floats) -> float:
    return float(values[np.isfinite(values)].sum())


def _least(share: Floats) -> float:
    return float(min(share.min(initial=1.0), 1.0))


def _rows(
    capacity: ArrayLike,
    indptr: ArrayLike,
    link: ArrayLike,
    share: ArrayLike,
    weight: ArrayLike,
    demand: ArrayLike,
) -> _Rows:
    rows = _Rows(
        np.array(capacity, dtype=np.float64),
        np.asarray(indptr, dtype=np.int64),
        np.asarray(link, dtype=np.int32),
        np.asarray(share, dtype=np.float64),
        np.asarray(weight, dtype=np.float64),
        np.asarray(demand, dtype=np.float64),
    )
    flows = len(rows.demand)
    if len(rows.indptr) != flows + 1 or len(rows.weight) != flows:
        raise BadFlows("indptr, weight and demand must fit the number of flows")
    if len(rows.link) != rows.indptr[-1] or len(rows.share) != rows.indptr[-1]:
        raise BadFlows("link and share must have as many entries as indptr says")
    if len(rows.link) and not 0 <= rows.link.min() <= rows.link.max() < len(rows.capacity):
        raise BadFlows(f"a flow names a link outside 0 to {len(rows.capacity) - 1}")
    if not (np.all(rows.weight > 0) and np.all(np.isfinite(rows.weight))):
        raise BadFlows("the weight of a flow must be above 0 and finite")
    for name, values in (
        ("capacity", rows.capacity),
        ("share", rows.share),
        ("demand", rows.demand),
    ):
        if not np.all(values >= 0):
            raise BadFlows(f"a {name} is below 0 or not a number")
    return _drop_zero(rows)


def _drop_zero(rows: _Rows) -> _Rows:
    """Without entries of share 0, which limit nothing."""
    keep = rows.share > 0
    if keep.all():
        return rows
    kept = np.concatenate(([0], np.cumsum(keep)))
    return _Rows(
        rows.capacity, kept[rows.indptr], rows.link[keep], rows.share[keep], rows.weight,
        rows.demand,
    )  # fmt: skip

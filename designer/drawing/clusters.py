"""Where nodes of one lane stand that no row can show: a map's routers, a ring, a mesh.

Positions are centres, px; no two boxes touch. Longitude runs to the right and latitude upwards, as
on a map; without coordinates, hops are drawn as distance.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, shortest_path
from scipy.spatial import cKDTree

Floats = NDArray[np.float64]

GAP_X_PX: Final = 44.0
GAP_Y_PX: Final = 32.0
SNAP_PX: Final = 4.0
_STEPS: Final = 60
_MOST_TO_PUSH: Final = 300
_PUSHES: Final = 200


@dataclass(frozen=True, slots=True)
class Cluster:
    """Top left corners by id inside a box of that width and height."""

    corners: Mapping[str, tuple[float, float]]
    width: float
    height: float


def place_cluster(
    ids: Sequence[str],
    sizes: Mapping[str, tuple[float, float]],
    degrees: Mapping[str, tuple[float, float]],
    edges: Sequence[tuple[str, str]],
) -> Cluster:
    """Places a cluster.

    sizes: (width, height) by id. degrees: (latitude, longitude) by id; by map if all are there.
    """
    size = np.array([sizes[key] for key in ids], dtype=np.float64)
    if all(key in degrees for key in ids):
        shape = _on_map(np.array([degrees[key] for key in ids], dtype=np.float64))
    else:
        shape = _by_hops(ids, edges)
    centres = _apart(_scaled(shape, size), size)
    corners = np.round((centres - size / 2) / SNAP_PX) * SNAP_PX
    corners -= corners.min(axis=0)
    width, height = (corners + size).max(axis=0)
    by_id = {key: (float(x), float(y)) for key, (x, y) in zip(ids, corners, strict=True)}
    return Cluster(by_id, float(width), float(height))


def is_mesh(ids: Sequence[str], edges: Sequence[tuple[str, str]]) -> bool:
    """Whether links among these nodes close a circle, so that a row would hide some of them."""
    return len(ids) >= 3 and len({frozenset(edge) for edge in edges}) >= len(ids)


def _on_map(degrees: Floats) -> Floats:
    """Equirectangular projection at the mean latitude, across the date line where it is shorter."""
    latitude, longitude = degrees[:, 0], degrees[:, 1] % 360
    rising = np.sort(longitude)
    gaps = np.diff(rising, append=rising[0] + 360)
    start = rising[(int(np.argmax(gaps)) + 1) % len(rising)]
    x = ((longitude - start) % 360) * math.cos(math.radians(float(latitude.mean())))
    return np.column_stack((x, -latitude))


def _by_hops(ids: Sequence[str], edges: Sequence[tuple[str, str]]) -> Floats:
    """Hop distances as distances, each connected part beside the one before."""
    index = {key: n for n, key in enumerate(ids)}
    ends = np.array([(index[a], index[b]) for a, b in edges], dtype=np.int64).reshape(-1, 2)
    ones = np.ones(len(ends))
    matrix = csr_array((ones, (ends[:, 0], ends[:, 1])), shape=(len(ids), len(ids)))
    parts, part_of = connected_components(matrix, directed=False)
    at = np.zeros((len(ids), 2))
    left = 0.0
    for part in range(parts):
        members = np.flatnonzero(part_of == part)
        hops = shortest_path(matrix[members][:, members], directed=False, unweighted=True)
        spots = _stress(hops)
        spots -= spots.min(axis=0)
        at[members] = spots + np.array((left, 0.0))
        left += float(spots[:, 0].max()) + 1.0
    return at


def _stress(hops: Floats) -> Floats:
    """Places whose distances fit the hops best (stress majorization, Gansner et al. 2004).

    Starts from a circle, so a ring stays one, its first node at the left.
    """
    count_ = len(hops)
    turn = np.pi + 2 * np.pi * _around_ring(hops) / max(count_, 1)
    spots: Floats = np.column_stack((np.cos(turn), np.sin(turn))) * max(1.0, count_ / 6)
    if count_ < 3:
        return spots
    weight = 1 / np.where(hops > 0, hops, 1.0) ** 2
    np.fill_diagonal(weight, 0.0)
    inverse = np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight)
    for _ in range(_STEPS):
        distance = np.linalg.norm(spots[:, None] - spots[None], axis=2)
        ratio = np.divide(hops, distance, out=np.zeros_like(hops), where=distance > 1e-9)
        pull = -weight * ratio
        np.fill_diagonal(pull, -pull.sum(axis=1))
        spots = inverse @ (pull @ spots)
    return spots


def _around_ring(hops: Floats) -> NDArray[np.int64]:
    """A place on the starting circle for each node: a walk that always goes to the nearest left."""
    order = [0]
    left = set(range(1, len(hops)))
    while left:
        order.append(min(left, key=lambda n: (hops[order[-1], n], n)))
        left.remove(order[-1])
    place = np.empty(len(hops), dtype=np.int64)
    place[order] = np.arange(len(hops))
    return place


def _scaled(shape: Floats, size: Floats) -> Floats:
    """Enlarged until the typical nearest neighbour is a box and a gap away, within a page or so."""
    step = size.mean(axis=0) + np.array((GAP_X_PX, GAP_Y_PX))
    centred: Floats = shape - shape.mean(axis=0)
    if len(shape) < 2 or not np.any(np.ptp(centred, axis=0)):
        return centred
    nearest = np.asarray(cKDTree(centred).query(centred, k=2)[0])[:, 1]
    near = float(np.median(nearest)) or float(nearest.max()) or 1.0
    wanted = float(np.hypot(*step)) / near
    span = np.ptp(centred, axis=0)
    # Boxes at this size fill about a fifth of the area: room for links and their labels.
    room = math.sqrt(5 * len(shape) * float(np.prod(step)) * 1.4)
    most = room / float(span.max())
    spread: Floats = centred * min(wanted, most)
    return spread


def _apart(centres: Floats, size: Floats) -> Floats:
    """Pushes boxes apart along the axis of least overlap; what still touches takes a free cell."""
    order = np.lexsort((centres[:, 1], centres[:, 0]))
    spots = centres.copy()
    need = (size[:, None] + size[None]) / 2 + (GAP_X_PX / 2, GAP_Y_PX / 2)
    for _ in range(_PUSHES if len(spots) <= _MOST_TO_PUSH else 0):
        delta = spots[:, None] - spots[None]
        over = need - np.abs(delta)
        hits = np.argwhere(np.triu((over > 0.5).all(axis=2), 1))
        if not len(hits):
            return spots
        for a, b in hits:
            axis = int(over[a, b, 1] < over[a, b, 0])
            sign = 1.0 if delta[a, b, axis] > 0 or (delta[a, b, axis] == 0 and a > b) else -1.0
            push = sign * over[a, b, axis] * 0.5
            spots[a, axis] += push
            spots[b, axis] -= push
    return _in_cells(spots, size, order)


def _in_cells(spots: Floats, size: Floats, order: NDArray[np.int64]) -> Floats:
    """Each box into the free cell nearest to it, in order from the left."""
    cell = size.max(axis=0) + np.array((GAP_X_PX, GAP_Y_PX)) / 2
    taken: set[tuple[int, int]] = set()
    placed = spots.copy()
    for index in order:
        column, row = (int(value) for value in np.round(spots[index] / cell))
        place = next(place for place in _around(column, row) if place not in taken)
        taken.add(place)
        placed[index] = np.array(place) * cell
    return placed


def _around(column: int, row: int) -> Iterator[tuple[int, int]]:
    """The cells around one, ring by ring, without end."""
    yield column, row
    for ring in count(1):
        reach = range(-ring, ring + 1)
        shell = [(dx, dy) for dx in reach for dy in reach if max(abs(dx), abs(dy)) == ring]
        for dx, dy in sorted(shell, key=lambda step: (step[0] ** 2 + step[1] ** 2, step)):
            yield column + dx, row + dy

"""Where nodes of one lane stand that no row can show: a map's routers, a ring, a mesh.

Positions are centres, px; no two boxes touch. Longitude runs to the right and latitude upwards, as
on a map; without coordinates, hop distance is drawn as distance (Kamada and Kawai 1989).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

import networkx as nx
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

GAP_X_PX: Final = 44.0
GAP_Y_PX: Final = 32.0
SNAP_PX: Final = 4.0
_MOST_FOR_STRESS: Final = 120
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
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(ids)
    graph.add_edges_from(edges)
    parts = [sorted(part) for part in nx.connected_components(graph)]
    parts.sort(key=lambda part: (-len(part), part[0]))
    at: dict[str, tuple[float, float]] = {}
    left = 0.0
    for part in parts:
        spot = _part(graph.subgraph(part), part)
        spot -= spot.min(axis=0)
        at |= {key: (left + float(x), float(y)) for key, (x, y) in zip(part, spot, strict=True)}
        left += float(spot[:, 0].max()) + 1.0
    return np.array([at[key] for key in ids], dtype=np.float64)


def _part(graph: "nx.Graph[str]", ids: Sequence[str]) -> Floats:
    ordered: nx.Graph[str] = nx.Graph()
    ordered.add_nodes_from(ids)
    ordered.add_edges_from(sorted((min(edge), max(edge)) for edge in graph.edges))
    if all(degree == 2 for _, degree in ordered.degree):
        return _ring([edge[0] for edge in nx.find_cycle(ordered, ids[0])], ids)
    start = nx.circular_layout(ordered)
    if len(ids) > _MOST_FOR_STRESS:
        spots = nx.spring_layout(ordered, pos=start, seed=7, iterations=60)
    else:
        spots = nx.kamada_kawai_layout(ordered, pos=start)
    made: Floats = np.array([spots[key] for key in ids], dtype=np.float64)
    return made * math.sqrt(len(ids))


def _ring(around: Sequence[str], ids: Sequence[str]) -> Floats:
    """A ring with its first node at the left and the second above, as a diamond or ellipse."""
    turn = {key: math.pi + 2 * math.pi * n / len(around) for n, key in enumerate(around)}
    radius = len(around) / 3.2
    return np.array(
        [(radius * math.cos(turn[key]), radius * math.sin(turn[key])) for key in ids],
        dtype=np.float64,
    )


def _scaled(shape: Floats, size: Floats) -> Floats:
    """Enlarged until the typical nearest neighbour is a box and a gap away, within a page or so."""
    step = size.mean(axis=0) + np.array((GAP_X_PX, GAP_Y_PX))
    centred: Floats = shape - shape.mean(axis=0)
    if len(shape) < 2 or not np.any(np.ptp(centred, axis=0)):
        return centred
    distance = np.linalg.norm(centred[:, None] - centred[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    near = float(np.median(distance.min(axis=1))) or float(np.median(distance))
    wanted = float(np.hypot(*step)) / near
    span = np.ptp(centred, axis=0)
    # Boxes at this size fill about an eighth of the area: room for links and their labels.
    room = math.sqrt(8 * len(shape) * float(np.prod(step)) * 1.4)
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

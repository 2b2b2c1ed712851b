"""Links of a GraphML file: speeds as far as they are certain, parallel cables, directions."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from immutables import Map

from designer.files.importers.graphml_xml import RawEdge
from designer.files.reconciliation import Decision, Entry
from designer.model.base import Provenance
from designer.model.geodesy import ROUTE_FACTOR, route_km
from designer.model.ids import derived_id
from designer.model.link_speeds import LinkSpeed, link_speed
from designer.model.things import Link, Reverse
from designer.model.units import show_length, show_rate

_LABELS = ("LinkLabel", "LinkType", "label", "LinkNote", "description")
_NO_SPEED = LinkSpeed(None, 1, False, "the file gives no speed")


@dataclass(frozen=True, slots=True)
class _Bundle:
    """Edges that are one link: `count` identical ones, and what differs on the way back."""

    edge: RawEdge
    count: int
    back: RawEdge | None


def links_of(
    edges: Sequence[RawEdge],
    network: str,
    ids: Mapping[str, str],
    names: Mapping[str, str],
    placed: Mapping[str, tuple[float, float]],
) -> tuple[list[Link], list[Entry]]:
    """The links of the file and what was decided about them.

    `ids` and `names` are by the file's node keys; `placed` has (latitude, longitude) in degrees.
    """
    entries: list[Entry] = []
    between: defaultdict[tuple[str, str], list[RawEdge]] = defaultdict(list)
    for edge in edges:
        if edge.source == edge.target:
            message = f"edge {edge.position} starts and ends at the same node"
            entries.append(Entry(ids[edge.source], "links", "dropped", message))
        else:
            first, second = sorted((edge.source, edge.target))
            between[first, second].append(edge)
    twice = {key for key, times in Counter(edge.key for edge in edges).items() if times > 1}
    links = []
    for ends, parallel in between.items():
        for ordinal, bundle in enumerate(_bundles(parallel)):
            key = bundle.edge.key
            if not key or key in twice:
                key = f"{ends[0]}|{ends[1]}|{ordinal}"
            link_id = derived_id("l", f"graphml/{network}/edge/{key}")
            link, said = _link(bundle, link_id, ids, names, placed)
            links.append(link)
            entries += said
    return links, entries


def _meaning(edge: RawEdge) -> tuple[tuple[str, str], ...]:
    """All that an edge says except who it is."""
    return tuple(sorted((k, v) for k, v in edge.data.items() if k not in ("id", "key")))


def _bundles(parallel: Sequence[RawEdge]) -> list[_Bundle]:
    """Identical edges become one; of directed ones, each is paired with one that runs back."""
    directed = all(edge.directed for edge in parallel)
    forward_source = parallel[0].source
    forth = [e for e in parallel if not directed or e.source == forward_source]
    backs = [e for e in parallel if directed and e.source != forward_source]
    made: dict[tuple[object, ...], _Bundle] = {}
    for edge in forth:
        back = next(
            (e for e in backs if _meaning(e) == _meaning(edge)), backs[0] if backs else None
        )
        if back is not None:
            backs.remove(back)
        kind = (_meaning(edge), _meaning(back) if back else None, edge.directed)
        known = made.get(kind)
        made[kind] = _Bundle(edge, known.count + 1, known.back) if known else _Bundle(edge, 1, back)
    alone = [_Bundle(edge, 1, None) for edge in backs]
    return [*made.values(), *alone]


def _speed(edge: RawEdge) -> LinkSpeed:
    """The speed of an edge: its figure where it has one, held against its label."""
    data = edge.data
    labelled = _NO_SPEED
    for name in _LABELS:
        labelled = link_speed(data.get(name, ""))
        if labelled.gbps is not None or "upper limit" in labelled.reason:
            break
    raw = _raw_gbps(data)
    if raw is None:
        return labelled
    if labelled.gbps is None and "upper limit" in labelled.reason:
        return labelled
    if labelled.gbps is None:
        return LinkSpeed(raw)
    if abs(labelled.gbps * labelled.members / raw - 1) < 0.06:
        return labelled
    label = data.get("LinkLabel", "")[:60]
    return LinkSpeed(raw, 1, False, f'the label "{label}" says otherwise; the figure is taken')


def _raw_gbps(data: Mapping[str, str]) -> float | None:
    try:
        value = float(data["LinkSpeedRaw"]) / 1e9
    except KeyError:
        value = link_speed(f"{data.get('LinkSpeed', '')}{data.get('LinkSpeedUnits', '')}").gbps or 0
    except ValueError:
        return None
    return value if 0 < value < float("inf") else None


def _link(
    bundle: _Bundle,
    link_id: str,
    ids: Mapping[str, str],
    names: Mapping[str, str],
    placed: Mapping[str, tuple[float, float]],
) -> tuple[Link, list[Entry]]:
    edge = bundle.edge
    speed = _speed(edge)
    provenance: dict[str, Provenance] = {}
    entries = _about_bundle(bundle, link_id)
    if not speed.certain:
        kind: Decision = "unknown" if speed.gbps is None else "guessed"
        provenance["capacity_gbps"] = Provenance(kind=kind, note=speed.reason)
        shown = "" if speed.gbps is None else f"{show_rate(speed.gbps)}: "
        entries.append(Entry(link_id, "capacity_gbps", kind, f"{shown}{speed.reason}"))
    length, said = _length(edge, link_id, placed)
    provenance["length_km"] = length
    link = Link(
        id=link_id,
        name=f"{names[edge.source]} - {names[edge.target]}"[:500],
        a=ids[edge.source],
        b=ids[edge.target],
        members=bundle.count * speed.members,
        capacity_gbps=speed.gbps,
        b_to_a=_reverse(bundle, speed),
        note=_note(edge),
        provenance=Map(provenance),
    )
    return link, [*entries, said]


def _reverse(bundle: _Bundle, speed: LinkSpeed) -> Reverse | None:
    back = _speed(bundle.back).gbps if bundle.back else None
    return Reverse(capacity_gbps=back) if back is not None and back != speed.gbps else None


def _about_bundle(bundle: _Bundle, link_id: str) -> list[Entry]:
    entries = []
    if bundle.count > 1:
        message = f"{bundle.count} identical parallel edges became members of one link"
        entries.append(Entry(link_id, "members", "merged", message))
    if bundle.back is not None:
        message = f"edges {bundle.edge.position} and {bundle.back.position} are its two directions"
        entries.append(Entry(link_id, "b_to_a", "merged", message))
    elif bundle.edge.directed:
        message = "the file draws one direction only; the other is taken to be the same"
        entries.append(Entry(link_id, "b_to_a", "guessed", message))
    return entries


def _length(
    edge: RawEdge, link_id: str, placed: Mapping[str, tuple[float, float]]
) -> tuple[Provenance, Entry]:
    """Length stays null: the analysis derives it from the places, where both are known."""
    ends = placed.get(edge.source), placed.get(edge.target)
    if ends[0] is None or ends[1] is None:
        return (
            Provenance(kind="unknown", note="an end has no coordinates"),
            Entry(link_id, "length_km", "unknown", "an end has no coordinates; type the length in"),
        )
    about = show_length(route_km(*ends[0], *ends[1]))
    rule = (
        f"great circle (WGS-84) times route factor {ROUTE_FACTOR} unless the settings name another"
    )
    return (
        Provenance(kind="guessed", source=rule, note="left empty; derived in the analysis"),
        Entry(link_id, "length_km", "guessed", f"about {about}: {rule}"),
    )


def _note(edge: RawEdge) -> str:
    parts = [
        edge.data[name] for name in ("LinkLabel", "LinkType", "LinkStatus") if name in edge.data
    ]
    return f"In the file: {', '.join(dict.fromkeys(parts))}."[:10_000] if parts else ""

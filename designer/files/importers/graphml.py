"""Reads GraphML in the dialect of the Internet Topology Zoo: routers in cities, labelled links.

Coordinates, countries and link speeds are taken where the file is certain. What it leaves open
stays null; every guess and gap is in the reconciliation list.
"""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from immutables import Map

from designer.files.format import read_bytes
from designer.files.importers.countries import country_code
from designer.files.importers.graphml_links import links_of
from designer.files.importers.graphml_xml import RawGraph, RawNode, parse_graphml, refused
from designer.files.reconciliation import Decision, Entry, Imported
from designer.model.base import Provenance
from designer.model.design import Design, TitleBlock
from designer.model.ids import derived_id
from designer.model.references import Problem, problems
from designer.model.things import Group, Node, Site
from designer.model.topology import Topology

MOST_NAME: Final = 500
_READ_OF_NODES: Final = frozenset(
    ("label", "Latitude", "Longitude", "Country", "Internal", "hyperedge", "type", "id")
)
_READ_OF_EDGES: Final = frozenset(
    ("id", "key", "label", "LinkLabel", "LinkNote", "LinkType", "LinkStatus", "LinkSpeed",
     "LinkSpeedUnits", "LinkSpeedRaw", "description")
)  # fmt: skip
_READ_OF_GRAPHS: Final = frozenset(("Network", "label", "Source", "NetworkDate"))


def load(path: Path) -> Imported:
    """Reads a GraphML file. Raises FileRefused with one sentence."""
    return loads(read_bytes(path), str(path))


def loads(data: bytes, name: str) -> Imported:
    """Reads the bytes of a GraphML file called `name`. Raises FileRefused with one sentence.

    Ids come from the network's name and the file's own keys: a second import gives the same.
    """
    graph = parse_graphml(data, name)
    network = graph.data.get("Network") or graph.data.get("label", "")
    reader = _Reader(network)
    for node in graph.nodes:
        reader.add(node)
    placed = {
        key: (node.latitude_deg, node.longitude_deg)
        for key, node in reader.nodes.items()
        if node.latitude_deg is not None and node.longitude_deg is not None
    }
    names = {key: node.name for key, node in reader.nodes.items()}
    ids = {key: node.id for key, node in reader.nodes.items()}
    links, link_entries = links_of(graph.edges, network, ids, names, placed)
    title, title_entries = _title_block(graph, network)
    design = Design(
        title_block=title,
        groups=Map({group.id: group for group in reader.groups.values()}),
        nodes=Map({node.id: node for node in reader.nodes.values()}),
        links=Map({link.id: link for link in links}),
    )
    topology = Topology(design=design)
    _must_fit(problems(topology), name)
    entries = (*title_entries, *reader.entries, *link_entries, *_left_out(graph))
    return Imported(topology, entries)


def _must_fit(found: tuple[Problem, ...], name: str) -> None:
    if found:
        raise refused(name, found[0].place, found[0].message)


@dataclass(slots=True)
class _Reader:
    """Turns the file's nodes into nodes and sites, and keeps the list of what that took."""

    network: str
    nodes: dict[str, Node] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)

    def add(self, raw: RawNode) -> None:
        """Makes the node, and its site where no earlier node stands at the same place."""
        node_id = derived_id("n", f"graphml/{self.network}/node/{raw.key}")
        name = self._name(raw, node_id)
        latitude, longitude = self._place(raw, node_id)
        known = latitude is not None and longitude is not None
        unknown = Map() if known else Map({"latitude_deg": _UNKNOWN, "longitude_deg": _UNKNOWN})
        kind, source_kind = self._kind(raw, node_id)
        self.nodes[raw.key] = Node(
            id=node_id,
            name=name,
            kind=kind,
            group=self._site(raw, name, latitude, longitude),
            latitude_deg=latitude,
            longitude_deg=longitude,
            note=source_kind,
            provenance=unknown,
        )

    def _say(self, element: str, field_name: str, kind: Decision, message: str) -> None:
        self.entries.append(Entry(element, field_name, kind, message))

    def _name(self, raw: RawNode, node_id: str) -> str:
        name = raw.data.get("label", "")
        if not name or name.lower() == "none":
            self._say(node_id, "name", "guessed", f'it has no label; named by its key "{raw.key}"')
            name = raw.key
        if len(name) > MOST_NAME:
            self._say(node_id, "name", "dropped", f"the name is cut to {MOST_NAME} characters")
        return name[:MOST_NAME]

    def _place(self, raw: RawNode, node_id: str) -> tuple[float | None, float | None]:
        latitude = _degrees(raw.data.get("Latitude"), 90)
        longitude = _degrees(raw.data.get("Longitude"), 180)
        if latitude is not None and longitude is not None:
            return latitude, longitude
        stated = ", ".join(raw.data[k] for k in ("Latitude", "Longitude") if k in raw.data)
        reason = f'"{stated[:40]}" is no place' if stated else "the file gives no coordinates"
        for name in ("latitude_deg", "longitude_deg"):
            self._say(node_id, name, "unknown", f"{reason}; place it by hand")
        return None, None

    def _kind(self, raw: RawNode, node_id: str) -> tuple[str, str]:
        """The kind of node, and what the file calls it."""
        stated = raw.data.get("type", "")
        note = f"In the file: {stated}." if stated else ""
        if _flag(raw.data.get("hyperedge")):
            self._say(
                node_id, "kind", "guessed", "a junction of several links; drawn as a core router"
            )
            return "core_router", f"{note} A junction (hyperedge) in the file.".strip()
        if raw.data.get("Internal") is not None and not _flag(raw.data["Internal"]):
            self._say(node_id, "kind", "guessed", "outside the network; drawn as a peering gateway")
            return "peering_gateway", f"{note} Outside the network in the file.".strip()
        return "core_router", note

    def _site(
        self, raw: RawNode, name: str, latitude: float | None, longitude: float | None
    ) -> str:
        country = raw.data.get("Country", "")
        place = f"{latitude},{longitude}" if latitude is not None else f"node/{raw.key}"
        group_id = derived_id("g", f"graphml/{self.network}/site/{place}/{country}")
        if group_id in self.groups:
            return group_id
        code = country_code(country) if country else None
        unknown = {} if code else {"site.jurisdiction": _UNKNOWN}
        if code is None:
            reason = f'"{country[:60]}" is no country of ISO 3166' if country else "not in the file"
            self._say(group_id, "site.jurisdiction", "unknown", f"{reason}; set it by hand")
        if latitude is None:
            unknown |= {"site.latitude_deg": _UNKNOWN, "site.longitude_deg": _UNKNOWN}
        self.groups[group_id] = Group(
            id=group_id,
            name=name,
            kind="site",
            site=Site(latitude_deg=latitude, longitude_deg=longitude, jurisdiction=code),
            provenance=Map(unknown),
        )
        return group_id


_UNKNOWN: Final = Provenance(kind="unknown", note="not in the imported file")


def _degrees(text: str | None, limit: float) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and -limit <= value <= limit else None


def _flag(text: str | None) -> bool:
    return text is not None and text.lower() not in ("0", "false", "no", "0.0")


def _title_block(graph: RawGraph, network: str) -> tuple[TitleBlock, list[Entry]]:
    source = graph.data.get("Source", "")
    date = graph.data.get("NetworkDate", "")
    parts = [
        f"Imported from GraphML{f': {network}' if network else ''}.",
        f"Source: {source}." if source else "",
        f"The network as of {date.replace('_', '-')}." if date else "",
    ]
    entries = []
    rest = sorted(set(graph.data) - _READ_OF_GRAPHS)
    if rest:
        entries.append(
            Entry("", "title_block", "dropped", f"not part of a design: {', '.join(rest)}")
        )
    story = " ".join(part for part in parts if part)
    return TitleBlock(title=network[:MOST_NAME], story=story[:10_000]), entries


def _left_out(graph: RawGraph) -> list[Entry]:
    entries = [
        Entry("", "graph", "dropped", f"{count} {what}: not read") for what, count in graph.left_out
    ]
    for what, items, read in (
        ("nodes", graph.nodes, _READ_OF_NODES),
        ("edges", graph.edges, _READ_OF_EDGES),
    ):
        counts = Counter(name for item in items for name in item.data if name not in read)
        entries += [
            Entry("", name, "dropped", f"{count} values of this attribute of {what}: not read")
            for name, count in sorted(counts.items())
        ]
    return entries

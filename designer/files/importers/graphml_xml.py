"""The XML side of GraphML: one graph's nodes and edges as plain text values, read without risk.

Entities and external references are refused: GraphML needs none, and they are how a small file
grows without end or reads other files.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from designer.files.format import FileRefused
from designer.model.references import Problem

MOST_BYTES: Final = 64 * 1024 * 1024
MOST_ELEMENTS: Final = 500_000


@dataclass(frozen=True, slots=True)
class RawNode:
    """A node: its key in the file and its data by attribute name."""

    key: str
    data: dict[str, str]


@dataclass(frozen=True, slots=True)
class RawEdge:
    """An edge between two node keys; `position` counts edges from 1 in the file's order."""

    key: str
    source: str
    target: str
    directed: bool
    position: int
    data: dict[str, str]


@dataclass(frozen=True, slots=True)
class RawGraph:
    """One graph as it stands in the file, and the parts of the file that are not in it."""

    data: dict[str, str]
    nodes: tuple[RawNode, ...]
    edges: tuple[RawEdge, ...]
    left_out: tuple[tuple[str, int], ...]


def parse_graphml(data: bytes, name: str) -> RawGraph:
    """The first graph of a GraphML file called `name`; nested graphs are read as part of it.

    Raises FileRefused for what is no GraphML, is too large, has entities, or does not fit.
    """
    root = _root(data, name)
    graph = next((each for each in root if _tag(each) == "graph"), None)
    if graph is None:
        raise refused(name, "graphml", "the file has no graph; export it again as GraphML")
    keys = _keys(root)
    nodes = tuple(_nodes(graph, keys, name))
    known = {node.key for node in nodes}
    edges = tuple(_edges(graph, keys, known, name))
    counts = Counter(_tag(each) for each in graph.iter())
    others = sum(1 for each in root if _tag(each) == "graph") - 1
    left_out = (
        ("hyperedge elements", counts["hyperedge"]),
        ("ports", counts["port"]),
        ("further graphs of the file", others),
        ("nesting of graphs", counts["graph"] - 1),
    )
    return RawGraph(
        _data(graph, keys["graph"]), nodes, edges, tuple(each for each in left_out if each[1])
    )


def refused(name: str, place: str, message: str) -> FileRefused:
    """A refusal in one sentence: file, place, remedy."""
    return FileRefused(name, (Problem(place, message),))


def _root(data: bytes, name: str) -> Element:
    if not data.strip():
        raise refused(name, "", "the file is empty; export it again")
    if len(data) > MOST_BYTES:
        raise refused(name, "", f"the file is larger than {MOST_BYTES >> 20} MiB; split it")
    try:
        root: Element = fromstring(data)
    except DefusedXmlException:
        raise refused(
            name, "", "the XML declares entities or reads other files; export it without them"
        ) from None
    except ParseError as error:
        line, column = error.position
        place = f"line {line}, column {column + 1}"
        raise refused(name, place, "this is not well-formed XML; export it again") from None
    except (LookupError, ValueError):
        raise refused(name, "line 1", "the encoding is not known; save it as UTF-8") from None
    if _tag(root) != "graphml":
        raise refused(
            name, "", f"this is no GraphML (its root is {_tag(root)[:40]}); choose another"
        )
    if sum(1 for each in root.iter() if _tag(each) in ("node", "edge")) > MOST_ELEMENTS:
        raise refused(name, "", f"it has more than {MOST_ELEMENTS:,} nodes and links; split it")
    return root


def _tag(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _keys(root: Element) -> dict[str, dict[str, tuple[str, str | None]]]:
    """Per domain (graph, node, edge): key id to attribute name and default."""
    found: dict[str, dict[str, tuple[str, str | None]]] = {"graph": {}, "node": {}, "edge": {}}
    for key in root:
        if _tag(key) != "key":
            continue
        default = next((each.text for each in key if _tag(each) == "default"), None)
        entry = (key.get("attr.name") or key.get("id") or "", default)
        domain = key.get("for", "all")
        for each in found if domain == "all" else (domain,):
            found.setdefault(each, {})[key.get("id") or ""] = entry
    return found


def _data(element: Element, keys: dict[str, tuple[str, str | None]]) -> dict[str, str]:
    """Data of one element by attribute name; white space is folded, empty values are left out."""
    values = {name: default for name, default in keys.values() if default is not None}
    for each in element:
        if _tag(each) == "data":
            name, _ = keys.get(each.get("key") or "", (each.get("key") or "", None))
            values[name] = "".join(each.itertext())
    folded = {name: " ".join(value.split()) for name, value in values.items()}
    return {name: value for name, value in folded.items() if value}


def _nodes(
    graph: Element, keys: dict[str, dict[str, tuple[str, str | None]]], name: str
) -> Iterator[RawNode]:
    seen: set[str] = set()
    for position, node in enumerate((e for e in graph.iter() if _tag(e) == "node"), start=1):
        key = node.get("id")
        if not key:
            raise refused(name, f"node {position}", "it has no id; give it one")
        if key in seen:
            raise refused(name, f'node "{key[:40]}"', "its id is used twice; give one a fresh id")
        seen.add(key)
        yield RawNode(key, _data(node, keys["node"]))


def _edges(
    graph: Element,
    keys: dict[str, dict[str, tuple[str, str | None]]],
    known: set[str],
    name: str,
) -> Iterator[RawEdge]:
    directed_graph = graph.get("edgedefault") == "directed"
    for position, edge in enumerate((e for e in graph.iter() if _tag(e) == "edge"), start=1):
        ends = edge.get("source") or "", edge.get("target") or ""
        for end in ends:
            if end not in known:
                raise refused(
                    name,
                    f"edge {position}",
                    f'its end "{end[:40]}" is no node of the file; correct it',
                )
        stated = edge.get("directed")
        directed = directed_graph if stated is None else stated in ("true", "1")
        data = _data(edge, keys["edge"])
        yield RawEdge(
            edge.get("id") or data.get("id", ""), ends[0], ends[1], directed, position, data
        )

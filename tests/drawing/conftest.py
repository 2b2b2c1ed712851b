"""Two small designs that a person would draw: a metro with three sites, and a fabric."""

import pytest
from immutables import Map

from designer.model.design import Design, TitleBlock
from designer.model.things import Group, Link, Node, Site
from designer.model.topology import Topology


def table(*things):
    """Things by id, as a design holds them."""
    return Map({thing.id: thing for thing in things})


def node(id_, kind, group=None, **fields):
    """A node."""
    return Node(id=id_, kind=kind, group=group, **fields)


def link(id_, a, b, capacity_gbps=None, **fields):
    """A link."""
    return Link(id=id_, a=a, b=b, capacity_gbps=capacity_gbps, **fields)


def metro_design() -> Design:
    """Access, a PoP, a ring, and a regional site with a small fabric."""
    groups = table(
        Group(id="north", kind="site", name="Access North"),
        Group(id="south", kind="site", name="Access South", count=3),
        Group(id="pop", kind="site", name="PoP Centre"),
        Group(id="ring", kind="zone", name="Metro ring"),
        Group(id="edge", kind="site", name="Metro edge", site=Site(candidate=True)),
        Group(id="regional", kind="site", name="Regional", site=Site(candidate=True)),
        Group(id="fabric", kind="fabric", name="Fabric R", parent="regional"),
        Group(id="pod", kind="pod", name="Pod A", parent="regional"),
    )
    nodes = table(
        node("u5g", "users", "north", name="5G users", users=24000, access="nr-5g-fr1"),
        node("gnb", "base_station", "north", name="gNB", count=120, throughput_gbps=1.2),
        node("ftth", "users", "north", name="FTTH users", users=60000, access="xgs_pon"),
        node("olt", "olt", "north", name="OLT", count=48, forwarding_us=30.0),
        node("agg", "aggregation_router", "north", name="agg", count=2),
        node("uhome", "users", "south", name="Home users", users=54000),
        node("cmts", "cmts", "south", name="CMTS", count=12),
        node("fw", "firewall", "pop", name="Firewall", forwarding_us=40.0),
        node("bng", "bng", "pop", name="BNG", count=2, throughput_gbps=400.0),
        node("gw", "api_gateway", "pop", name="API gateway"),
        node("auth", "auth", "pop", name="Auth, policy"),
        node("mr", "model_router", "pop", name="Model router"),
        *(node(f"metro{n}", "metro_router", "ring", name=f"metro-{n}") for n in (1, 2, 3, 4)),
        node("onramp", "cloud_onramp", name="On-ramp"),
        node("leafe", "leaf", "edge", name="Leaf E"),
        node("gpue", "server", "edge", name="GPU server", count=2, gpus=8, accelerator="h200-sxm"),
        node("kv", "kv_store", "edge", name="KV-cache store"),
        node("rgw", "dci", "regional", name="reg-gw", count=2),
        *(node(f"s{n}", "spine", "fabric", name=f"S{n}") for n in (1, 2)),
        *(node(f"l{n}", "leaf", "fabric", name=f"L{n}") for n in (1, 2, 3, 4)),
        *(
            node(
                f"r{n}", "server", "pod", name=f"Rack {n}", count=4, gpus=8, accelerator="h200-sxm"
            )
            for n in (1, 2, 3, 4)
        ),
        node("vec", "vector_store", "regional", name="Vector store"),
        node("obj", "object_storage", "regional", name="Storage"),
    )
    links = table(
        link("k01", "u5g", "gnb", 1.2),
        link("k02", "gnb", "agg", 25.0),
        link("k03", "ftth", "olt", 10.0),
        link("k04", "olt", "agg", 25.0),
        link("k05", "agg", "bng", 200.0),
        link("k06", "uhome", "cmts", 10.0),
        link("k07", "cmts", "agg", 100.0),
        link("k08", "bng", "fw", 400.0),
        link("k09", "fw", "gw", 100.0),
        link("k10", "gw", "auth", 25.0),
        link("k11", "auth", "mr", 25.0),
        link("k12", "mr", "onramp", 100.0),
        link("k13", "bng", "metro1", 400.0, members=4),
        link("k14", "metro1", "metro2", 400.0, length_km=12.0),
        link("k15", "metro2", "metro3", 400.0, length_km=18.0),
        link("k16", "metro3", "metro4", 400.0, length_km=20.0),
        link("k17", "metro4", "metro1", 400.0, length_km=12.0),
        link("k18", "metro3", "leafe", 800.0),
        link("k19", "leafe", "gpue", 400.0, members=8),
        link("k20", "leafe", "kv", 400.0),
        link("k21", "metro4", "rgw", 400.0, name="DCI North", length_km=80.0),
        *(link(f"k22{n}", "rgw", f"s{n}", 400.0) for n in (1, 2)),
        *(
            link(f"k3{s}{n}", f"s{s}", f"l{n}", 800.0, members=4)
            for s in (1, 2)
            for n in (1, 2, 3, 4)
        ),
        *(link(f"k4{n}", f"l{n}", f"r{n}", 400.0, members=8) for n in (1, 2, 3, 4)),
        link("k50", "l4", "vec", 100.0),
        link("k51", "l4", "obj", 400.0),
    )
    title = TitleBlock(title="Metro inference")
    return Design(title_block=title, groups=groups, nodes=nodes, links=links)


def fabric_design() -> Design:
    """Two spines, two leaves, four servers: nodes without a group."""
    nodes = table(
        *(node(f"s{n}", "spine", name=f"spine-{n}") for n in (1, 2)),
        *(node(f"l{n}", "leaf", name=f"leaf-{n}") for n in (1, 2)),
        *(node(f"g{n}", "server", name=f"gpu-{n}", gpus=8) for n in (1, 2, 3, 4)),
    )
    links = table(
        *(link(f"a{s}{n}", f"s{s}", f"l{n}", 800.0) for s in (1, 2) for n in (1, 2)),
        *(link(f"b{n}", f"l{(n + 1) // 2}", f"g{n}", 400.0) for n in (1, 2, 3, 4)),
    )
    return Design(title_block=TitleBlock(title="Fabric of eight"), nodes=nodes, links=links)


@pytest.fixture
def metro() -> Topology:
    """A metro with its sites, a ring and a regional fabric."""
    return Topology(design=metro_design())


@pytest.fixture
def fabric() -> Topology:
    """An eight-node fabric without groups."""
    return Topology(design=fabric_design())

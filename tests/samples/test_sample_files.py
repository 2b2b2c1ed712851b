"""The samples that ship: whole, canonical, from the catalogue, and every request has a way."""

from collections.abc import Container, Iterator
from pathlib import Path

import pytest

from designer.analysis.demand import nearest_of
from designer.analysis.elements import Elements
from designer.analysis.facts import Ledger
from designer.analysis.oversubscription import oversubscription
from designer.files import catalogue as catalogue_files
from designer.files.format import dumps, load
from designer.graph.arrays import TERMINALS, Arrays, arrays
from designer.graph.expand import expand
from designer.graph.paths import PathFinder
from designer.model.catalog import Catalogue
from designer.model.design import Design
from designer.model.references import multiplicity, problems
from designer.model.services import Call, Service
from designer.model.steps import calls, model_calls

NAMES = ("agent-platform-two-regions", "ai-factory", "metro-inference")
GUESSED_LENGTHS = {"agent-platform-two-regions": ["wave-ny"]}
"""The one link of the samples that is drawn without a length on purpose."""


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return catalogue_files.load()


@pytest.fixture(scope="module", params=NAMES)
def sample(request: pytest.FixtureRequest, checkout: Path) -> Path:
    return checkout / "sample_topologies" / f"{request.param}.promptpath"


@pytest.fixture(scope="module")
def design(sample: Path) -> Design:
    return load(sample).topology.design


@pytest.fixture(scope="module")
def network(design: Design, catalogue: Catalogue) -> Arrays:
    return _arrays(design, catalogue)


def _arrays(design: Design, catalogue: Catalogue) -> Arrays:
    elements = Elements(design, catalogue, Ledger())
    expansion = expand(design)
    delays = [elements.link_one_way_ms(design.links[key]).value for key in expansion.link_ids]
    return arrays(design, expansion, delays)


def _opened(checkout: Path, name: str) -> Design:
    return load(checkout / "sample_topologies" / f"{name}.promptpath").topology.design


def test_bytes_are_canonical_and_parts_fit(sample: Path) -> None:
    topology = load(sample).topology
    assert dumps(topology) == sample.read_bytes()
    assert problems(topology) == ()


def test_title_block_tells_a_story(design: Design) -> None:
    block = design.title_block
    assert (block.date, block.author) == ("2026-11-20", "Promptpath samples")
    assert block.title
    assert block.revision_label
    assert "question" in block.story
    assert "To try" in block.story
    assert design.settings.base_year == 2026
    assert all(service.slos for service in design.services.values())


def test_every_catalogue_id_exists(design: Design, catalogue: Catalogue) -> None:
    unknown = [
        (place, row_id)
        for place, row_id, table in _named_rows(design, catalogue)
        if row_id not in table
    ]
    assert unknown == []


def _named_rows(design: Design, cat: Catalogue) -> Iterator[tuple[str, str, Container[str]]]:
    """(where, id, table) of each catalogue row that a design names."""
    for node in design.nodes.values():
        time = node.service_time.catalogue if node.service_time else None
        yield from _given(node.id, (node.device, cat.devices), (node.access, cat.access))
        yield from _given(node.id, (node.accelerator, cat.accelerators), (time, cat.service_times))
    for link in design.links.values():
        yield from _given(link.id, (link.medium, cat.media), (link.optic, cat.optics))
        yield from _given(link.id, (link.fec, cat.fec))
    for group in design.groups.values():
        for offer in group.site.offers if group.site else ():
            yield from _given(group.id, (offer.accelerator, cat.accelerators))
    for deployment in design.deployments.values():
        yield from _given(deployment.id, (deployment.model, cat.models))
    for service in design.services.values():
        tokens = (service.prompt_tokens.catalogue, service.output_tokens.catalogue)
        yield from _given(
            service.id, *((each, cat.workloads) for each in (*tokens, service.workload))
        )
        yield from _given(service.id, (service.model, cat.models))
        for call in calls(service.workflow):
            time = call.service_time.catalogue if call.service_time else None
            yield from _given(service.id, (time, cat.service_times))


def _given(
    place: str, *rows: tuple[str | None, Container[str]]
) -> Iterator[tuple[str, str, Container[str]]]:
    return ((place, row_id, table) for row_id, table in rows if row_id is not None)


def test_devices_suit_the_kind_of_their_node(design: Design, catalogue: Catalogue) -> None:
    for node in design.nodes.values():
        if node.device is not None:
            row = catalogue.device(node.device)
            assert node.kind in (row.kind, *row.also), node.id


def test_optics_have_the_rate_and_reach_of_their_link(design: Design, catalogue: Catalogue) -> None:
    for link in design.links.values():
        if link.optic is None or link.capacity_gbps is None:
            continue
        row = catalogue.optic(link.optic)
        assert row.gbps is None or row.gbps >= link.capacity_gbps, link.id
        if row.reach_km is not None and link.length_km is not None:
            assert row.reach_km >= link.length_km, link.id


def test_links_have_lengths_but_for_the_one_that_teaches(
    sample: Path, design: Design, catalogue: Catalogue
) -> None:
    elements = Elements(design, catalogue, Ledger())
    facts = {key: elements.link_one_way_ms(link) for key, link in design.links.items()}
    assert [key for key, fact in facts.items() if fact.value is None] == []
    guessed = sorted(key for key, fact in facts.items() if fact.kind == "guessed")
    assert guessed == GUESSED_LENGTHS.get(sample.stem, [])


def test_requests_find_their_way_and_cross_no_server(design: Design, network: Arrays) -> None:
    finder = PathFinder(network)
    for service in design.services.values():
        for demand in service.demands:
            for source, target in _legs(design, service, demand.users, finder):
                ways = finder.paths(source, target)
                assert ways, (service.id, source, target)
                for way in ways:
                    crossed = {design.nodes[key].kind for key in way.crossed}
                    assert crossed.isdisjoint(TERMINALS), (source, target)
                    assert crossed.isdisjoint({"api_gateway", "ai_gateway", "auth", "policy"})


def _legs(
    design: Design, service: Service, users: str, finder: PathFinder
) -> Iterator[tuple[str, str]]:
    """Every (from, to) of a request: waypoints in order, round trips, pools of its models."""
    nearest = nearest_of(design, lambda a, b: _ms(finder, a, b))
    models = {call.model or service.model for call in model_calls(service.workflow)}
    pools = [each.node for each in design.deployments.values() if each.model in models]
    assert pools, service.id
    at = users
    for call in calls(service.workflow):
        assert isinstance(call, Call)
        start = pools[0] if call.reached == "from_model" else at
        node = nearest(call.at, start)
        assert node is not None, (service.id, call.name)
        if node != start:
            yield from ((start, node), (node, start))
        at = node if call.reached == "through" else at
    for pool in pools:
        yield from ((at, pool), (pool, at))
    yield at, users


def _ms(finder: PathFinder, source: str, target: str) -> float | None:
    ways = finder.paths(source, target)
    delay = finder.arrays.one_way_ms
    return sum(float(delay[hop.edge]) for hop in ways[0].hops) if ways else None


def test_flows_find_their_way(design: Design, network: Arrays) -> None:
    finder = PathFinder(network)
    for flow in design.flows.values():
        assert finder.paths(flow.source, flow.target), flow.id


def test_replicas_fit_on_their_gpus(design: Design) -> None:
    taken: dict[str, int] = {}
    for each in design.deployments.values():
        ways = each.replicas * each.tensor_parallel * each.pipeline_parallel
        taken[each.node] = taken.get(each.node, 0) + ways
    for key, gpus in taken.items():
        assert gpus <= (design.nodes[key].gpus or 0) * multiplicity(design, key), key


@pytest.mark.parametrize(
    ("name", "instances", "cables"),
    [
        # Drawn nodes, and what more the counts stand for: base stations, OLTs, branches, two
        # gateways, the metro's spine, leaf and servers, the region's. Cables: access 143, service
        # edge 12, transport 10, edge site 6, metro site 16, region 20.
        (
            "metro-inference",
            45 + 47 + 15 + 11 + 2 * 1 + 3 * 1 + 1 + 1 + 3,
            143 + 12 + 10 + 6 + 16 + 20,
        ),
        # Drawn nodes; a region adds two gateways, 3 sandboxes, a spine, a leaf, and 2 servers (the
        # United States 1). Cables: 38 a region (34 there), 3 lines, 2 waves, 4 long ways, 4 to the
        # search providers.
        ("agent-platform-two-regions", 55 + 3 * 7 + 2 + 2 + 1, 38 + 38 + 34 + 3 + 2 + 4 + 4),
        # 4 pods of 32 servers, 8 rails, 2 front leaves; 8 + 4 spines, 2 storage switches, 4 filers,
        # 9 single nodes and 2 gateways. Cables: servers to rails, rails to spines, servers to
        # front leaves, front and storage uplinks, filers, 3 stores, the border, 7 single ones.
        (
            "ai-factory",
            4 * (32 + 8 + 2) + 8 + 4 + 2 + 4 + 9 + 2,
            4 * 32 * 8 + 32 * 8 + 4 * 32 * 2 + 8 * 4 + 2 * 4 + 4 * 2 + 3 * 2 + 4 + 7,
        ),
    ],
)
def test_counts_expand(checkout: Path, name: str, instances: int, cables: int) -> None:
    expansion = expand(_opened(checkout, name))
    assert (len(expansion.node_of), len(expansion.link_of)) == (instances, cables)


def test_ai_factory_has_1024_gpus_behind_rails_of_two_to_one(
    checkout: Path, catalogue: Catalogue
) -> None:
    design = _opened(checkout, "ai-factory")
    assert multiplicity(design, "servers") * (design.nodes["servers"].gpus or 0) == 1024
    found = oversubscription(design, _arrays(design, catalogue))
    rail = next(row for row in found.switches if row.id == "rail")
    # A rail switch has one 400G port to each of the pod's 32 servers, and 2 to each of 8 spines.
    assert (rail.downlink_gbps, rail.uplink_gbps, rail.ratio) == (12800, 6400, 2)
    assert next(row for row in found.tiers if row.tier == "fabric").switch == "rail"
    assert all(row.limit is None or row.ratio <= row.limit for row in found.switches)


def test_each_server_reaches_each_rail_of_its_pod(checkout: Path) -> None:
    design = _opened(checkout, "ai-factory")
    expansion = expand(design)
    link = expansion.link_ids.index("server-rail")
    chosen = expansion.link_of == link
    pairs = set(zip(expansion.a[chosen].tolist(), expansion.b[chosen].tolist(), strict=True))
    servers = expansion.instances(expansion.node_ids.index("servers")).tolist()
    rails = expansion.instances(expansion.node_ids.index("rail")).tolist()
    expected = {
        (servers[32 * pod + server], rails[8 * pod + rail])
        for pod in range(4)
        for server in range(32)
        for rail in range(8)
    }
    assert pairs == expected


def test_training_stays_on_the_rails_and_checkpoints_off_them(
    checkout: Path, catalogue: Catalogue
) -> None:
    finder = PathFinder(_arrays(_opened(checkout, "ai-factory"), catalogue))
    training = {key for way in finder.paths("servers", "servers") for key in way.crossed}
    checkpoint = {key for way in finder.paths("servers", "filer") for key in way.crossed}
    assert training == {"rail", "spine"}
    assert checkpoint == {"front-leaf", "front-spine", "store-leaf"}


def test_metro_weights_cross_the_dci_and_users_the_firewall(
    checkout: Path, catalogue: Catalogue
) -> None:
    design = _opened(checkout, "metro-inference")
    finder = PathFinder(_arrays(design, catalogue))
    assert "dci-regional" in finder.paths("reg-objects", "metro-cache")[0].links
    for users in ("users-5g", "users-ftth", "branch-bank", "branch-clinic"):
        assert all("firewall" in way.crossed for way in finder.paths(users, "api-gateway"))
    # Full-rate ports on the way of the weights: what limits them is the smallest, 2 x 100G at the
    # cache, until DCI Regional falls from 400G to 100G.
    links = design.links
    cache = 2 * (links["metro-cache-nic"].capacity_gbps or 0)
    assert cache == 200 < (links["dci-regional"].capacity_gbps or 0) == 400
    assert (links["reg-obj-nic"].capacity_gbps or 0) > cache


def test_the_cheapest_gpus_are_out_of_region_for_one_service_alone(checkout: Path) -> None:
    design = _opened(checkout, "agent-platform-two-regions")
    price = {
        key: min(offer.usd_per_gpu_hour or 0 for offer in group.site.offers)
        for key, group in design.groups.items()
        if group.site is not None and group.site.offers
    }
    cheapest = min(price, key=price.__getitem__)
    site = design.groups[cheapest].site
    assert site is not None
    assert (cheapest, site.jurisdiction) == ("site-us", "US-VA")
    assert design.services["docs"].residency.jurisdictions == ("DE", "IE")
    assert design.services["agent"].residency.jurisdictions == ()

"""The analysis in a worker process equals the analysis here, stage by stage."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from immutables import Map

from designer.analysis.run import AnalysisRequest, Stage, analyse
from designer.engine import jobs
from designer.engine.client import Client
from designer.engine.messages import Cancelled, Done, Failed, Message
from designer.engine.messages import Stage as Sent
from designer.files import catalogue
from designer.files.format import dumps
from designer.model.design import Change, Design, Scenario
from designer.model.services import Demand, Deployment, Service, Slo, Tokens
from designer.model.things import Link, Node
from designer.model.topology import Topology
from tests.engine.jobs import gated, nothing

NOT_YET_S = 120.0
"""Longer than any test waits; what does not come by then never will."""
STAGES = ["network", "services", "placement", "scenarios"]


def a_design() -> Topology:
    """Users, a router and a GPU server that serves one service, with one scenario."""
    nodes = (
        Node(id="users", name="Users", kind="branch", users=100),
        Node(id="router", name="Router", kind="metro_router"),
        Node(id="gpus", name="GPUs", kind="server", accelerator="h100_sxm", gpus=8),
    )
    links = (
        Link(id="up", name="Up", a="users", b="router", capacity_gbps=10.0, one_way_ms=1.0),
        Link(id="in", name="In", a="router", b="gpus", capacity_gbps=100.0, one_way_ms=0.5),
    )
    pool = Deployment(id="pool", name="Pool", node="gpus", model="Llama-3.1-8B", engine="vllm")
    service = Service(
        id="chat",
        name="Chat",
        model="Llama-3.1-8B",
        prompt_tokens=Tokens(mean=500.0),
        output_tokens=Tokens(mean=50.0),
        demands=(Demand(users="users", requests_per_s=1.0),),
        slos=(Slo(metric="ttft", percentile=95.0, limit_ms=500.0),),
    )
    slower = Scenario(
        id="slower", name="Slower", changes=(Change(target="up", field="one_way_ms", value=30.0),)
    )
    return Topology(
        design=Design(
            nodes=Map({each.id: each for each in nodes}),
            links=Map({each.id: each for each in links}),
            deployments=Map({pool.id: pool}),
            services=Map({service.id: service}),
            scenarios=Map({slower.id: slower}),
        )
    )


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(prepare=f"{nothing.__module__}:{nothing.__name__}") as made:
        made.open_design(dumps(a_design()))
        yield made


def until(client: Client, enough: Callable[[list[Message]], bool]) -> list[Message]:
    """All messages until there are enough."""
    messages = client.poll(now_s=0.0)
    while not enough(messages):
        assert client.wait(NOT_YET_S), f"nothing more came after {messages}"
        messages += client.poll(now_s=0.0)
    return messages


def ended(job: int) -> Callable[[list[Message]], bool]:
    return lambda messages: any(
        isinstance(each, Done | Cancelled | Failed) and each.job == job for each in messages
    )


def test_the_worker_yields_what_the_analysis_yields_here(client: Client) -> None:
    request = AnalysisRequest(revision=41, file="small.promptpath", content="c" * 64)
    messages = until(client, ended(client.submit(jobs.analyse, request, revision=41)))
    stages = [each.payload for each in messages if isinstance(each, Sent)]
    assert [stage.name for stage in stages] == STAGES
    assert {stage.revision for stage in stages} == {41}
    assert {stage.results.revision for stage in stages} == {41}
    assert {each.revision for each in messages if not isinstance(each, Sent)} == {41}
    assert isinstance(messages[-1], Done)
    assert stages == list(analyse(a_design().design, catalogue.load(), request))


def test_a_newer_analysis_takes_the_place_of_one_that_waits(client: Client, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    short = AnalysisRequest(until="network")
    running = client.submit(gated, str(gate), revision=1)
    older = client.submit(jobs.analyse, short, revision=2)
    newer = client.submit(jobs.analyse, short, revision=3)
    with gate.open("w"):
        messages = until(client, ended(newer))
    endings = [each for each in messages if not isinstance(each, Sent)]
    assert endings == [Cancelled(older, 2), Done(running, 1), Done(newer, 3)]


def test_what_the_analysis_refuses_is_a_sentence(client: Client) -> None:
    request = AnalysisRequest(service="nobody")
    (failed,) = until(client, ended(client.submit(jobs.analyse, request, revision=4)))
    assert isinstance(failed, Failed)
    assert failed.sentence == 'there is no service "nobody"; use one of chat.'


def test_it_ends_between_stages_when_told_to_stop() -> None:
    wishes = iter([False, True])
    stages: list[Stage] = list(jobs.analyse(a_design(), AnalysisRequest(), lambda: next(wishes)))
    assert [stage.name for stage in stages] == STAGES[:2]

"""A placement as a patch: what is added, kept, removed, and where services are steered."""

from typing import Any

from designer.analysis.placement_edit import placement_patch
from designer.analysis.results import PlacedReplicas, Placement, ServedShare
from designer.model.design import Design
from designer.model.patch import apply, invert
from designer.model.services import PlacedShare, Steering
from designer.model.topology import Topology
from tests.analysis.worked import chat, deployment, gpus, link, small, table


def _row(node: str, replicas: int, service: str = "chat", **fields: Any) -> PlacedReplicas:
    ways = fields.pop("tensor_parallel", 1)
    serves = (ServedShare(service=service, users="users", share=fields.pop("share", 1.0)),)
    return PlacedReplicas(
        service=service, site="s", node=node, model="Llama-3.1-8B", accelerator="h100_sxm",
        tensor_parallel=ways, replicas=replicas, gpus=replicas * ways, usd_per_month=1.0,
        users=("users",),
        serves=fields.pop("serves", serves),
    )  # fmt: skip


def _plan(*rows: PlacedReplicas) -> Placement:
    return Placement(status="optimal", replicas=rows)


def _two_pools() -> Design:
    return small(
        chat(),
        nodes=small().nodes.set("other", gpus("other")),
        links=small().links.set("leaf-other", link("leaf", "other")),
        deployments=table(deployment(engine="vllm", weight_format="fp8", kv_tokens=5000)),
    )


def _after(design: Design, placement: Placement) -> Design:
    patch = placement_patch(design, placement)
    topology = Topology(design=design)
    after = apply(topology, patch)
    assert apply(after, invert(patch)) == topology
    return after.design


def test_a_deployment_in_place_keeps_its_settings() -> None:
    design = _two_pools()
    after = _after(design, _plan(_row("pool", 5)))
    assert after.deployments["llama"] == design.deployments["llama"].replace(replicas=5)
    assert after.services["chat"].steering == Steering(
        policy="placed",
        targets=("llama",),
        placed=(PlacedShare(users="users", deployment="llama", share=1.0),),
    )


def test_a_move_takes_the_settings_along() -> None:
    after = _after(_two_pools(), _plan(_row("other", 3)))
    (made,) = after.deployments.values()
    assert (made.node, made.replicas, made.engine, made.weight_format) == (
        "other",
        3,
        "vllm",
        "fp8",
    )
    # Room for KV was said of the old GPUs.
    assert made.kv_tokens is None
    assert after.services["chat"].steering.targets == (made.id,)


def test_other_ways_are_another_deployment() -> None:
    after = _after(_two_pools(), _plan(_row("pool", 2, tensor_parallel=2)))
    (made,) = after.deployments.values()
    assert made.id != "llama"
    assert (made.tensor_parallel, made.replicas) == (2, 2)


def test_services_of_one_model_share_a_deployment() -> None:
    design = _two_pools()
    design = design.model_copy(
        update={"services": design.services.set("second", chat().replace(id="second"))}
    )
    after = _after(design, _plan(_row("pool", 2), _row("pool", 1, service="second")))
    assert after.deployments["llama"].replicas == 3
    targets = {service.steering.targets for service in after.services.values()}
    assert targets == {("llama",)}


def test_more_gpus_than_a_node_has_add_servers() -> None:
    """Seven replicas of 4 GPUs are 28; with 8 in a server that takes four servers."""
    after = _after(_two_pools(), _plan(_row("other", 7, tensor_parallel=4)))
    assert after.nodes["other"].count == 4
    assert after.nodes["pool"].count == 1


def test_servers_count_what_stays_on_them() -> None:
    design = _two_pools()
    staying = deployment("q", "other", model="Qwen3-8B", replicas=6)
    design = design.model_copy(update={"deployments": design.deployments.set("q", staying)})
    after = _after(design, _plan(_row("other", 4)))
    assert after.nodes["other"].count == 2
    assert after.deployments["q"] == staying


def test_no_plan_no_patch() -> None:
    assert placement_patch(_two_pools(), Placement(status="infeasible")) == ()


def test_shares_are_written_down_as_placed() -> None:
    after = _after(_two_pools(), _plan(_row("pool", 1, share=0.25), _row("other", 3, share=0.75)))
    steering = after.services["chat"].steering
    made = {each.node: each.id for each in after.deployments.values()}
    # The busiest comes first in the order of failover.
    assert steering.targets == (made["other"], "llama")
    assert {(each.deployment, each.share) for each in steering.placed} == {
        ("llama", 0.25),
        (made["other"], 0.75),
    }


def test_a_service_outside_the_plan_forgets_the_pools_that_go() -> None:
    """It asks for nothing, so it is not placed, but its steering names the old pool."""
    design = _two_pools()
    idle = chat().replace(id="idle", demands=(), steering=Steering(targets=("llama",)))
    design = design.model_copy(update={"services": design.services.set("idle", idle)})
    after = _after(design, _plan(_row("other", 1)))
    assert "llama" not in after.deployments
    assert after.services["idle"].steering.targets == ()


def test_a_plan_after_a_plan_moves_all() -> None:
    first = _after(_two_pools(), _plan(_row("pool", 1)))
    after = _after(first, _plan(_row("other", 1)))
    (made,) = after.deployments.values()
    steering = after.services["chat"].steering
    assert (made.node, steering.targets) == ("other", (made.id,))
    assert steering.placed == (PlacedShare(users="users", deployment=made.id, share=1.0),)

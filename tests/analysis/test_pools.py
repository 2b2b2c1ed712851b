"""GPU pools: what adds up over services, what keeps apart, and what cannot be served."""

from collections.abc import Sequence

import numpy as np
import pytest

from designer.analysis.facts import Ledger
from designer.analysis.pools import Ask, PoolAnswer, Pools, limits_of
from designer.analysis.tokens import TokenLaw, token_law
from designer.model.services import Burst, Demand, Deployment, ModelCall, Series, Tokens
from tests.analysis.worked import catalogue, chat, deployment, gpus, small, studied, table


def _law(mean: float) -> TokenLaw:
    law = token_law(Tokens(mean=mean))
    assert law is not None
    return law


def _ask(slot: str, per_s: float, prompt: float, output: float = 50.0) -> Ask:
    return Ask(slot, per_s, _law(prompt), _law(output), 0.0, 0.0)


def _pools(made: Deployment) -> Pools:
    return Pools(small(deployments=table(made)), catalogue(), Ledger())


def _answered(made: Deployment, asks: Sequence[Ask]) -> PoolAnswer:
    return _pools(made).answer(made.id, asks, Burst(), 7)


def test_rates_of_services_add_up_in_one_pool() -> None:
    first = chat(rate=2.0)
    second = chat(rate=3.0).replace(id="second")
    answer = studied(small(first, second)).pools["llama"]
    assert answer.per_s == pytest.approx(5.0)
    assert {ask.slot.partition(":")[0]: ask.per_s for ask in answer.asks} == {
        "chat": 2.0, "second": 3.0,
    }  # fmt: skip


def test_two_demands_of_a_service_share_a_slot() -> None:
    twice = (Demand(users="users", requests_per_s=1.0), Demand(users="users", requests_per_s=4.0))
    answer = studied(small(chat(demands=twice))).pools["llama"]
    (ask,) = answer.asks
    assert ask.per_s == pytest.approx(5.0)


def test_calls_of_one_request_multiply_its_rate() -> None:
    three = Series(steps=(ModelCall(), ModelCall(), ModelCall()))
    answer = studied(small(chat(rate=2.0, workflow=three))).pools["llama"]
    assert answer.per_s == pytest.approx(6.0)
    assert len(answer.asks) == 3


def test_slots_keep_their_own_prompts() -> None:
    """Light load: a prompt's first token takes 39 ms and its own prefill, whatever the others'."""
    answer = _answered(deployment(), [_ask("long", 1e-4, 6000.0), _ask("short", 3e-4, 100.0)])
    served = answer.served
    assert served is not None
    share = len(answer.of_slot["short"]) / len(served.ttft_ms)
    assert share == pytest.approx(0.75, abs=4 * np.sqrt(0.75 * 0.25 / 20_000))
    assert answer.replica is not None
    alone_ms = 39.0 + 1000 * answer.replica.prefill_s(100.0)
    assert np.median(served.ttft_ms[answer.of_slot["short"]]) == pytest.approx(alone_ms, abs=0.01)
    # 6000 tokens go in three chunks of the budget of 2048.
    chunks = [(2048.0, 0.0), (2048.0, 2048.0), (1904.0, 4096.0)]
    long_ms = 39.0 + 1000 * sum(answer.replica.prefill_s(*chunk) for chunk in chunks)
    assert np.median(served.ttft_ms[answer.of_slot["long"]]) == pytest.approx(long_ms, abs=0.05)


def test_overload_is_told_with_what_it_bears() -> None:
    answer = _answered(deployment(), [_ask("s", 1000.0, 1000.0)])
    assert answer.overloaded
    assert answer.served is not None
    assert answer.served.saturation_per_s is not None
    # Prefill alone takes more than 20 ms a prompt on the one GPU.
    assert answer.served.saturation_per_s < 50.0


def test_more_replicas_bear_more() -> None:
    one = _answered(deployment(), [_ask("s", 1.0, 1000.0)]).served
    four = _answered(deployment(replicas=4), [_ask("s", 1.0, 1000.0)]).served
    assert one is not None
    assert four is not None
    assert four.saturation_per_s == pytest.approx(4 * one.saturation_per_s)  # type: ignore[operator]


def test_a_model_that_does_not_fit_is_refused_in_a_sentence() -> None:
    answer = _answered(deployment(model="Llama-3.1-405B"), [_ask("s", 1.0, 1000.0)])
    assert answer.served is None
    assert answer.replica is None
    assert "Llama-3.1-405B" in answer.refused
    assert "GB" in answer.refused


@pytest.mark.parametrize("accelerator", [None, "no_such_chip"])
def test_a_pool_without_gpus_is_refused_in_a_sentence(accelerator: str | None) -> None:
    nodes = small().nodes.set("pool", gpus(accelerator=accelerator))
    pools = Pools(small(nodes=nodes), catalogue(), Ledger())
    answer = pools.answer("llama", [_ask("s", 1.0, 100.0)], Burst(), 7)
    assert answer.served is None
    assert answer.refused.endswith(".")


def test_prompts_larger_than_the_room_are_noted() -> None:
    made = deployment(kv_tokens=1000)
    ledger = Ledger()
    pools = Pools(small(deployments=table(made)), catalogue(), ledger)
    asks = [_ask("large", 1.0, 5000.0), _ask("fits", 1.0, 200.0)]
    answer = pools.answer(made.id, asks, Burst(), 7)
    assert not len(answer.of_slot["large"])
    assert len(answer.of_slot["fits"]) > 0
    assert any(line.field == "turned_away" for line in ledger.lines())


def test_the_same_seed_gives_the_same_figures() -> None:
    asks = [_ask("a", 3.0, 700.0), _ask("b", 2.0, 90.0)]
    first, again = (_answered(deployment(), asks).served for _ in range(2))
    assert first is not None
    assert again is not None
    assert np.array_equal(first.ttft_ms, again.ttft_ms)


def test_limits_are_the_deployments() -> None:
    limits = limits_of(
        deployment(most_sequences=8, token_budget=512, kv_policy="preempt", share_still_cached=0.2)
    )
    assert (limits.most_sequences, limits.token_budget) == (8, 512)
    assert (limits.kv_policy, limits.share_still_cached) == ("preempt", 0.2)


def test_a_pool_of_which_nothing_is_asked_answers_as_when_idle() -> None:
    idle, rare = (studied(small(chat(rate=rate))).services[0].ttft_ms.p95 for rate in (0.0, 1e-4))
    assert idle == pytest.approx(rare, abs=0.02)

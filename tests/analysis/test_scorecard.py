"""The scorecard of a service, by arithmetic on a design whose prices and bytes are known."""

from typing import Any

import numpy as np
import pytest

from designer.analysis.results import Scorecard
from designer.analysis.scorecard import why_unknown
from designer.model.design import Design
from designer.model.services import Caching, ModelCall, Repeat, Series, Tokens
from tests.analysis.worked import (
    answered,
    chat,
    deployment,
    gpus,
    link,
    site,
    small,
    studied,
    table,
)

PRICE = 2.5


def _priced(*services: Any, **changes: Any) -> Design:
    given: dict[str, Any] = {
        "groups": table(site("dc", PRICE)),
        "nodes": small().nodes.set("pool", gpus(group="dc")),
    } | changes
    return small(*services, **given)


def _card(design: Design, key: str = "chat") -> Scorecard:
    return answered(design, key).scorecard


def test_bytes_of_a_request_are_those_of_its_messages() -> None:
    """Through the gateway a prompt goes twice, and so does the stream."""
    card = _card(_priced(chat(rate=1.0)))
    assert card.bytes_per_completed_request == pytest.approx(2 * (1000 * 4 + 1000) + 2 * 2 * 217)


def test_unknown_tokens_leave_bytes_unknown() -> None:
    assert _card(_priced(chat(prompt_tokens=Tokens()))).bytes_per_completed_request is None


def test_lost_packets_are_sent_until_they_arrive() -> None:
    """A loss of 2 % between users and gateway: 0.02 / 0.98 of what passes there again."""
    lossy = small().links.set("router-fw", link("router", "fw", loss=0.02))
    harmless = lossy.set("gw-leaf", link("gw", "leaf", loss=0.0))
    card = _card(_priced(chat(rate=1.0), links=harmless))
    passing = 1000 * 4 + 1000 + 2 * 217
    assert card.retransmitted_bytes_per_request == pytest.approx(passing * 0.02 / 0.98)
    assert _card(_priced(chat(rate=1.0))).retransmitted_bytes_per_request is None


def test_one_service_pays_its_whole_pool() -> None:
    made = table(deployment(replicas=3))
    card = _card(_priced(chat(rate=6.0), deployments=made))
    usd_per_s = 3 * PRICE / 3600
    assert card.usd_per_request == pytest.approx(usd_per_s / 6.0)
    assert card.usd_per_million_tokens == pytest.approx(1e6 * usd_per_s / (6.0 * 2.0))


def test_services_share_a_pool_by_tokens() -> None:
    """1002 tokens at 2/s against 334 at 6/s: half each."""
    other = chat(rate=6.0, prompt_tokens=Tokens(mean=332.0)).replace(id="other")
    design = _priced(chat(rate=2.0), other)
    usd_per_s = PRICE / 3600
    assert _card(design).usd_per_request == pytest.approx(usd_per_s / 2 / 2.0)
    assert _card(design, "other").usd_per_request == pytest.approx(usd_per_s / 2 / 6.0)


def test_no_price_no_cost() -> None:
    unknown = small().nodes.set("pool", gpus(accelerator="no_such_chip"))
    card = _card(small(chat(rate=1.0), nodes=unknown))
    assert card.usd_per_request is None
    assert card.gpu_duty_cycle is None


def test_cache_hits_are_as_given() -> None:
    assert _card(_priced(chat(caching=Caching(prefix_share=0.3)))).cache_hit_rate == 0.3
    assert _card(_priced(chat())).cache_hit_rate is None


def test_queue_and_duty_are_the_pools() -> None:
    study = studied(_priced(chat(rate=20.0, output_tokens=Tokens(mean=60.0))))
    served = study.pools["llama"].served
    assert served is not None
    card = study.services[0].scorecard
    assert card.gpu_duty_cycle == pytest.approx(served.duty_cycle)
    assert card.queue_wait_ms.mean == pytest.approx(float(served.queue_wait_ms.mean()), rel=1e-6)
    expected = np.quantile(served.queue_wait_ms, 0.95, method="inverted_cdf")
    assert card.queue_wait_ms.p95 == pytest.approx(expected)


def test_an_idle_pool_makes_nobody_wait() -> None:
    card = _card(_priced(chat()))
    assert card.queue_wait_ms.p99 == pytest.approx(0.0, abs=1e-3)
    assert card.gpu_duty_cycle == pytest.approx(0.0, abs=1e-3)


def test_an_overloaded_pool_has_no_queue_figure() -> None:
    assert _card(_priced(chat(rate=500.0))).queue_wait_ms.p50 is None


def test_all_calls_of_an_agent_count() -> None:
    """Ten calls of 2 tokens each: ten times the output of one."""
    loop = Series(steps=(Repeat(times=10, step=ModelCall()),))
    card = _card(_priced(chat(rate=0.5, workflow=loop)))
    usd_per_s = PRICE / 3600
    assert card.usd_per_request == pytest.approx(usd_per_s / 0.5)
    assert card.usd_per_million_tokens == pytest.approx(1e6 * usd_per_s / (0.5 * 10 * 2))


def test_what_is_not_known_has_a_reason() -> None:
    empty = Scorecard()
    reasons = dict(why_unknown(empty))
    assert set(reasons) == set(Scorecard.model_fields)
    assert all(reasons.values())
    known = Scorecard(gpu_duty_cycle=0.5, cache_hit_rate=0.0)
    assert set(reasons) - set(dict(why_unknown(known))) == {"gpu_duty_cycle", "cache_hit_rate"}

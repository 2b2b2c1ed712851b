"""What would help: shares of tiers, and steps evaluated again."""

import pytest

from designer.analysis.results import Sensitivity
from designer.model.services import Slo, Tokens
from tests.analysis.worked import answered, chat, deployment, small, table


def _by_change(rows: tuple[Sensitivity, ...]) -> dict[str, Sensitivity]:
    return {row.change: row for row in rows}


def test_a_tier_gains_a_hundredth_of_its_share() -> None:
    result = answered(small(chat()))
    rows = {row.tier: row for row in result.sensitivity if row.change.startswith("1 %")}
    for tier, row in rows.items():
        share = sum(each.p95_ms or 0.0 for each in result.budget if each.tier == tier)
        assert row.gain_ms == pytest.approx(-share / 100)
    total = sum(row.gain_ms or 0.0 for row in rows.values())
    assert result.ttft_ms.p95 is not None
    assert total == pytest.approx(-result.ttft_ms.p95 / 100)
    # 12 ms of access round trip.
    assert rows["access"].gain_ms == pytest.approx(-0.12, abs=1e-3)


def test_one_more_replica_is_what_a_larger_pool_answers() -> None:
    """The gain is the difference to a design drawn with one replica more."""
    busy = chat(rate=36.0, output_tokens=Tokens(mean=80.0))
    two, three = (
        answered(small(busy, deployments=table(deployment(replicas=count)))) for count in (2, 3)
    )
    row = _by_change(two.sensitivity)["one more replica in llama"]
    assert row.element == "llama"
    assert row.gain_ms == pytest.approx(three.ttft_ms.p95 - two.ttft_ms.p95, abs=0.05)  # type: ignore[operator]
    assert row.gain_ms is not None
    assert row.gain_ms < -1.0
    assert two.sensitivity[0] == row


def test_the_largest_gain_comes_first() -> None:
    gains = [row.gain_ms for row in answered(small(chat(rate=10.0))).sensitivity]
    known = [gain for gain in gains if gain is not None]
    assert known == sorted(known)


def test_measuring_settles_an_open_verdict_only() -> None:
    value = answered(small(chat())).ttft_ms.p95
    assert value is not None
    for limit_ms, settles in ((value, True), (1e6, False), (5.0, False)):
        slo = Slo(metric="ttft", percentile=95.0, limit_ms=limit_ms)
        rows = answered(small(chat(slos=(slo,)))).sensitivity
        assert any(row.settles for row in rows) == settles


def test_a_replica_that_ends_an_overload_is_named_without_a_gain() -> None:
    """Some 38 prompts/s are a little more than one GPU bears; two have a figure, one has none."""
    slo = Slo(metric="ttft", percentile=95.0, limit_ms=1e6)
    over = answered(small(chat(rate=45.0, slos=(slo,))))
    assert over.ttft_ms.p95 is None
    row = _by_change(over.sensitivity)["one more replica in llama"]
    assert row.gain_ms is None
    assert row.settles


def test_no_users_nothing_to_gain() -> None:
    assert answered(small(chat(demands=()))).sensitivity == ()

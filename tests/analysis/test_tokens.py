"""Token counts: constants, lognormals, published percentiles, and the workload to fall back on."""

import numpy as np
import pytest

from designer.analysis.facts import Ledger
from designer.analysis.tokens import TokenLaws, token_law
from designer.model.services import Service, Tokens
from tests.analysis.worked import catalogue


def test_a_mean_alone_is_a_constant() -> None:
    law = token_law(Tokens(mean=300.0))
    assert law is not None
    assert law.mean == 300.0
    assert law.quantile(np.array([0.01, 0.5, 0.999])) == pytest.approx([300.0] * 3)


@pytest.mark.parametrize("scv", [0.2, 1.0, 4.0])
def test_scv_spreads_a_lognormal_that_keeps_its_mean(scv: float) -> None:
    """Mean and scv of a lognormal sample: standard errors from its own moments."""
    law = token_law(Tokens(mean=1000.0, scv=scv))
    assert law is not None
    drawn = law.sample(np.random.default_rng(5), 400_000)
    assert drawn.mean() == pytest.approx(1000.0, abs=4 * 1000 * np.sqrt(scv / 400_000))
    # Median of a lognormal: mean / sqrt(1 + scv).
    assert law.quantile(np.array([0.5]))[0] == pytest.approx(1000 / np.sqrt(1 + scv))
    assert np.log(drawn).std() == pytest.approx(np.sqrt(np.log1p(scv)), rel=0.01)


def test_percentiles_are_reproduced() -> None:
    tokens = Tokens(p5=40.0, p25=150.0, p50=400.0, p75=1200.0, p90=3000.0, p95=5200.0, p99=9000.0)
    law = token_law(tokens)
    assert law is not None
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99])
    assert law.quantile(levels) == pytest.approx([40, 150, 400, 1200, 3000, 5200, 9000])
    drawn = law.sample(np.random.default_rng(5), 200_000)
    assert law.mean == pytest.approx(drawn.mean(), rel=0.02)


def test_a_maximum_caps_the_tail() -> None:
    law = token_law(Tokens(p50=400.0, p95=5000.0, max=6000.0))
    assert law is not None
    assert law.quantile(np.array([0.9999]))[0] == 6000.0


def test_two_percentiles_of_a_lognormal_are_that_lognormal() -> None:
    law = token_law(Tokens(p50=100.0, p95=100.0 * float(np.exp(1.6448536269514722))))
    assert law is not None
    # z = 2 is e² times the median where sigma is 1; the mean is exp(1/2) times it.
    assert law.quantile(np.array([0.9772498680518208]))[0] == pytest.approx(
        100 * np.exp(2), rel=1e-6
    )
    assert law.mean == pytest.approx(100 * np.exp(0.5), rel=2e-3)


def test_one_percentile_alone_is_taken_as_a_constant() -> None:
    law = token_law(Tokens(p50=80.0))
    assert law is not None
    assert law.mean == 80.0


def test_nothing_given_is_not_known() -> None:
    assert token_law(Tokens()) is None


def test_a_service_falls_back_on_its_workload_and_says_so() -> None:
    row = catalogue().workloads["chat_azure_2023"]
    ledger = Ledger()
    laws = TokenLaws(catalogue(), ledger)
    service = Service(id="s", workload="chat_azure_2023")
    law, own = laws.of(service, Tokens(), "prompt"), token_law(row.prompt_tokens)
    assert law is not None
    assert own is not None
    assert law == own
    (line,) = ledger.lines()
    assert (line.element, line.field) == ("s", "prompt_tokens")
    assert line.kind in ("catalogue", "guessed")
    # What the design gives counts before the workload.
    given = laws.of(service, Tokens(mean=7.0), "prompt")
    assert given is not None
    assert given.mean == 7.0


def test_no_tokens_and_no_workload_are_unknown() -> None:
    ledger = Ledger()
    assert TokenLaws(catalogue(), ledger).of(Service(id="s"), Tokens(), "output") is None
    assert [line.kind for line in ledger.lines()] == ["unknown"]

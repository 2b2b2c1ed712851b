"""Prompts that are longer than a model's context or a pool's room, planted one by one."""

from typing import Any

import pytest

from designer.analysis.results import Finding
from designer.analysis.rules import findings
from designer.analysis.study import network_study, with_services
from designer.model.services import ModelCall, Repeat, Tokens
from tests.analysis.worked import catalogue, chat, deployment, small, table

CONTEXT = 131_072
"""The longest context of Llama 3.1 (its model card: 128k)."""


def _found(service: Any, **fields: Any) -> list[Finding]:
    pools = table(deployment(**fields))
    made = findings(with_services(network_study(small(service, deployments=pools), catalogue())))
    return [each for each in made if each.rule in ("context-too-long", "pool-overloaded")]


def test_a_prompt_within_the_context_is_fine() -> None:
    assert not _found(chat(prompt_tokens=Tokens(mean=CONTEXT - 1.0)))


def test_a_mean_prompt_beyond_the_context_is_an_error() -> None:
    (finding,) = _found(chat(name="Chat", prompt_tokens=Tokens(mean=CONTEXT + 1.0)))
    assert finding.severity == "error"
    assert "131,073" in finding.message
    assert "131,072" in finding.message
    assert "Chat" in finding.message


def test_one_prompt_in_a_hundred_beyond_the_context_is_a_warning() -> None:
    (finding,) = _found(chat(prompt_tokens=Tokens(p50=1000.0, p99=140_000.0)))
    assert finding.severity == "warning"
    assert "140,000" in finding.message


@pytest.mark.parametrize(("growth", "count"), [(14_452.0, 0), (14_453.0, 1)])
def test_growth_counts_up_to_the_last_round(growth: float, count: int) -> None:
    """Round 10 finds 1000 + 9 x growth: 131,068 and 131,077 tokens."""
    loop = Repeat(times=10, step=ModelCall(), context_growth_tokens=growth)
    assert len(_found(chat(workflow=loop))) == count


def test_a_prompt_without_room_is_no_queue() -> None:
    (finding,) = _found(chat(), kv_tokens=900)
    assert (finding.rule, finding.severity) == ("context-too-long", "error")
    assert "room for 900" in finding.message

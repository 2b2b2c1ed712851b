"""Every node has one of the six tiers, whatever words a newer minor version uses."""

import pytest

from designer.model.kinds import TIER_NAMES, TIERS, tier_of


@pytest.mark.parametrize(
    ("kind", "override", "tier"),
    [
        ("leaf", None, "fabric"),
        ("leaf", "gpu", "gpu"),
        ("leaf", "orbit", "services"),
        ("satellite", None, "services"),
        ("satellite", "access", "access"),
    ],
)
def test_the_tier_of_a_node(kind: str, override: str | None, tier: str) -> None:
    assert tier_of(kind, override) == tier
    assert tier in TIERS
    assert tier in TIER_NAMES

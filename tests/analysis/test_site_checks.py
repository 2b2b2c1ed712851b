"""What is cut off after a plan breaks: by load, by forbidding, and by a link's row."""

import pytest

from designer.analysis.site_checks import BUSY, LOWERED, Break, cut
from designer.analysis.site_rounds import Cuts, LinkCut

NEAR, FAR = ("chat", "users", "near"), ("chat", "users", "far")


def test_busy_replicas_are_trusted_with_less_and_idle_ones_with_nothing() -> None:
    breaks = (Break("TTFT is over", (NEAR, FAR)),)
    once = cut(Cuts(), breaks, {NEAR: BUSY + 0.1, FAR: BUSY - 0.1})
    assert once.factor == {NEAR: pytest.approx(LOWERED), FAR: 0.0}
    assert once.said[FAR] == "TTFT is over"
    twice = cut(once, breaks[:1], {NEAR: BUSY + 0.1})
    assert twice.factor[NEAR] == pytest.approx(LOWERED**2)


def test_who_cannot_be_served_there_is_forbidden() -> None:
    made = cut(Cuts(), (Break("no way", (NEAR,), forbids=True),), {NEAR: 1.0})
    assert made.factor == {NEAR: 0.0}


def test_a_link_explains_the_times_of_who_crosses_it() -> None:
    row = LinkCut("l", {FAR: 1e-4}, 0.5)
    breaks = (Break("l is full", (FAR,), link=row), Break("TTFT is over", (FAR,)))
    made = cut(Cuts(), breaks, {FAR: 1.0})
    assert made.factor == {}
    assert made.links == (row,)
    tighter = cut(made, (Break("l is full", (NEAR,), link=LinkCut("l", {NEAR: 2e-4}, 0.4)),), {})
    assert tighter.links == (LinkCut("l", {FAR: 1e-4, NEAR: 2e-4}, 0.4),)


def test_what_no_pair_has_part_in_cuts_nothing() -> None:
    assert cut(Cuts(), (Break("it breaks", ()),), {}) == Cuts()

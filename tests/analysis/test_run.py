"""The stages of an analysis, and designs at the edge of what can be analysed."""

import pytest

from designer.analysis.run import AnalysisRequest, CannotAnalyse, analyse, last
from designer.model.services import Tokens
from tests.analysis.small import catalogue, chat, design, flow, link, nodes, pool


def results(made, **request):
    return last(analyse(made, catalogue(), AnalysisRequest(**({"until": "network"} | request))))


def small(*things):
    return design(
        *nodes("users", "u"), *nodes("leaf", "l"), *nodes("server", "s"),
        link("u-l", 10.0), link("l-s", 100.0), pool("s"), *things,
    )  # fmt: skip


def test_an_empty_design():
    found = results(design(), until="scenarios")
    assert (found.links, found.flows, found.services, found.findings) == ((), (), (), ())


def test_stages_come_in_order_with_the_revision_asked_for():
    made = small(flow("u-s", 1.0))
    stages = list(analyse(made, catalogue(), AnalysisRequest(revision=7, until="placement")))
    assert [stage.name for stage in stages] == ["network", "services", "placement"]
    assert {stage.revision for stage in stages} == {7}
    assert {stage.results.revision for stage in stages} == {7}


def test_the_network_stage_knows_loads_flows_and_assumptions():
    found = results(small(flow("u-s", 1.0), chat("u", 1.0)))
    assert {(row.id, row.direction) for row in found.links} == {
        (key, direction) for key in ("u-l", "l-s") for direction in ("a_to_b", "b_to_a")
    }
    assert {row.id for row in found.flows} > {"u-s"}
    assert found.services == ()
    assert {line.kind for line in found.assumptions} >= {"guessed", "unknown"}


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"service": "absent"}, 'no service "absent"; use one of chat'),
        ({"scenario": "absent"}, 'no scenario "absent"; the design has no scenarios'),
        ({"year": 2030}, "no base_year"),
    ],
)
def test_what_is_not_there_is_named(request_, message):
    with pytest.raises(CannotAnalyse, match=message):
        results(small(chat("u", 1.0)), **request_)


def test_a_year_before_the_base_year_is_refused_and_a_later_one_grows():
    made = small(chat("u", 1000.0, growth_per_year=2.0))
    made = made.replace(settings=made.settings.replace(base_year=2026))
    with pytest.raises(CannotAnalyse, match="before the base year 2026"):
        results(made, year=2025)

    def load(year):
        rows = results(made, year=year).links
        row = next(row for row in rows if (row.id, row.direction) == ("u-l", "a_to_b"))
        return row.load_gbps["interactive"]

    assert load(2029) == pytest.approx(8 * load(2026))


@pytest.mark.parametrize(
    "made",
    [
        design(*nodes("users", "u"), *nodes("server", "s"), pool("s"), chat("u", 1.0)),
        design(*nodes("leaf", "a", "b", "c")),
        small(),
        small(chat("u", 0.0), flow("u-s", 0.0)),
        small(flow("s-s"), flow("u-u", 5.0)),
        small(chat("u", 1.0, model="absent")),
        small(chat("u", 1.0, prompt_tokens=Tokens(), output_tokens=Tokens())),
        small(flow("u-s", flows=1_000_000), flow("s-u", 1e9)),
        small(*nodes("server", "t"), link("s-t", 1e-12), flow("t-s"), flow("s-t", 1e-15)),
        small(link("u-l", id="again"), link("l-s", 1.0, id="more", one_way_ms=1e12)),
    ],
    ids=[
        "users-without-links", "no-links", "no-services", "zero-demand", "self-flows",
        "no-such-model", "unknown-tokens", "a-million-connections", "tiny-capacity",
        "unknown-and-far",
    ],
)  # fmt: skip
def test_odd_designs_are_analysed(made):
    found = results(made)
    assert len(found.links) == 2 * len(made.links)
    assert {row.id for row in found.flows} >= set(made.flows)


def test_the_same_design_gives_the_same_results():
    made = small(chat("u", 100.0), flow("u-s"))
    assert results(made) == results(made)


def test_nobody_asking_is_no_placement_problem():
    found = results(small(chat("u", 0.0)), until="placement")
    assert found.placement.status == "not_asked"
    assert "nobody asks" in found.placement.message

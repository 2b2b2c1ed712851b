"""What a review says: figures, names, order, and that nothing is left out."""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from designer.analysis.results import BudgetRow, Results, SloResult
from designer.model.topology import Topology
from designer.report.blocks import Block, Callout, Facts, Review, Section, Steps, Table, Waterfall
from designer.report.content import review
from designer.report.sections.closing import field_words
from designer.report.sections.waterfall import nice_axis, parted
from designer.report.words import (
    capital,
    chance,
    date_text,
    decimals,
    ms,
    prose_ms,
    rate,
    signed_ms,
    size,
    verdict,
)


def section(made: Review, title: str) -> Section:
    return next(part for part in made.sections if part.title == title)


def blocks(made: Review, title: str, kind: type[Any]) -> list[Any]:
    return [block for block in section(made, title).blocks if isinstance(block, kind)]


def texts(made: Review) -> Iterator[str]:
    for part in made.sections:
        for block in part.blocks:
            yield from _texts(block)


def _texts(block: Block) -> Iterator[str]:
    match block:
        case Table():
            yield from (cell.text for row in block.rows for cell in row.cells)
        case Facts():
            yield from (word for pair in block.pairs for word in pair)
        case Callout():
            yield from (block.title, block.text)
        case Waterfall() | Steps():
            yield from (block.caption, block.alternative)
        case _:
            yield getattr(block, "text", "")


def column(table: Table, index: int) -> list[str]:
    return [row.cells[index].text for row in table.rows]


def test_the_parts_stand_in_their_order(design: Topology, full: Results) -> None:
    assert [part.title for part in review(design, full).sections] == [
        "Summary", "Latency budget", "Effective bandwidth", "Placement", "Scenarios", "Findings",
        "Assumptions, guesses, unknowns", "Every flow", "Glossary",
    ]  # fmt: skip


def test_tiers_add_up_as_on_the_page_of_the_mock_up(design: Topology, full: Results) -> None:
    table = blocks(review(design, full), "Latency budget", Table)[0]
    assert column(table, 0) == [
        "Access", "Service edge", "Transport & DCI", "AI fabric", "GPU", "Total",
    ]  # fmt: skip
    assert column(table, 1) == ["24.6", "15.8", "5.2", "1.1", "71.3", "118.0"]
    assert column(table, 2) == ["48.2", "31.5", "10.4", "2.3", "131.6", "224.0"]
    assert column(table, 3) == ["79.4", "52.9", "18.6", "3.9", "195.2", "350.0"]
    shares = [float(text.removesuffix(" %")) for text in column(table, 4)[:-1]]
    assert math.fsum(shares) == pytest.approx(100.0, abs=0.3)
    assert column(table, 5)[:-1] == ["guessed", "catalogue", "given", "catalogue", "derived"]
    assert "API gateway and 1 more" in column(table, 6)


def test_each_bar_starts_where_the_one_before_ended(design: Topology, full: Results) -> None:
    chart = blocks(review(design, full), "Latency budget", Waterfall)[0]
    *tiers, total = chart.bars
    for name in ("p50", "p95", "p99"):
        spans = [getattr(bar, name) for bar in tiers]
        assert spans[0].start == 0.0
        for before, after in pairwise(spans):
            assert after.start == pytest.approx(before.end)
        assert getattr(total, name).end == pytest.approx(spans[-1].end)
    # The axis runs to 400 ms: the SLO of 250 ms stands at 0.625, the p95 of 224 ms at 0.56.
    assert chart.limits[0].at == pytest.approx(0.625)
    assert total.p95 is not None
    assert total.p95.end == pytest.approx(0.56)
    assert [tick.label for tick in chart.ticks][-1] == "400 ms"
    assert "250" not in {tick.label for tick in chart.ticks}
    assert "GPU 131.6 ms" in chart.alternative


@pytest.mark.parametrize("most", [1e-6, 0.03, 0.9, 1.0, 7.3, 99.0, 100.0, 357.0, 12_345.0, 9e9])
def test_axis_holds_its_data_in_few_round_steps(most: float) -> None:
    end, step = nice_axis(most)
    assert most <= end * (1 + 1e-9)
    assert 3 <= round(end / step) <= 9
    mantissa = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(mantissa - size) for size in (1, 2, 5)) < 1e-6


def test_a_sum_with_an_unknown_part_says_at_least(design: Topology, large: Results) -> None:
    made = review(design, large)
    table = next(t for t in blocks(made, "Latency budget", Table) if "≥ 213.6" in column(t, 2))
    by_tier = dict(zip(column(table, 0), column(table, 2), strict=True))
    assert by_tier["Transport & DCI"] == "unknown"
    assert by_tier["Total"] == "≥ 213.6"
    kinds = dict(zip(column(table, 0), column(table, 5), strict=True))
    assert kinds["Transport & DCI"] == "unknown"
    titles = [c.title for c in blocks(made, "Latency budget", Callout)]
    assert any("p95 is at least 224 ms" in title for title in titles)
    assert any("gap between tokens is unknown" in title for title in titles)


def test_the_summary_has_the_worst_first(design: Topology, large: Results) -> None:
    made = review(design, large)
    table = blocks(made, "Summary", Table)[0]
    words = column(table, 3)
    assert words[:3] == ["Cannot be served", "Breaks", "Unlikely"]
    assert len(words) == 10
    notes = " ".join(
        text for text in (getattr(b, "text", "") for b in section(made, "Summary").blocks)
    )
    assert "11 more in the latency budget" in notes
    assert "15 more findings" in notes
    assert [c.status for c in blocks(made, "Summary", Callout)] == ["error", "error", "error"]


def test_every_assumption_and_every_reason_is_there(design: Topology, large: Results) -> None:
    said = "\n".join(texts(review(design, large)))
    for each in large.assumptions:
        assert each.source in said
        assert field_words(each.field)[0] in said
    for reason in large.placement.reasons:
        assert reason.message in said
        assert reason.site_name in said
    for finding in large.findings:
        assert finding.message in said
    for found in large.flows:
        assert (found.effective_gbps is None) or f"{found.effective_gbps:g} Gb/s" in said


def test_excluded_findings_keep_reason_and_owner(design: Topology, full: Results) -> None:
    made = review(design, full)
    table = blocks(made, "Findings", Table)[0]
    assert "Owner: C. Plant" in column(table, 4)[0]
    assert "Cabinet runs hot" not in [c.title for c in blocks(made, "Findings", Callout)]


def test_hot_links_fall_and_the_unknown_ones_are_counted(design: Topology, full: Results) -> None:
    made = review(design, full)
    table = next(t for t in blocks(made, "Effective bandwidth", Table) if "busiest" in t.caption)
    assert column(table, 3) == ["117 %", "88 %"]
    said = " ".join(texts(made))
    assert "2 directions of 3 above the limit of 80 %" in said
    assert "The load share of 1 is unknown" in said


def test_what_settles_a_verdict_comes_first(design: Topology, full: Results) -> None:
    table = next(
        t for t in blocks(review(design, full), "Latency budget", Table) if "help most" in t.caption
    )
    assert column(table, 2) == ["settles it", "\u221241 ms", "\u22126.1 ms"]
    assert table.rows[0].strong
    assert table.rows[1].cells[3].bar == 1.0


def test_ids_are_named(design: Topology, full: Results) -> None:
    said = " ".join(texts(review(design, full)))
    assert "interactive: Pool R1 to Handsets" in said
    assert "ldci" not in said
    assert "npool" not in said


def test_an_empty_design_says_so(design: Topology, empty: Results) -> None:
    said = " ".join(texts(review(design, empty)))
    for part in ("no service", "No traffic", "no link", "No placement", "nothing to object"):
        assert part in said


def test_the_date_is_the_title_blocks(design: Topology, full: Results) -> None:
    made = review(design, full)
    assert made.date == (2026, 3, 12)
    assert made.footer_strong == "Revision 118, draft"
    assert made.footer == "12 March 2026, A. Author"
    assert review(Topology(), full).date is None


def test_words() -> None:
    assert decimals([224.0, None]) == 1
    assert decimals([0.5]) == 2
    assert decimals([0.012]) == 3
    assert ms(None) == "unknown"
    assert ms(0.0) == "0.0"
    assert ms(-1.0) == "\u22121.0"
    assert prose_ms(12_345.0) == "12.3 s"
    assert prose_ms(1_554.0) == "1,550 ms"
    assert prose_ms(9_999.0) == "10 s"
    assert signed_ms(-0.04) == signed_ms(0.04) == "0 ms"
    assert signed_ms(0.962) == "+1 ms"
    assert signed_ms(11_870.1) == "+11.9 s"
    assert (chance(1.0), chance(0.0), chance(0.62)) == ("> 99 %", "< 1 %", "62 %")
    assert rate(46.4149) == "46.4 Gb/s"
    assert field_words("forwarding_us") == ("forwarding", "µs")
    assert field_words("wire.tokens_per_packet") == ("wire, tokens per packet", "")
    assert date_text("2026-02-31") == ""
    told = SloResult(
        metric="ttft", percentile=95, limit_ms=250, whose="worst_site", value_ms=1, verdict="open",
        probability=0.62, headroom_ms=None,
    )  # fmt: skip
    assert verdict(told) == "Open (62 %)"


def test_what_rounds_to_nothing_is_summed_by_tier(design: Topology, full: Results) -> None:
    """Thirty hops of 0.04 ms are 1.2 ms: they vanish as rows and count in the sum."""
    hop = BudgetRow.model_validate(
        {"segment": "hop", "tier": "transport", "element": "npool", "kind": "derived",
         "p50_ms": 0.02, "p95_ms": 0.04, "p99_ms": 0.048}
    )  # fmt: skip
    before = full.services[0]
    one = before.model_copy(update={"budget": (*before.budget, *[hop] * 30)})
    made = review(design, full.model_copy(update={"services": (one,)}))
    table = next(t for t in blocks(made, "Latency budget", Table) if "by segment" in t.caption)
    assert len(table.rows) == len(before.budget) + 1
    other = next(row for row in table.rows if row.cells[0].text == "other")
    assert [cell.text for cell in other.cells[1:5]] == [
        "30 segments under 0.05 ms",
        "0.6",
        "1.2",
        "1.4",
    ]
    assert other.tier == "transport"
    shown = math.fsum(float(row.cells[3].text) for row in table.rows)
    assert shown == pytest.approx(224.0 + 1.2, abs=0.05 * len(table.rows))


def test_an_unknown_segment_is_never_summed_as_small() -> None:
    row = BudgetRow.model_validate(
        {"segment": "s", "tier": "gpu", "element": "e", "kind": "unknown",
         "p50_ms": None, "p95_ms": None, "p99_ms": None}
    )  # fmt: skip
    assert parted([row, row, row], 0.05) == ([row, row, row], [])


def test_equal_flows_of_several_services_share_a_line(design: Topology, full: Results) -> None:
    first = full.flows[0]
    twin = first.model_copy(update={"id": "twin", "service": "sother"})
    made = review(design, full.model_copy(update={"flows": (*full.flows, twin)}))
    table = next(iter(blocks(made, "Every flow", Table)))
    assert column(table, 1)[0] == "Voice assistant 8B and 1 more"
    assert len(table.rows) == len(full.flows)


def test_a_call_and_its_answer_share_a_line_with_the_least_of_each(
    design: Topology, full: Results
) -> None:
    first = full.flows[0].model_copy(update={"effective_gbps": 20.0, "port_gbps": 50.0})
    ends = {"source": first.target, "target": first.source}
    others = (
        first.model_copy(update={"id": "less", "service": "sother", "effective_gbps": 12.5}),
        first.model_copy(update={"id": "back", **ends, "effective_gbps": 0.4, "port_gbps": 1.0}),
    )
    made = review(design, full.model_copy(update={"flows": (first, *others)}))
    table = next(t for t in blocks(made, "Effective bandwidth", Table) if "two ends" in t.caption)
    assert column(table, 3) == ["12.5 of 50 Gb/s"]
    assert column(table, 4) == ["400 Mb/s of 1 Gb/s"]
    assert len(blocks(made, "Every flow", Table)[0].rows) == 3


def test_sizes_and_capitals() -> None:
    assert size(36_100.0) == "36.1 kB"
    assert size(999.6) == "1 kB"
    assert size(None) == "unknown"
    assert capital("one more replica at R1") == "One more replica at R1"
    assert capital("") == ""

"""How the first stage of an analysis grows with the design."""

from designer.analysis.run import AnalysisRequest, analyse, last
from designer.files import catalogue
from tests.benchmarks import Measured, benchmark, quickest_s
from tests.benchmarks.networks import metro

NODES = 1_000


@benchmark
def network_stage_growth() -> Measured:
    """Seconds of the network stage at 2,000 nodes (ours) and at 1,000 (peer)."""
    known = catalogue.load()
    request = AnalysisRequest(until="network")

    def seconds(nodes: int) -> float:
        design = metro(nodes).design
        return quickest_s(lambda: last(analyse(design, known, request)), rounds=2)

    small_s, large_s = seconds(NODES), seconds(2 * NODES)
    return Measured(
        "network_stage_growth",
        large_s,
        small_s,
        large_s / small_s,
        "twice the nodes in at most 2.2 x the time: ratio up to 2.2",
    )

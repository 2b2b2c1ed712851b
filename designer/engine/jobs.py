"""Functions that the window hands to the worker by reference."""

from __future__ import annotations

from collections.abc import Iterator

from designer.analysis.run import AnalysisRequest, Stage
from designer.analysis.run import analyse as run_analysis
from designer.engine.messages import ShouldStop
from designer.files import catalogue
from designer.model.topology import Topology


def analyse(
    topology: Topology, request: AnalysisRequest, should_stop: ShouldStop
) -> Iterator[Stage]:
    """The analysis of the worker's design, stage by stage; ends early when told to stop.

    Raises what the analysis and the catalogue raise.
    """
    for stage in run_analysis(topology.design, catalogue.load(), request):
        yield stage
        if should_stop():
            return

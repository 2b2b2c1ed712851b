"""Opening and saving a large design."""

import json

from designer.files.format import dumps, loads
from tests.benchmarks import Measured, benchmark, compared, quickest_s
from tests.benchmarks.networks import metro

NODES = 5_000


@benchmark
def open_and_save_s() -> Measured:
    """5,000 nodes and 5,250 links, checked and canonical; the peer parses and writes JSON alone."""
    data = dumps(metro(NODES))
    assert dumps(loads(data, "the design").topology) == data
    return compared(
        "open_and_save_s",
        quickest_s(lambda: dumps(loads(data, "the design").topology), rounds=3),
        quickest_s(lambda: json.dumps(json.loads(data), indent=1), rounds=3),
        "at most 8 x json, which checks nothing: ratio at least 0.125",
    )

"""A kernel compiles also where its machine code cannot be kept."""

from typing import Any

from designer.graph.compiled import compiled


def test_a_kernel_without_a_place_for_its_cache_still_runs() -> None:
    # Source that lies in no file has no cache, as an installation that nobody may write.
    names: dict[str, Any] = {}
    exec("def twice(x):\n    return 2 * x\n", names)
    assert compiled(names["twice"])(21) == 42

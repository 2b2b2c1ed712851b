"""What needs no second process: names of functions, sentences, the replica."""

import subprocess
import sys
from pathlib import Path

import pytest

from designer.engine import warm
from designer.engine.messages import Sync
from designer.engine.worker import Replica, reference, resolve, sentence_of
from designer.files.format import FileRefused, dumps, loads
from designer.model.patch import add, invert
from designer.model.things import Node
from designer.model.topology import Topology
from tests.engine import jobs

NODE = Node(id="n-1", name="a", kind="leaf")
PATCH = (add("nodes", NODE),)


def test_a_function_is_found_again_by_its_name() -> None:
    assert reference(jobs.count) == "tests.engine.jobs:count"
    assert resolve("tests.engine.jobs:count") is jobs.count
    assert resolve(reference(Replica.follow)) is Replica.follow


@pytest.mark.parametrize("nameless", [lambda: None, Replica().follow, 3])
def test_what_has_no_name_is_refused(nameless: object) -> None:
    with pytest.raises(ValueError, match="cannot run in the worker"):
        reference(nameless)


def test_a_replica_follows_patches_both_ways() -> None:
    replica = Replica()
    replica.follow(Sync(None, (PATCH,)))
    assert replica.topology.design.nodes["n-1"] == NODE
    replica.follow(Sync(None, (invert(PATCH),)))
    assert replica.topology == Topology()


def test_a_patch_that_does_not_fit_is_a_fault_until_the_next_whole_design() -> None:
    replica = Replica()
    replica.follow(Sync(None, (PATCH, PATCH)))
    assert replica.fault is not None
    replica.follow(Sync(None, (invert(PATCH),)))
    assert replica.fault is not None
    replica.follow(Sync(dumps(Topology()), (PATCH,)))
    assert replica.fault is None
    assert list(replica.topology.design.nodes) == ["n-1"]


def test_sentences() -> None:
    with pytest.raises(FileRefused) as refused:
        loads(b"", "x.promptpath")
    assert sentence_of(refused.value) == str(refused.value)
    fault = sentence_of(KeyError("n-1\nand more"))
    assert fault.count("\n") == 0
    assert "KeyError" in fault
    assert fault.endswith("report it.")


def test_warming_names_the_modules_that_have_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(warm, "ROOMS", ("designer.files",))
    monkeypatch.setattr("designer.files.format.warm", lambda: calls.append(1), raising=False)
    # Something else of that name.
    monkeypatch.setattr(
        "designer.files.migrations.warm", lambda pool: calls.append(2), raising=False
    )
    assert warm.warm() == ("designer.files.format",)
    assert calls == [1]


def test_the_engine_loads_no_qt_and_the_client_no_numba(checkout: Path) -> None:
    """The window's process must not pay for what only its workers need."""
    script = (
        "import sys, designer.engine.client;"
        "print([n for n in ('PySide6', 'numba', 'scipy', 'typst') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=checkout
    )
    assert done.stdout.strip() == "[]"

"""The worker process, its spare and its replica, with real processes."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from designer.engine.client import GRACE_S, MOST_DEATHS, Client
from designer.engine.messages import Cancelled, Died, Done, Failed, Message, Stage
from designer.files.format import content_hash, dumps, layout_hash
from designer.model import edits
from designer.model.patch import add, apply, invert
from designer.model.things import Node
from designer.model.topology import Topology
from tests.engine import jobs

NOT_YET_S = 60.0
"""Longer than any test waits; what does not come by then never will."""
QUICK = f"{jobs.__name__}:{jobs.nothing.__name__}"


@pytest.fixture(scope="module")
def shared_client() -> Iterator[Client]:
    with Client(prepare=QUICK) as made:
        yield made


@pytest.fixture
def client(shared_client: Client) -> Iterator[Client]:
    """A client with nothing to do; its processes outlive the test where the test lets them."""
    yield shared_client
    shared_client.cancel(now_s=0.0)
    gather(shared_client, lambda messages: not shared_client.is_busy, now_s=GRACE_S)


def gather(
    client: Client, enough: Callable[[list[Message]], bool], now_s: float = 0.0
) -> list[Message]:
    """All messages until there are enough."""
    messages = client.poll(now_s)
    while not enough(messages):
        assert client.wait(NOT_YET_S), f"nothing more came after {messages}"
        messages += client.poll(now_s)
    return messages


def ended(job: int) -> Callable[[list[Message]], bool]:
    return lambda messages: any(
        not isinstance(message, Stage) and message.job == job for message in messages
    )


def answer(client: Client, function: Any, request: Any = None, revision: int = 0) -> Any:
    """The one stage of a job that succeeds."""
    job = client.submit(function, request, revision)
    messages = [message for message in gather(client, ended(job)) if message.job == job]
    assert [type(message) for message in messages] == [Stage, Done]
    return messages[0].payload


def began(client: Client, function: Any, request: Any = None, revision: int = 0) -> int:
    """The number of a job that has yielded its first stage."""
    job = client.submit(function, request, revision)
    gather(client, lambda messages: any(isinstance(each, Stage) for each in messages))
    return job


def spare_warm(client: Client) -> None:
    gather(client, lambda messages: client.is_spare_warm)


def a_design() -> Topology:
    nodes = [Node(id=f"n-{number}", name=f"node {number}", kind="leaf") for number in range(3)]
    return apply(Topology(), edits.add_items(Topology(), [("nodes", node) for node in nodes]))


def test_stages_arrive_in_order_with_their_revision(client: Client) -> None:
    job = client.submit(jobs.count, 4, revision=17)
    assert gather(client, ended(job)) == [
        *(Stage(job, 17, number) for number in range(4)),
        Done(job, 17),
    ]
    assert not client.is_busy


def test_a_function_may_be_named_and_may_return(client: Client) -> None:
    assert answer(client, "tests.engine.jobs:echo", {"a": (1, None)}) == {"a": (1, None)}


def test_a_function_without_a_name_is_refused_at_once(client: Client) -> None:
    with pytest.raises(ValueError, match="function of a module"):
        client.submit(lambda topology, request, should_stop: None, None, revision=0)


def test_the_newest_waiting_job_wins(client: Client) -> None:
    running = began(client, jobs.polite, revision=1)
    older = client.submit(jobs.echo, "older", revision=2)
    newest = client.submit(jobs.echo, "newest", revision=3)
    assert client.poll(now_s=0.0) == [Cancelled(older, 2)]
    # Ends the running job alone: the one that waits was submitted after the wish to stop.
    client.cancel(now_s=0.0)
    assert Cancelled(newest, 3) in client.poll(now_s=0.0)
    last = client.submit(jobs.echo, "last", revision=4)
    assert gather(client, ended(last)) == [
        Cancelled(running, 1),
        Stage(last, 4, "last"),
        Done(last, 4),
    ]


def test_a_running_job_is_not_disturbed_by_a_newer_one(client: Client, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    first = began(client, jobs.gated, str(gate), revision=1)
    second = client.submit(jobs.echo, "b", revision=2)
    third = client.submit(jobs.echo, "c", revision=3)
    with gate.open("w"):
        messages = gather(client, ended(third))
    assert messages == [
        Cancelled(second, 2),
        Stage(first, 1, "after the gate"),
        Done(first, 1),
        Stage(third, 3, "c"),
        Done(third, 3),
    ]


@pytest.mark.parametrize("function", [jobs.polite, jobs.endless])
def test_a_cancelled_job_stops_between_stages_in_its_own_process(
    client: Client, function: Any
) -> None:
    job = began(client, function, revision=5)
    processes = client.process_ids
    client.cancel(now_s=10.0)
    messages = gather(client, ended(job), now_s=10.0)
    assert messages == [Cancelled(job, 5)]
    assert client.process_ids == processes
    assert answer(client, jobs.echo, "still here") == "still here"


def test_a_stubborn_job_is_killed_after_the_grace_and_the_spare_answers(client: Client) -> None:
    job = began(client, jobs.stubborn, revision=9)
    spare_warm(client)
    worker, spare = client.process_ids
    client.cancel(now_s=100.0)
    assert client.poll(now_s=100.0 + GRACE_S - 0.001) == []
    assert client.process_ids == (worker, spare)
    assert client.poll(now_s=100.0 + GRACE_S) == [Cancelled(job, 9)]
    assert client.process_ids[0] == spare
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)
    assert answer(client, jobs.echo, "from the spare") == "from the spare"
    assert client.process_ids[0] == spare


def test_nothing_is_killed_while_the_spare_is_cold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    monkeypatch.setenv(jobs.GATE, str(gate))
    with Client(prepare=f"{jobs.__name__}:{jobs.wait_at_gate.__name__}") as client:
        with gate.open("w"):
            began(client, jobs.stubborn)
            spare_warm(client)
        os.kill(client.process_ids[1], signal.SIGKILL)
        gather(client, lambda messages: any(isinstance(each, Died) for each in messages))
        worker, spare = client.process_ids
        client.cancel(now_s=0.0)
        assert client.poll(now_s=1000.0) == []
        assert client.process_ids == (worker, spare)
        with gate.open("w"):
            spare_warm(client)
            assert client.process_ids == (worker, spare)
            assert [type(each) for each in client.poll(now_s=1000.0)] == [Cancelled]
            assert client.process_ids[0] == spare


def test_a_killed_worker_is_reported_and_the_next_submit_works(client: Client) -> None:
    job = began(client, jobs.stubborn, revision=3)
    os.kill(client.process_ids[0], signal.SIGKILL)
    (death,) = gather(client, ended(job))
    assert isinstance(death, Died)
    assert (death.job, death.revision) == (job, 3)
    assert "SIGKILL" in death.sentence
    assert death.sentence.count(".") == 1
    assert answer(client, jobs.echo, "again") == "again"


def test_a_worker_that_died_idle_loses_no_job(client: Client) -> None:
    answer(client, jobs.echo)
    spare_warm(client)
    idle = client.process_ids[0]
    os.kill(idle, signal.SIGKILL)
    os.waitid(os.P_PID, idle, os.WEXITED | os.WNOWAIT)
    job = client.submit(jobs.echo, "kept", revision=1)
    messages = gather(client, ended(job))
    assert [type(each) for each in messages] == [Died, Stage, Done]
    assert messages[0].job is None


def test_a_waiting_job_survives_the_death_of_the_running_one(client: Client) -> None:
    first = began(client, jobs.stubborn)
    second = client.submit(jobs.echo, "next", revision=2)
    os.kill(client.process_ids[0], signal.SIGKILL)
    messages = gather(client, ended(second))
    assert messages[0].job == first
    assert messages[1:] == [Stage(second, 2, "next"), Done(second, 2)]


def test_processes_that_never_start_end_the_job_and_are_not_tried_for_ever() -> None:
    with Client(prepare=f"{jobs.__name__}:{jobs.no_start.__name__}") as client:
        job = client.submit(jobs.echo, None, revision=1)
        messages = gather(client, ended(job))
        deaths = [each for each in messages if isinstance(each, Died)]
        assert len(deaths) == len(messages)
        assert MOST_DEATHS <= len(deaths) - 1 <= MOST_DEATHS + 1
        assert "status 3" in deaths[0].sentence
        assert client.process_ids == ()


def test_patches_keep_the_replicas_right(client: Client) -> None:
    design = a_design()
    client.open_design(dumps(design))
    seen = []
    for name in ("first", "second", "third"):
        patch = edits.set_field(design, "nodes", ["n-1"], "name", name)
        client.change(patch)
        design = apply(design, patch)
        assert answer(client, jobs.hashes) == (content_hash(design.design), layout_hash(design))
        seen.append(content_hash(design.design))
    assert len(set(seen)) == 3
    client.change(invert(patch))
    design = apply(design, invert(patch))
    assert answer(client, jobs.hashes)[0] == content_hash(design.design) == seen[1]


def test_a_job_sees_the_design_as_it_was_when_it_was_submitted(client: Client) -> None:
    design = a_design()
    client.open_design(dumps(design))
    running = began(client, jobs.polite)
    job = client.submit(jobs.hashes, None, revision=1)
    later = edits.set_field(design, "nodes", ["n-0"], "name", "changed while it waited")
    client.change(later)
    os.kill(client.process_ids[0], signal.SIGKILL)
    messages = gather(client, ended(job))
    assert messages[0].job == running
    assert messages[1].payload[0] == content_hash(design.design)
    assert answer(client, jobs.hashes)[0] == content_hash(apply(design, later).design)


def test_the_promoted_spare_and_its_successor_know_the_design(client: Client) -> None:
    design = a_design()
    client.open_design(dumps(design))
    for round_number in range(3):
        patch = edits.move(design, {"n-0": (float(round_number), 1.0)})
        client.change(patch)
        design = apply(design, patch)
        began(client, jobs.stubborn)
        spare_warm(client)
        client.cancel(now_s=0.0)
        assert [type(each) for each in client.poll(now_s=1.0)] == [Cancelled]
        assert answer(client, jobs.hashes)[1] == layout_hash(design)


def test_another_design_replaces_the_first(client: Client) -> None:
    client.open_design(dumps(a_design()))
    client.change((add("nodes", Node(id="n-9", name="extra", kind="leaf")),))
    answer(client, jobs.echo)
    client.open_design(dumps(Topology()))
    assert answer(client, jobs.hashes)[0] == content_hash(Topology().design)


def test_a_refusal_is_its_own_sentence(client: Client) -> None:
    job = client.submit(jobs.refuse, "group g-1: too many; lower a count", revision=4)
    stage, failure = gather(client, ended(job))
    assert stage == Stage(job, 4, 1)
    assert isinstance(failure, Failed)
    assert failure.sentence == "group g-1: too many; lower a count."
    assert answer(client, jobs.echo, 1) == 1


def test_a_fault_is_one_sentence_with_its_place(client: Client) -> None:
    job = client.submit(jobs.divide, 0, revision=4)
    (failure,) = gather(client, ended(job))
    assert isinstance(failure, Failed)
    assert "jobs.py:" in failure.sentence
    assert "ZeroDivisionError: division by zero" in failure.sentence
    assert "\n" not in failure.sentence
    assert "Traceback" in failure.details


@pytest.mark.parametrize(
    ("function", "word"),
    [
        (jobs.unsendable, "pickle"),
        ("tests.engine.jobs:missing", "missing"),
        ("tests.engine.no_module:f", "no_module"),
    ],
)
def test_what_cannot_be_found_or_sent_is_a_failure(
    client: Client, function: Any, word: str
) -> None:
    job = client.submit(function, None, revision=0)
    (failure,) = gather(client, ended(job))
    assert isinstance(failure, Failed)
    assert word in failure.sentence


def test_a_design_that_cannot_be_read_fails_the_job_and_heals_with_the_next(
    client: Client,
) -> None:
    client.open_design(b'{"format": "something else"}')
    job = client.submit(jobs.echo, None, revision=0)
    (failure,) = gather(client, ended(job))
    assert isinstance(failure, Failed)
    assert failure.sentence.startswith("the design")
    client.open_design(dumps(a_design()))
    assert answer(client, jobs.hashes)[0] == content_hash(a_design().design)


def test_closing_ends_both_processes() -> None:
    client = Client(prepare=QUICK)
    began(client, jobs.stubborn)
    processes = client.process_ids
    client.close()
    assert client.process_ids == ()
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
    with pytest.raises(ValueError, match="closed"):
        client.submit(jobs.echo, None, revision=0)
    assert client.poll(now_s=0.0) == []

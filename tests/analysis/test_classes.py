"""Rules of traffic classes: the ready ones, and what a project lays over them."""

from designer.analysis.classes import class_rules
from designer.analysis.facts import Ledger
from designer.model.services import Call, TrafficClass
from tests.analysis.small import chat, design, flow, nodes

READY = {
    "control", "interactive", "retrieval", "state", "tools", "synchronisation", "replication",
    "checkpoint", "ingest", "observability", "background",
}  # fmt: skip
"""TOPOLOGY: Traffic."""


def rules(*things):
    ledger = Ledger()
    return class_rules(design(*things), ledger), ledger.lines()


def test_all_ready_classes_are_there_and_unused_ones_are_no_assumption():
    found, lines = rules()
    assert set(found) == READY
    assert lines == ()


def test_they_come_in_order_of_priority():
    found, _ = rules(TrafficClass(id="urgent", priority=0), TrafficClass(id="late", priority=9))
    priorities = [rule.priority for rule in found.values()]
    assert priorities == sorted(priorities)
    assert list(found)[-1] == "late"


def test_bulk_yields_and_what_people_wait_for_does_not():
    found, _ = rules()
    assert {key for key, rule in found.items() if rule.elastic} == {
        "synchronisation", "replication", "checkpoint", "ingest", "background",
    }  # fmt: skip
    assert found["interactive"].priority < found["background"].priority


def test_only_what_is_said_is_laid_over():
    found, _ = rules(TrafficClass(id="interactive", packet_bytes=900.0, ecn_threshold_kb=150.0))
    rule = found["interactive"]
    assert (rule.packet_bytes, rule.ecn_threshold_kb) == (900.0, 150.0)
    assert (rule.priority, rule.elastic) == (1, False)


def test_false_and_zero_are_said():
    found, _ = rules(TrafficClass(id="background", elastic=False, priority=0))
    assert (found["background"].elastic, found["background"].priority) == (False, 0)


def test_a_class_of_the_projects_own_is_as_background_until_told():
    found, _ = rules(TrafficClass(id="video", weight=3.0))
    assert (found["video"].priority, found["video"].weight, found["video"].elastic) == (
        6,
        3.0,
        True,
    )


def test_defaults_in_use_are_listed_as_guesses():
    service = chat("u", 1.0, workflow=Call(at="policy", traffic_class="tools"))
    _, lines = rules(
        *nodes("users", "u"), *nodes("server", "s", "t"), service,
        flow("s-t", traffic_class="nowhere_defined"), flow("t-s", traffic_class="given"),
        TrafficClass(id="given", priority=1),
    )  # fmt: skip
    assert {(line.element, line.kind) for line in lines} == {
        ("interactive", "guessed"), ("tools", "guessed"), ("nowhere_defined", "guessed"),
    }  # fmt: skip

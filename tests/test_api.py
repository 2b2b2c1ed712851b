"""The façade: what a notebook does, and the first thing that anyone tries on a sample."""

from pathlib import Path

import pytest

from designer import api
from designer.files.format import FileRefused
from designer.model.catalog import Catalogue
from designer.model.patch import Change, apply


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return api.open_catalogue()


def test_a_slower_dci_moves_the_bottleneck_and_names_it(
    checkout: Path, catalogue: Catalogue
) -> None:
    topology = api.open_design(checkout / "sample_topologies" / "metro-inference.promptpath")
    slower = apply(topology, (Change("links", "dci-regional", "capacity_gbps", 400.0, 100.0),))
    bottleneck = []
    for each in (topology, slower):
        stage = next(api.stages(each, api.request_for(each), catalogue))
        (flow,) = (row for row in stage.results.flows if row.id == "model-sync")
        assert flow.effective_gbps is not None
        bottleneck.append((flow.bottleneck, flow.bottleneck_name))
    assert bottleneck == [
        ("metro-cache-nic", "Metro cache ports"),
        ("dci-regional", "DCI Regional"),
    ]
    assert flow.effective_gbps < 100


def test_stages_come_cheapest_first_with_the_revision(checkout: Path, catalogue: Catalogue) -> None:
    topology = api.open_design(checkout / "sample_topologies" / "metro-inference.promptpath")
    request = api.request_for(topology, Path("folder/metro.promptpath"))
    stage = next(api.stages(topology, request, catalogue))
    assert stage.name == "network"
    assert stage.results.file == "metro.promptpath"
    assert stage.results.links
    assert stage.results.services == ()


def test_where_nothing_can_be_written_is_known_beforehand(tmp_path: Path) -> None:
    good = tmp_path / "out.pdf"
    api.check_writable(good)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "folder").mkdir()
    for bad, said in (
        (tmp_path / "no" / "out.pdf", "no folder"),
        (tmp_path / "folder", "a folder"),
    ):
        with pytest.raises(FileRefused, match=said) as checked:
            api.check_writable(bad)
        with pytest.raises(FileRefused) as written:
            api.write_file(bad, b"x")
        assert str(checked.value) == str(written.value)
    api.write_file(good, b"x")
    assert good.read_bytes() == b"x"


def test_no_plan_cannot_be_accepted(checkout: Path) -> None:
    topology = api.open_design(checkout / "sample_topologies" / "ai-factory.promptpath")
    with pytest.raises(api.CannotAnalyse, match="no placement to accept"):
        api.with_placement(topology, api.Results.model_fields["placement"].default)

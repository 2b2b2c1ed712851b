"""Counts made explicit, against pairs written out by hand."""

import pytest

from designer.graph.expand import BadPairing, TooLarge, expand
from designer.model.things import Group
from tests.analysis.small import design, link, nodes


def cables(made, link_id):
    """Pairs of instances, numbered from 0 within each end's drawn node."""
    found = expand(made)
    at = found.link_ids.index(link_id)
    a, b = (found.node_ids.index(end) for end in (made.links[link_id].a, made.links[link_id].b))
    mine = found.link_of == at
    return list(
        zip(
            (found.a[mine] - found.first[a]).tolist(),
            (found.b[mine] - found.first[b]).tolist(),
            strict=True,
        )
    )


def test_nothing_is_expanded_to_nothing():
    found = expand(design())
    assert (found.node_ids, found.link_ids) == ((), ())
    assert [len(part) for part in (found.first, found.node_of, found.link_of, found.a)] == [0] * 4


def test_instances_are_numbered_by_sorted_id():
    found = expand(design(*nodes("leaf", "b", count=3), *nodes("leaf", "a", count=2)))
    assert found.node_of.tolist() == [0, 0, 1, 1, 1]
    assert found.instances(1).tolist() == [2, 3, 4]


@pytest.mark.parametrize(
    ("pairing", "pairs"),
    [
        ("each_to_each", [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)]),
        # Four hosts on two leaves, spread evenly: the first two on the first.
        ("spread_evenly", [(0, 0), (1, 0), (2, 1), (3, 1)]),
    ],
)
def test_pairing_of_four_hosts_and_two_leaves(pairing, pairs):
    made = design(
        *nodes("server", "h", count=4), *nodes("leaf", "l", count=2), link("h-l", pairing=pairing)
    )
    assert cables(made, "h-l") == pairs


def test_one_to_one_needs_equal_counts():
    pair = link("h-l", pairing="one_to_one")
    equal = design(*nodes("server", "h", count=3), *nodes("leaf", "l", count=3), pair)
    assert cables(equal, "h-l") == [(0, 0), (1, 1), (2, 2)]
    unequal = design(*nodes("server", "h", count=3), *nodes("leaf", "l", count=2), pair)
    with pytest.raises(BadPairing, match="its ends are 3 and 2"):
        expand(unequal)


def test_ends_pair_within_the_instance_of_a_group_around_both():
    rack = Group(id="rack", kind="rack", count=2)
    made = design(
        rack,
        *nodes("server", "h", count=2, group="rack"),
        *nodes("leaf", "l", group="rack"),
        *nodes("spine", "s"),
        link("h-l"),
        link("l-s"),
    )
    # Two racks of two hosts and a leaf: the hosts of rack 1 are 2 and 3, its leaf is 1.
    assert cables(made, "h-l") == [(0, 0), (1, 0), (2, 1), (3, 1)]
    assert cables(made, "l-s") == [(0, 0), (1, 0)]


def test_counts_of_nested_groups_multiply():
    made = design(
        Group(id="pod", kind="pod", count=3),
        Group(id="rack", kind="rack", count=4, parent="pod"),
        *nodes("server", "h", count=5, group="rack"),
    )
    assert expand(made).count.tolist() == [3 * 4 * 5]


def test_too_many_instances_and_cables_are_refused_by_name():
    with pytest.raises(TooLarge, match="400,000 instances"):
        expand(design(*nodes("server", "h", count=400_000)))
    many = design(
        *nodes("server", "h", count=2_000),
        *nodes("leaf", "l", count=2_000),
        link("h-l", pairing="each_to_each", name="mesh"),
    )
    with pytest.raises(TooLarge, match="link mesh makes 4,000,000 cables"):
        expand(many)

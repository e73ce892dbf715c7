"""What a sample exercised, counted by hand."""

import pytest

from railyard.verdict.blame.screening.model import Network, NotMeasured, Share
from railyard.verdict.blame.screening.promise import find_coverage
from railyard.verdict.blame.search.model import Layout
from railyard.verdict.wording import screening as screening_words
from railyard.verdict.wording.screening import leaves_unknown
from tests.made.screening import network

#: Two nodes at each of three leaves, and two up-links of each: a node's route leaves by its number modulo two.
ROUTES = ((-1, -1, 0, 1, 0, 1), (0, 1, -1, -1, 0, 1), (0, 1, 0, 1, -1, -1))


def test_nodes_pairs_and_leaf_pairs_that_were_used() -> None:
    found = find_coverage(network("AABBCC"), [(0, 1), (0, 2), (1, 3)])
    assert (found.nodes.used, found.nodes.all) == (4, 6)
    assert (found.pairs.used, found.pairs.all) == (3, 15)
    assert (found.leaf_pairs.used, found.leaf_pairs.all) == (1, 3)
    assert found.leaf_pairs.share == pytest.approx(1 / 3)
    # vn1 and vn2 met two partners each, vn3 and vn4 one
    assert found.partners == 1.5
    assert found.not_measured == (
        NotMeasured("vn5", "no value of it came back"),
        NotMeasured("vn6", "no value of it came back"),
    )


def test_up_links_by_known_routes() -> None:
    """vn1 to vn4 leaves A by up-link 1 and comes to B by 1; back to vn1 it leaves B by 0 and comes to A by 0."""
    found = find_coverage(network("AABBCC", up_links=2, routes=ROUTES), [(0, 3)])
    assert found.up_links == Share(4, 6, "by the site's routes")
    # vn1 to vn3 and back go by up-link 0 of both leaves
    assert find_coverage(network("AABBCC", up_links=2, routes=ROUTES), [(0, 2)]).up_links.used == 2
    assert find_coverage(network("AABBCC", up_links=2, routes=ROUTES), [(0, 1)]).up_links.used == 0
    planes = Network(network("AABBCC").layout, ("r0", "r1"), planes=True, up_links=2, routes=ROUTES)
    assert (find_coverage(planes, [(0, 3)]).up_links.used, find_coverage(planes, [(0, 3)]).up_links.all) == (8, 12)


def test_up_links_where_routes_are_not_known_are_an_expected_number() -> None:
    """One pair across leaves has two routes, each over an up-link of both leaves: 1 - (3/4)^2 of four up-links."""
    one = find_coverage(network("AABBCC", up_links=4), [(0, 3)])
    assert one.up_links.used == pytest.approx(2 * 4 * (1 - 0.75**2))
    assert one.up_links.all == 12
    assert one.up_links.basis == ("expected, if routes are static and spread at random over 4 up-links per leaf")
    # vn1-vn4 and vn2-vn4: A reaches vn4 by one route, vn4's leaf reaches vn1 and vn2 by two: three at each leaf
    two = find_coverage(network("AABBCC", up_links=4), [(0, 3), (1, 3)])
    assert two.up_links.used == pytest.approx(2 * 4 * (1 - 0.75**3))
    unknown = find_coverage(network("AABBCC"), [(0, 3)])
    assert unknown.up_links.used == pytest.approx(2 * 2 * (1 - 0.5**2))
    assert unknown.up_links.basis.endswith("as many up-links as a leaf has nodes (their number is not known)")


def test_rails_are_those_of_measured_nodes() -> None:
    found = find_coverage(network("AABB", rails=4), [(0, 1)])
    assert (found.rails.used, found.rails.all) == (8, 16)
    assert find_coverage(network("AABB", rails=0), [(0, 1)]).rails == Share(
        0, None, "it is not known how many rails a node has"
    )


def test_without_leaves_it_is_said_and_no_number_given() -> None:
    found = find_coverage(network("????"), [(0, 1)])
    assert (found.leaf_pairs.share, found.up_links.share) == (None, None)
    assert found.up_links.basis == leaves_unknown()
    one_leaf = find_coverage(network("AAAA"), [(0, 1)])
    assert (one_leaf.up_links, one_leaf.up_links.share) == (Share(0, 0, screening_words.one_leaf()), 0.0)


def test_an_absent_node_has_its_reason() -> None:
    found = find_coverage(network("AABB"), [(0, 1)], {3: "drained: by hand"})
    assert [(one.node, one.reason) for one in found.not_measured] == [
        ("vn3", "no value of it came back"),
        ("vn4", "drained: by hand"),
    ]


def test_nothing_measured_covers_nothing() -> None:
    found = find_coverage(Network(Layout(("a", "b", "c"), ("x", "x", "y"))), [])
    assert (found.nodes.used, found.pairs.used, found.leaf_pairs.used, found.up_links.used) == (0, 0, 0, 0)
    assert (found.partners, len(found.not_measured)) == (0.0, 3)

"""How far two PCI slots are from each other."""

import pytest

from railyard.job.node_facts import distance

CARD = "pci0000:60/0000:60:01.0/0000:61:00.0/0000:62:00.0/0000:63:00.0"


@pytest.mark.parametrize(
    ("other", "same_domain", "word"),
    [
        ("pci0000:60/0000:60:01.0/0000:61:00.0/0000:62:00.0/0000:63:00.1", True, "PIX"),
        ("pci0000:60/0000:60:01.0/0000:61:00.0/0000:62:04.0/0000:64:00.0", True, "PIX"),
        ("pci0000:60/0000:60:01.0/0000:61:00.0/0000:62:04.0/0000:64:00.0/0000:65:00.0/0000:66:00.0", True, "PXB"),
        ("pci0000:60/0000:60:03.0/0000:68:00.0", True, "PHB"),
        ("pci0000:a0/0000:a0:01.0/0000:a1:00.0", True, "NODE"),
        ("pci0000:a0/0000:a0:01.0/0000:a1:00.0", False, "SYS"),
    ],
)
def test_the_distance_is_told_from_where_the_paths_part(other: str, same_domain: bool, word: str) -> None:
    assert distance(CARD, other, same_domain) == distance(other, CARD, same_domain) == word

"""Writes what the published sources say as a page for people: ``make docs`` writes ``docs/reference/published.md``.

For this it judges every recording of a system with claims, in this process and within seconds.
"""

import sys
from pathlib import Path

from railyard.base.paths import CHECKS, find_home, part
from railyard.results import relations
from railyard.results.published_page import ReplayedSystem, page
from railyard.results.reference_sheet import is_published
from railyard.rfm.checks.catalogue import needs
from railyard.site.references.load import References
from railyard.site.site import site_at
from railyard.site.systems.load import load_systems
from railyard.verdict.stored.replays import replay_records


def systems_with_claims(home: Path) -> tuple[list[ReplayedSystem], list[References]]:
    """Return each published system with its claims and their replay, and the systems without claims.

    Raises InputError and RailyardError if files or recordings are wrong.
    """
    asked = needs(part(home, CHECKS))
    found: list[ReplayedSystem] = []
    without: list[References] = []
    for name in load_systems(home / "systems"):
        site = site_at(home, name)
        if site.references.claims:
            records = replay_records(site, asked)
            found.append(ReplayedSystem(site.references, records, relations.judge(site.references, records)))
        elif is_published(site.references):
            without.append(site.references)
    return found, without


if __name__ == "__main__":
    sys.stdout.write(page(*systems_with_claims(find_home())))

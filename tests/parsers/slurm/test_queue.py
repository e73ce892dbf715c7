"""When busy nodes come free, by squeue."""

from datetime import datetime

from railyard.parsers.slurm import free_in

NOW = datetime(2026, 11, 24, 4, 0, 0)


def test_a_node_comes_free_when_the_last_of_its_jobs_ends_by_its_limit() -> None:
    text = """\
2026-11-24T04:10:00|n[1-2],login
2026-11-24T05:00:00|N2.cluster
N/A|n3
2026-11-24T03:59:00|n4
"""
    assert free_in(text, NOW) == {"n1": 600.0, "n2": 3600.0, "login": 600.0, "n3": None, "n4": 1.0}


def test_a_node_without_a_known_end_stays_unknown_and_what_is_no_job_is_passed_over() -> None:
    assert free_in("N/A|n1\n2026-11-24T04:10:00|n1\n", NOW) == {"n1": None}
    assert (
        free_in("slurm_load_jobs error: Unable to contact slurm controller\n2026-11-24T04:10:00|n[3-1]\n\n", NOW) == {}
    )

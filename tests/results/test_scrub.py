"""Outputs without names: hosts, users, paths and addresses are gone, and no figure is changed."""

import pytest

from railyard.results.store.exchange import scrub_text

HOSTS, USERS = ("cn07.site.example", "cn08"), ("alice",)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("0: cn07", "0: node1"),
        ("1: cn08.site.example", "1: node2"),
        ("[cn07:12345] mca_base_component", "[node1:12345] mca_base_component"),
        ("run by alice on cn08", "run by user on node2"),
        ("cannot open /home/alice/osu/libmpi.so.40: no", "cannot open /path/libmpi.so.40: no"),
        ("# IMB-MPI1 PingPong -msglog 0:20", "# IMB-MPI1 PingPong -msglog 0:20"),
        ("in /opt/hpcx/ompi/", "in /path/"),
        ("connect to 10.1.2.3 port 5201", "connect to 0.0.0.0 port 5201"),
        ("at e4:1d:2d:aa:bb:cc", "at 00:00:00:00:00:00"),
        (
            "GID: 254:128:00:00:00:00:00:00:126:254:144:03:00:23:07:80",
            "GID: 000:000:00:00:00:00:00:00:000:000:000:00:00:00:00:00",
        ),
        ("Node GUID: 0xe41d2d0300aabbcc", "Node GUID: 0x0000000000000000"),
        # not a name: part of a word, a unit, a size, a rate
        ("#bytes #repetitions t[usec] Mbytes/sec", "#bytes #repetitions t[usec] Mbytes/sec"),
        ("Bandwidth (MB/s) malice cn070", "Bandwidth (MB/s) malice cn070"),
        ("4194304      12400.00", "4194304      12400.00"),
        ("# Version 2021.11, 7.4.1", "# Version 2021.11, 7.4.1"),
        ("12:30:01 of 2026-11-21", "12:30:01 of 2026-11-21"),
    ],
)
def test_names_go_and_figures_stay(line: str, said: str) -> None:
    assert scrub_text(line, HOSTS, USERS) == said


def test_it_changes_nothing_the_second_time() -> None:
    text = "0: cn07 /home/alice/x 10.1.2.3 e4:1d:2d:aa:bb:cc\n"
    once = scrub_text(text, HOSTS, USERS)
    assert scrub_text(once, HOSTS, USERS) == once


def test_a_name_of_one_letter_is_nobodys() -> None:
    assert scrub_text("a b c", (), ("a",)) == "a b c"

"""What else belongs to a record: read where it is, empty where it is not."""

from datetime import datetime, timedelta, timezone

from railyard.job import node_facts
from railyard.job.provenance import circumstances
from railyard.results.record.form import NodeGroup

LDD = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibmpi.so.12 => /opt/lib/libmpi.so.12 (0x00007f1)\n\tlibx.so => not found\n"


def test_all_that_there_is() -> None:
    texts = [f"railyard-node 1 t\nnode {node}\nfact smt on\nend\n" for node in ("vn1", "vn2")]
    facts = [found for text in texts if (found := node_facts.parse(text, "t")) is not None]
    east = timezone(timedelta(hours=2))
    assert circumstances(
        facts,
        linked=LDD,
        variables={"UCX_TLS": "tcp", "HOME": "/home/alice"},
        scheduler="slurm",
        job_id=4711,
        started=datetime(2026, 11, 21, 8, 0, 6, tzinfo=east),
    ) == {
        "started": "2026-11-21T06:00:06Z",
        "scheduler": "slurm",
        "job_id": "4711",
        "linked": ("libmpi.so.12 => /opt/lib/libmpi.so.12", "libx.so => not found"),
        "variables": {"UCX_TLS": "tcp"},
        "hardware": (NodeGroup(("vn1", "vn2"), {"smt": "on"}, {}),),
    }


def test_nothing_is_no_error() -> None:
    started = datetime(2026, 11, 21, 8, 0, 6, tzinfo=timezone.utc)
    assert circumstances((), linked=None, variables={}, scheduler=None, job_id=None, started=started) == {
        "started": "2026-11-21T08:00:06Z",
        "scheduler": None,
        "job_id": None,
        "linked": (),
        "variables": {},
        "hardware": (),
    }

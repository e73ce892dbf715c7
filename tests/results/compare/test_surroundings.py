"""What else differed between two sets of results, and whether only the fabric can be blamed."""

from collections.abc import Callable

from railyard.results.pairing import differences, not_the_fabric_alone, settings
from railyard.results.record.form import NodeGroup, Record

Made = Callable[..., Record]


def host(**facts: str) -> tuple[NodeGroup, ...]:
    return (NodeGroup(("vn1",), facts, {"mlx5_0": {"firmware": "20.41", "driver": "mlx5_core"}}),)


def test_what_differs_is_named_with_both_values(new_record: Made) -> None:
    a = new_record(
        environment={"kernel": "6.1", "spack": {"specs": ["zlib@1.3", "hwloc@2.9"]}, "python": "3.11"},
        variables={"UCX_TLS": "rc"},
        benchmark_version="2021.3",
        linked=("libmpi.so.12", "libc.so.6"),
    )
    b = new_record(
        environment={"kernel": "6.8", "spack": {"specs": ["zlib@1.3", "hwloc@2.11"]}, "python": "3.11", "mpi": "MPICH"},
        command=("mpirun", "-genv", "UCX_TLS", "tcp"),
        benchmark_version="2021.11",
        linked=("libmpi.so.12", "libc.so.6", "libucp.so.0"),
    )
    assert [one.words for one in differences([a], [b])] == [
        "kernel: 6.1 on A, 6.8 on B",
        "linked library: no other on A, libucp.so.0 on B",
        "mpi: not recorded on A, MPICH on B",
        "setting UCX_TLS: rc on A, tcp on B",
        "spack.specs: hwloc@2.9 on A, hwloc@2.11 on B",
        "version of imb: 2021.3 on A, 2021.11 on B",
    ]


def test_repeats_that_agree_differ_in_nothing(new_record: Made) -> None:
    assert differences([new_record("a"), new_record("b")], [new_record("c")]) == ()


def test_firmware_of_a_card_is_told_by_its_device(new_record: Made) -> None:
    newer = (NodeGroup(("vn1",), {"processor": "X"}, {"mlx5_0": {"firmware": "20.43", "driver": "mlx5_core"}}),)
    found = differences([new_record(hardware=host(processor="X"))], [new_record(hardware=newer)])
    assert [one.words for one in found] == ["mlx5_0 firmware: 20.41 on A, 20.43 on B"]
    assert not_the_fabric_alone([new_record(hardware=host(processor="X"))], [new_record(hardware=newer)]) is None


def test_other_processors_are_not_the_fabric_alone(new_record: Made) -> None:
    a, b = new_record(hardware=host(processor="Xeon Gold 6142")), new_record(hardware=host(processor="EPYC 7763"))
    assert not_the_fabric_alone([a], [b]) == (
        "not attributable to the fabric alone: host processor: Xeon Gold 6142 on A, EPYC 7763 on B"
    )


def test_memory_is_held_to_the_gib(new_record: Made) -> None:
    a, b = new_record(hardware=host(memory="263847012 kB")), new_record(hardware=host(memory="263846988 kB"))
    assert not_the_fabric_alone([a], [b]) is None
    other = new_record(hardware=host(memory="131923506 kB"))
    assert not_the_fabric_alone([a], [other]) == (
        "not attributable to the fabric alone: host memory: 252 GiB on A, 126 GiB on B"
    )


def test_two_systems_of_which_nothing_is_recorded_are_not_known_to_be_alike(new_record: Made) -> None:
    assert not_the_fabric_alone([new_record(system="old")], [new_record(system="new")]) == (
        "not attributable to the fabric alone: new and old are two systems, and their processors, chipsets and memory "
        "are not recorded"
    )
    known = host(processor="X")
    assert (
        not_the_fabric_alone([new_record(system="old", hardware=known)], [new_record(system="new", hardware=known)])
        is None
    )


def test_settings_are_read_from_every_launchers_words() -> None:
    words = ("-genv", "I_MPI_PIN", "0", "--mca", "btl", "tcp", "-x", "UCX_TLS=rc", "-n", "2", "IMB-MPI1", "a=b")
    assert settings(words) == {"I_MPI_PIN": "0", "btl": "tcp", "UCX_TLS": "rc"}

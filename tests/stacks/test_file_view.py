"""Files as a program sees them: in an image, only what the job saw there counts."""

from pathlib import Path

from railyard.stacks import wording as stack_words
from railyard.stacks.libraries import HOST, ImageFiles, why_wrong

SEEN = ImageFiles.of(
    [("/opt/mpi", "/opt/mpi-5.0")],
    [
        ("/opt/mpi/lib/libmpi.so.12", "/opt/mpi-5.0/lib/libmpi.so.12"),
        ("/opt/mpi/lib/ucx/libucp.so.0", "/x/libucp.so.0"),
    ],
)


def test_links_are_those_of_the_image() -> None:
    assert SEEN.real(Path("/opt/mpi")) == Path("/opt/mpi-5.0")
    assert SEEN.real(Path("/elsewhere")) == Path("/elsewhere")


def test_patterns_are_searched_among_what_was_seen_there() -> None:
    assert SEEN.find(Path("/opt/mpi"), ["lib*/libmpi*.so*"]) == [Path("/opt/mpi/lib/libmpi.so.12")]
    assert SEEN.find(Path("/opt/mpi"), ["libucp.so*", "lib*/*/libucp.so*"]) == [Path("/opt/mpi/lib/ucx/libucp.so.0")]
    assert SEEN.find(Path("/usr"), ["lib*/libmpi*.so*"]) == []


def test_a_prefix_that_is_a_link_in_the_image_fits(tmp_path: Path) -> None:
    """The same path on this host is another one: here it is a link to somewhere else."""
    found = {"libmpi.so.12": "/opt/mpi-5.0/lib/libmpi.so.12"}
    assert why_wrong("osu_bw", found, ("libmpi.so.12",), "/opt/mpi", SEEN) is None
    sentence = stack_words.other_folder("osu_bw", "/opt/mpi-5.0/lib/libmpi.so.12", ["libmpi.so.12"], "/opt/mpi")
    assert why_wrong("osu_bw", found, ("libmpi.so.12",), "/opt/mpi", HOST) == sentence


def test_a_link_of_this_host_does_not_count_in_an_image(tmp_path: Path) -> None:
    (tmp_path / "real/lib").mkdir(parents=True)
    (tmp_path / "real/lib/libmpi.so.12").touch()
    (tmp_path / "prefix").symlink_to("real")
    found = {"libmpi.so.12": str(tmp_path / "real/lib/libmpi.so.12")}
    prefix = str(tmp_path / "prefix")
    assert why_wrong("osu_bw", found, ("libmpi.so.12",), prefix) is None
    assert why_wrong("osu_bw", found, ("libmpi.so.12",), prefix, ImageFiles.of((), ())) is not None

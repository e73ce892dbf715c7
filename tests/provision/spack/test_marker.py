"""The install marker: it is written last and completely, and what it recorded is checked again."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.provision.spack import marker
from railyard.provision.spack.build import ensure
from railyard.provision.spack.marker import Marker
from railyard.provision.spack.request import ready
from tests.made.spack_site import MadeSite


@pytest.fixture
def built_marker(site: MadeSite) -> Marker:
    return ensure(site.request(), lambda line: None)


def file_of(site: MadeSite) -> Path:
    return next(site.request().place.glob(f"*/{marker.FILE}"))


def test_what_is_written_is_read(site: MadeSite, built_marker: Marker) -> None:
    assert marker.read(file_of(site).parent) == built_marker
    assert [path.name for path in file_of(site).parent.iterdir() if path.name.startswith(".railyard")] == []


CHANGES: list[tuple[str, Callable[[MadeSite, Path], object], str]] = [
    ("gone", lambda site, imb: imb.unlink(), "{imb}: no such file or directory; it was there after the build"),
    ("not executable", lambda site, imb: imb.chmod(0o644), "{imb}: is no longer executable"),
    (
        "another size", lambda site, imb: imb.write_text("#!/bin/sh\necho another\n"),
        "{imb}: is not the file that was built (20 bytes then, 23 now)",
    ),
    (
        "another content of the same size", lambda site, imb: imb.write_bytes(imb.read_bytes()[::-1]),
        "{imb}: is not the file that was built (different content of the same 20 bytes)",
    ),
    (
        "external's library of the same size", lambda site, imb: same_size(site.home / "mpi/openmpi/lib"),
        "{home}/mpi/openmpi/lib/libmpi.so.40: has changed since the benchmarks were linked to it (different content of "
        "the same 9 bytes)",
    ),
    (
        "external gone", lambda site, imb: (site.home / "mpi/openmpi").rename(site.home / "mpi/moved"),
        "{home}/mpi/openmpi: the external openmpi@4.1.4 is gone",
    ),
    (
        "external's library gone", lambda site, imb: (site.home / "mpi/openmpi/lib/libmpi.so.40.1.2").unlink(),
        "{home}/mpi/openmpi/lib/libmpi.so.40: no such file or directory; benchmarks were linked to it",
    ),
    (
        "external updated", lambda site, imb: update(site.home / "mpi/openmpi/lib"),
        "{home}/mpi/openmpi/lib/libmpi.so.40: has changed since the benchmarks were linked to it (then "
        "{home}/mpi/openmpi/lib/libmpi.so.40.1.2, now {home}/mpi/openmpi/lib/libmpi.so.40.1.3)",
    ),
]  # fmt: skip


def same_size(lib: Path) -> None:
    (lib / "libmpi.so.40.1.2").write_text("123456789", encoding="utf-8")


def update(lib: Path) -> None:
    (lib / "libmpi.so.40.1.3").write_text("new", encoding="utf-8")
    (lib / "libmpi.so.40").unlink()
    (lib / "libmpi.so.40").symlink_to("libmpi.so.40.1.3")


@pytest.mark.parametrize(("_", "change", "sentence"), CHANGES, ids=[name for name, *_ in CHANGES])
def test_what_is_not_as_it_was_built(
    site: MadeSite, built_marker: Marker, _: str, change: Callable[[MadeSite, Path], object], sentence: str
) -> None:
    imb = Path(built_marker.tools["imb"])
    assert ready(site.request()) == built_marker
    change(site, imb)
    with pytest.raises(SetupError) as error:
        ready(site.request())
    assert str(error.value) == (
        f"{sentence.format(imb=imb, home=site.home)}; the environment of openmpi on made is not what was built: type "
        "railyard spack install --system made --stack openmpi --again"
    )


def test_a_marker_of_an_older_format_is_none(site: MadeSite, built_marker: Marker) -> None:
    data = json.loads(file_of(site).read_text(encoding="utf-8"))
    file_of(site).write_text(json.dumps({**data, "format": 3}), encoding="utf-8")
    assert ready(site.request()) is None


BROKEN = [
    ("{", "found text that is not JSON (", "), expected an install marker; remove it"),
    ("[]", "found no format number, expected an install marker of format 4; remove it", ""),
    (
        '{"format": 5}',
        "found format 5, expected at most 4: a newer Railyard wrote it; use the newer one, or remove the file and "
        "build again",
        "",
    ),
    ('{"format": 4}', "key: found nothing, expected this key; remove it and build again", ""),
]


@pytest.mark.parametrize(("text", "start", "end"), BROKEN)
def test_a_marker_that_is_none(site: MadeSite, built_marker: Marker, text: str, start: str, end: str) -> None:
    file = file_of(site)
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SetupError) as error:
        ready(site.request())
    assert str(error.value).startswith(f"{file}: {start}")
    assert str(error.value).endswith(end)

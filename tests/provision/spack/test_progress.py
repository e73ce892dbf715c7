"""How many packages a build has, about how long it takes, and a line for each that is there."""

from pathlib import Path

from railyard.provision.spack import locks
from railyard.provision.spack.build import SECONDS, Progress, duration, promise, to_build
from railyard.provision.spack.locks import Lock, Spec

RECORDED = Path(__file__).parents[2] / "recordings" / "spack" / "openmpi.lock"
#: As `spack concretize` of Spack 1.2.0.dev0 lists: to build, external, installed.
LISTING = """\
==> Concretized 2 specs:
 -   {osu}  osu-micro-benchmarks@7.4~cuda build_system=autotools platform=linux os=debian12 target=x86_64_v3
[e]  3kkp3m4      ^gcc@12.2.0+binutils+bootstrap build_system=autotools platform=linux os=debian12 target=x86_64
[+]  {npb}  npb@3.4.3 fflags=-fallow-invalid-boz build_system=makefile platform=linux os=debian12
"""


def lock() -> Lock:
    return locks.parse(RECORDED.read_text(encoding="utf-8"), "openmpi.lock")


def spec_named(name: str) -> Spec:
    found = lock().find_spec(name)
    assert found is not None
    return found


def test_what_is_external_or_installed_is_not_built() -> None:
    wanted = {spec.name for spec in to_build(lock(), "")}
    assert {"osu-micro-benchmarks", "npb", "hpl"} < wanted
    assert wanted & {"openmpi", "gcc", "gmake"} == set()
    listing = LISTING.format(osu=spec_named("osu-micro-benchmarks").hash[:7], npb=spec_named("npb").hash[:7])
    assert wanted - {spec.name for spec in to_build(lock(), listing)} == {"npb"}


def test_the_promise_says_how_many_and_how_long() -> None:
    osu, npb, openmpi = spec_named("osu-micro-benchmarks"), spec_named("npb"), spec_named("openmpi")
    assert promise((osu,)) == "1 package to build, about 60 s on two cores"
    assert promise((osu, npb)) == "2 packages to build, about 3 min on two cores"
    assert promise((osu, openmpi)) == "2 packages to build, about 60 s on two cores, and what 1 other takes: openmpi"
    assert promise((openmpi,)) == "1 package to build; how long it takes is not known: openmpi"
    assert promise(()) == "all packages are installed already"


def test_every_package_that_ends_is_a_line() -> None:
    osu, npb = spec_named("osu-micro-benchmarks"), spec_named("npb")
    said: list[str] = []
    times = iter((100.0, 103.4, 400.0))
    build = Progress((osu, npb), said.append, lambda: next(times))
    lines = [
        f"[ ] {npb.hash[:7]} npb@3.4.3 build (2s)",
        f"[+] {npb.hash[:7]} npb@3.4.3 /opt/npb-3.4.3 (3s)",
        "[e] vtod3iq openmpi@4.1.4 /opt/openmpi (0s)",
        f"[x] {osu.hash[:7]} osu-micro-benchmarks@7.4 failed: /tmp/osu.log (0s)",
        "[+] aaaaaaa another@1.0 /opt/another (3s)",
        f"[+] {osu.hash[:7]} osu-micro-benchmarks@7.4 /opt/osu (2m43s)",
    ]
    for line in lines:
        build.line(line)
    assert [line for line in said if line not in lines] == [
        "spack:   1 of 2 built, after 3 s: npb@3.4.3",
        "spack:   2 of 2 built, after 5 min: osu-micro-benchmarks@7.4",
    ]
    assert [line for line in said if line in lines] == lines


def test_durations() -> None:
    assert [duration(seconds) for seconds in (0.4, 99, 100, 3600)] == ["0 s", "99 s", "2 min", "60 min"]


def test_every_benchmark_that_is_always_built_has_an_estimate() -> None:
    assert {"hpl", "intel-mpi-benchmarks", "netpipe", "npb", "osu-micro-benchmarks"} < set(SECONDS)

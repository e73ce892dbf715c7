"""Each failure of Spack becomes one exact sentence, from what the real Spack printed."""

from pathlib import Path

import pytest

from railyard.provision.spack.calls import CAUSES, explain, holds_everywhere

RECORDED = Path(__file__).parents[2] / "recordings" / "spack"

BOOTSTRAP = "type: railyard spack bootstrap"
SENTENCES = [
    (
        ("disk-full.out",),
        "disk full",
        "no space left on device: OSError: [Errno 28] No space left on device; make room in the install tree, Spack's "
        "stage (config:build_stage) and cache, and build again: finished packages are kept",
    ),
    (
        ("lock-timeout.out",),
        "lock timeout",
        "another Spack has held /opt/software/.spack-db/lock for longer than this one waits (2.005s); let it end, "
        "or end the process that hangs, and build again",
    ),
    (
        ("checksum-mismatch.out", "checksum-mismatch.err"),
        "checksum",
        "the checksum of NetPIPE-3.7.2.tar.gz is wrong: found 099e5ec52f103926…, expected 13dac884ff529516…; the file "
        "is incomplete or not the release: remove it from the mirror or the cache and fetch it again",
    ),
    (
        ("fetch-failed.out", "fetch-failed.err"),
        "fetch",
        "the source of compiler-wrapper-1.1.0 cannot be fetched: no mirror has it and its own place cannot be reached; "
        "on a machine with network, type: railyard spack mirror create FOLDER; bring the folder here and name it in "
        "the overlay under mirrors",
    ),
    (
        ("no-clingo.out",),
        "solver",
        "Spack's own clingo is not there and cannot be fetched: type railyard spack bootstrap, which gets it with pip "
        "(--from FOLDER: from wheels that you carried here), or set SPACK_PYTHON to a Python that has it; "
        "docs/howto/spack.md, An air-gapped site",
    ),
    (
        ("mirror-failed.out",),
        "mirror",
        "compiler-wrapper@1.1.0, netpipe@3.7.2 cannot be fetched: the places where they come from cannot be reached; "
        "what could be fetched is in the folder and is kept: type it again on a machine with network",
    ),
    (
        ("tree-readonly.out",),
        "permission",
        "cannot create lock '/opt/software/.spack-db/lock': file does not exist and location is not writable; the "
        "install tree and its parents must be writable where you build: choose another in the overlay "
        "(config:install_tree:root)",
    ),
    (
        ("two-versions.out",),
        "conflict",
        "nothing satisfies all that is asked for: Cannot satisfy 'hpl@2.3' and 'hpl@2.2'; change one of them in "
        "spack_envs/ or in the system's overlay",
    ),
    (
        ("conflict.err",),
        "conflict",
        "nothing satisfies all that is asked for: cannot satisfy a requirement for package 'osu-micro-benchmarks'; "
        "change one of them in spack_envs/ or in the system's overlay",
    ),
    (
        ("no-version.out",),
        "conflict",
        "nothing satisfies all that is asked for: No version exists that satisfies these input specs: netpipe@5; "
        "change one of them in spack_envs/ or in the system's overlay",
    ),
    (
        ("external-missing.err",),
        "conflict",
        "nothing satisfies all that is asked for: HPC-X is not built by Spack; name its prefix in "
        "packages:hpcx-mpi:externals of the site's overlay; change one of them in spack_envs/ or in the system's "
        "overlay",
    ),
    (
        ("deprecated-refused.err",),
        "conflict",
        "nothing satisfies all that is asked for: Spack refuses MVAPICH2, whose versions are all deprecated, where "
        "config:deprecated is not true; change one of them in spack_envs/ or in the system's overlay",
    ),
    (
        ("package-api.out",),
        "api",
        "the package repository /opt/railyard/envs/repo/spack_repo/railyard does not fit this Spack: Package API "
        "v9.9 is not supported by this version of Spack (must be between v1.0 and v2.5); "
        f"{BOOTSTRAP}, which takes Spack and its packages at commits that fit",
    ),
    (
        ("missing-repo.err", "missing-package.err"),
        "repository",
        f"the package repository /opt/railyard/envs/no-such-repo is missing; bring it there, or {BOOTSTRAP}",
    ),
    (
        ("missing-package.err",),
        "no package",
        "no package repository has netpipe; is spack-packages there (railyard spack bootstrap), and spack_envs/repo "
        "whole?",
    ),
]


def recorded_text(names: tuple[str, ...]) -> str:
    return "".join((RECORDED / name).read_text(encoding="utf-8") for name in names)


def cause_of(text: str) -> str | None:
    return next((cause.name for cause in CAUSES if cause.pattern.search(text)), None)


@pytest.mark.parametrize(("files", "cause", "sentence"), SENTENCES, ids=[files[0] for files, *_ in SENTENCES])
def test_what_the_real_spack_printed(files: tuple[str, ...], cause: str, sentence: str) -> None:
    text = recorded_text(files)
    assert (cause_of(text), explain(text, "install")) == (cause, f"spack install: {sentence}")


def test_a_failed_build_ends_with_twenty_lines_of_its_log(tmp_path: Path) -> None:
    log = tmp_path / "netpipe.log"
    log.write_text("".join(f"line {n}\n" for n in range(1, 31)), encoding="utf-8")
    stage = "/tmp/user/spack-stage/spack-stage-netpipe-3.7.2-55f7fkc7vdqboidolspimch55dijsyyc-xnq7k1gp.log"
    text = recorded_text(("build-failed.out", "build-failed.err"))
    assert stage in text
    tail = "".join(f"\n    line {n}" for n in range(11, 31))
    assert explain(text.replace(stage, str(log)), "install") == (
        f"spack install: the build of netpipe@3.7.2 failed in its phase build; its log is {log}, which ends with:{tail}"
    )


def test_the_real_log_is_quoted_as_it_is(tmp_path: Path) -> None:
    log = RECORDED / "build-failed.log"
    text = f"==> Error: The following packages failed to install:\nnetpipe@3.7.2/{'a' * 32}: {log}\n"
    found = explain(text, "install").splitlines()
    assert found[0] == (
        f"spack install: the build of netpipe@3.7.2 failed in its phase build; its log is {log}, which ends with:"
    )
    assert found[-1] == "        /usr/bin/make MPICC=/opt/railyard/.stacks/openmpi/bin/mpicc mpi tcp"


def test_the_compilers_first_error_comes_first_if_it_stands_above_the_end(tmp_path: Path) -> None:
    log = tmp_path / "imb.log"
    missing = "helpers/helper_IMB_functions.h:614:58: error: 'MPI_SEEK_SET' was not declared in this scope"
    lines = [f"  {missing}", "make: *** [Makefile:52: IMB-IO] Error 2", *(f"a warning {n}" for n in range(30))]
    log.write_text("\n".join(lines), encoding="utf-8")
    text = f"==> Error: The following packages failed to install:\nimb@2021.7/{'a' * 32}: {log}\n"
    assert explain(text, "install").startswith(
        f"spack install: the build of imb@2021.7 failed: {missing}; its log is {log}, which ends with:\n"
        "    a warning 10\n"
    )


def test_of_two_failed_builds_the_first_is_told_and_the_other_counted() -> None:
    text = recorded_text(("build-failed-two.out", "build-failed-two.err"))
    log = "/tmp/user/spack-stage/spack-stage-hpcc-1.5.0-6auks6l3ipznzascxf2xytyh5z3zhw7o-0yqvuwm4.log"
    assert explain(text, "install") == (
        f"spack install: the build of hpcc@1.5.0 (and of 1 more) failed in its phase build; its log is {log}"
    )


@pytest.mark.parametrize("word", ["Permission denied", "deprecated", "Function not implemented", "not writable"])
def test_what_a_compiler_says_is_not_spacks_own_reason(word: str) -> None:
    text = (
        f"> foo.c:1: warning: {word} [-W]\n==> Error: The following packages failed to install:\na@1/{'b' * 32}: /l\n"
    )
    assert cause_of(text) == "build"


MADE = [
    (
        "==> Error: [Errno 13] Permission denied: '/opt/software/bin'\n",
        "[Errno 13] Permission denied: '/opt/software/bin'; the install tree and its parents must be writable where "
        "you build: choose another in the overlay (config:install_tree:root)",
    ),
    (
        "==> Error: [Errno 37] No locks available\n",
        "[Errno 37] No locks available; the install tree's file system has no file locks: choose another, or set "
        "config:locks in the overlay and never build twice at once",
    ),
    ("==> Error: something new\nmore\n", "something new"),
    ("first\n\nlast words\n", "last words"),
    ("", "it failed and printed nothing"),
]


@pytest.mark.parametrize(("text", "sentence"), MADE)
def test_what_was_not_recorded(text: str, sentence: str) -> None:
    assert explain(text, "gc") == f"spack gc: {sentence}"


@pytest.mark.parametrize(
    ("text", "everywhere"),
    [
        ("==> Error: [Errno 28] No space left on device\n", True),
        ("FetchError: All fetchers failed for spack-stage-npb-3.4.3-r7sg7nxabcdefghijklmnopqrstuvwxy\n", True),
        ('cannot bootstrap the "clingo" Python module\n', True),
        ("==> Error: No version exists that satisfies these input specs:\n    netpipe@5\n", False),
        (f"packages failed to install:\nhpl@2.3/{'a' * 32}: /tmp/hpl.log\n", False),
        ("==> Error: something new\n", False),
    ],
)
def test_a_cause_is_of_this_host_or_of_one_environment(text: str, everywhere: bool) -> None:
    assert holds_everywhere(text) is everywhere


def test_every_cause_is_shown_by_a_case() -> None:
    shown = {cause for _, cause, _ in SENTENCES} | {cause_of(text) for text, _ in MADE} | {"build"}
    assert {cause.name for cause in CAUSES} - shown == set()

"""A Spack that the site has already: upstreams, included files, local scopes, reuse; and nothing of it silently."""

from pathlib import Path

import pytest

from railyard.base.errors import InputError, SetupError
from railyard.cli.main import main
from railyard.job.provenance import spack_provenance
from railyard.provision.spack import overlay
from railyard.provision.spack.build import ensure
from railyard.provision.spack.request import ready
from railyard.provision.spack.sources import write
from tests.made.fake_spack import digest
from tests.made.spack_site import OVERLAY, MadeSite

FILE = "systems/spack/made.yaml"
#: A name of 300 signs gives the kind of error that a closed folder gives, to root too.
CLOSED = f"/{'x' * 300}/there"
CARRIERS = {"openmpi": ("5.0.10", "libmpi.so.40"), "ucx": ("1.20.1", "libucp.so.0")}
COMMAND = "railyard spack install --system made --stack openmpi"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return tmp_path / "site-spack/opt"


@pytest.fixture
def upstream(site: MadeSite, tree: Path) -> MadeSite:
    """The site with an upstream that has Open MPI and UCX, of which the environment is made."""
    trees = site.has_tree(tree, CARRIERS)
    site.write(FILE, f"upstreams: {{site: {{install_tree: {tree}}}}}\nconcretizer: {{reuse: true}}\n")
    site.behave(trees=trees, libraries={"libucp.so.0": f"{tree}/ucx-1.20.1-{digest('ucx')}/lib/libucp.so.0"})
    return site


def sentence(site: MadeSite) -> str:
    with pytest.raises(InputError) as error:
        site.request().sources()
    return str(error.value)


def test_packages_of_an_upstream_are_named_at_the_build_and_in_the_record(upstream: MadeSite, tree: Path) -> None:
    said: list[str] = []
    built = ensure(upstream.request(), said.append)
    prefixes = {name: f"{tree}/{name}-{version}-{digest(name)}" for name, (version, _) in CARRIERS.items()}
    shorts = {name: f"{name}@{version} /{digest(name)[:7]}" for name, (version, _) in CARRIERS.items()}
    for name, prefix in prefixes.items():
        assert f"spack:   {shorts[name]} is of the upstream site: {prefix}" in said
    recorded = spack_provenance(built)
    assert recorded["carriers"] == [f"{shorts[name]} in {prefixes[name]}, of the upstream site" for name in CARRIERS]
    assert recorded["reused"] == [f"{shorts[name]} of the upstream site" for name in CARRIERS]
    assert recorded["mpi"] == f"openmpi@5.0.10 in {prefixes['openmpi']}"
    assert "configuration" not in recorded


def test_a_reused_mpi_without_what_the_environment_prefers_is_named(upstream: MadeSite, tree: Path) -> None:
    """Spack 1.2.0.dev0 took an upstream's MPICH with device=ch3 netmod=tcp, and did not say so."""
    variants = {"openmpi": {"fabrics": ["psm2"], "schedulers": ["slurm"], "wrapper-rpath": True}, "ucx": {}}
    trees = {
        name: {"version": version, "tree": str(tree), "variants": variants[name]}
        for name, (version, _) in CARRIERS.items()
    }
    upstream.behave(trees=trees, libraries={"libucp.so.0": f"{tree}/ucx-1.20.1-{digest('ucx')}/lib/libucp.so.0"})
    wanted = "    openmpi: {prefer: ['@5.0.11', fabrics=ucx schedulers=slurm +wrapper-rpath]}\n"
    upstream.edit("spack_envs/openmpi/spack.yaml", "  view: false\n", f"{wanted}  view: false\n")
    said: list[str] = []
    ensure(upstream.request(), said.append)
    assert [line for line in said if "prefers" in line] == [
        f"spack:   openmpi@5.0.10 /{digest('openmpi')[:7]}: it has fabrics=psm2, and spack_envs/openmpi/spack.yaml:8 "
        "prefers fabrics=ucx; if your fabric needs that, ask for it in the overlay, packages: openmpi: require"
    ]


def test_a_tree_that_no_file_names_is_named_by_its_folder(site: MadeSite, tree: Path) -> None:
    site.behave(trees=site.has_tree(tree, CARRIERS))
    built = ensure(site.request(), lambda line: None)
    assert {each.origin for each in built.carriers} == {f"of the upstream {tree}"}


def test_a_package_from_a_build_cache_is_told_from_one_that_was_built(site: MadeSite) -> None:
    ensure(site.request(), lambda line: None)
    prefix = next((site.home / ".railyard/spack/opt").glob("intel-mpi-benchmarks-*"))
    (prefix / ".spack").mkdir()
    (prefix / ".spack/binary_distribution").touch()
    said: list[str] = []
    built = ensure(site.request(), said.append, again=False)
    assert {each.name: each.origin for each in built.packages if each.root}["intel-mpi-benchmarks"] == "built here"
    next(site.request().place.glob("*/railyard.json")).unlink()
    origins = {each.name: each.origin for each in ensure(site.request(), said.append).packages}
    assert origins == {
        "openmpi": "external", "gcc": "external", "osu-micro-benchmarks": "built here",
        "intel-mpi-benchmarks": "from a build cache",
    }  # fmt: skip
    assert "spack:   1 other package from a build cache" in said


def test_a_library_that_the_lock_does_not_name_is_refused(upstream: MadeSite, tree: Path) -> None:
    trees = {name: {"version": version, "tree": str(tree)} for name, (version, _) in CARRIERS.items()}
    upstream.behave(trees=trees, libraries={"libucp.so.0": "/usr/lib/x86_64-linux-gnu/libucp.so.0"})
    with pytest.raises(SetupError) as error:
        ensure(upstream.request(), lambda line: None)
    short = f"ucx@1.20.1 /{digest('ucx')[:7]}"
    assert (
        f"is linked to /usr/lib/x86_64-linux-gnu/libucp.so.0, expected libucp.so.0 of {short} in {tree}/ucx-1.20.1-"
        f"{digest('ucx')}, which the lock names; check what its package depends on in spack_envs/ and in the overlay"
    ) in str(error.value)
    assert ready(upstream.request()) is None


def test_a_library_of_a_family_that_the_lock_lacks_is_refused(upstream: MadeSite, tree: Path) -> None:
    trees = {"openmpi": {"version": "5.0.10", "tree": str(tree)}}
    other = f"{tree}/libfabric-2.5.1-{'a' * 32}/lib/libfabric.so.1"
    upstream.behave(trees=trees, libraries={"libfabric.so.1": other})
    with pytest.raises(SetupError) as error:
        ensure(upstream.request(), lambda line: None)
    assert f"is linked to {other}, expected no libfabric: no package of the lock has it; " in str(error.value)


def test_an_upstream_package_that_is_gone_is_said_before_a_run(upstream: MadeSite, tree: Path) -> None:
    ensure(upstream.request(), lambda line: None)
    place = tree / f"ucx-1.20.1-{digest('ucx')}"
    place.rename(tree / "moved")
    with pytest.raises(SetupError) as error:
        ready(upstream.request())
    assert str(error.value) == (
        f"{place}: ucx@1.20.1 /{digest('ucx')[:7]} of the upstream site is gone; the environment of openmpi on made is "
        f"not what was built: type {COMMAND} --again"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("upstreams: [a]\n", "1: upstreams: found a list, expected names of upstreams, each with its install_tree"),
        (
            "upstreams:\n  site: {tree: /opt}\n",
            "2: upstreams.site: found a mapping, expected install_tree: the folder where that Spack installs",
        ),
        (
            "upstreams:\n  site:\n    install_tree: $spack/opt\n",
            '3: upstreams.site.install_tree: found "$spack/opt", expected a path on this host, from / or {home} on',
        ),
        (
            "upstreams:\n  site:\n    install_tree: /nowhere/opt\n",
            "3: upstreams.site.install_tree: found /nowhere/opt, which is not on this host, expected the install tree "
            "of a Spack that has installed something; its own Spack prints it: spack config get config (install_tree: "
            "root)",
        ),
        (
            'upstreams:\n  site:\n    install_tree: "{home}/mpi"\n',
            "3: upstreams.site.install_tree: found HOME/mpi, which has no .spack-db/index.json, expected the install "
            "tree of a Spack that has installed something; its own Spack prints it: spack config get config "
            "(install_tree: root)",
        ),
        ("include: /etc/spack\n", '1: include: found "/etc/spack", expected a list of paths'),
        (
            "include:\n- https://example.org/packages.yaml\n",
            '2: include[0]: found "https://example.org/packages.yaml", expected the path of a file or a folder on this '
            "host, from / or {home} on; without variables, conditions or addresses",
        ),
        (
            "include:\n- {path: /etc/spack, optional: true}\n",
            "2: include[0]: found a mapping, expected the path of a file or a folder on this host, from / or {home} "
            "on; without variables, conditions or addresses",
        ),
        (
            "include:\n- /nowhere/packages.yaml\n",
            "2: include[0]: found /nowhere/packages.yaml, which is not on this host, expected a file of Spack's "
            "configuration, or a folder of them",
        ),
        (
            f"include:\n- {CLOSED}\n",
            f"2: include[0]: found {CLOSED}, which cannot be looked at on this host (file name too long), expected a "
            "file of Spack's configuration, or a folder of them",
        ),
        (
            f"upstreams:\n  site:\n    install_tree: {CLOSED}\n",
            f"3: upstreams.site.install_tree: found {CLOSED}, which cannot be looked at on this host (file name too "
            "long), expected the install tree of a Spack that has installed something; its own Spack prints it: spack "
            "config get config (install_tree: root)",
        ),
        (
            'include:\n- "{home}/mpi"\n',
            "2: include[0]: found HOME/mpi, which has no *.yaml, expected a file of Spack's configuration, or a folder "
            "of them",
        ),
        (
            "env_vars:\n  set:\n    UCX_TLS: rc\n",
            '3: env_vars.set.UCX_TLS: found "UCX_TLS", which decides how messages go, expected it under env of the '
            "stack in the system's file; Spack sets env_vars only where a shell activates the environment, and no run "
            "does",
        ),
        (
            "env_vars:\n  prepend_path:\n    LD_LIBRARY_PATH: /opt/lib\n",
            '3: env_vars.prepend_path.LD_LIBRARY_PATH: found "LD_LIBRARY_PATH", which decides how messages go, '
            "expected it under env of the stack in the system's file; Spack sets env_vars only where a shell activates "
            "the environment, and no run does",
        ),
        (
            "concretizer: {unify: false}\n",
            "1: concretizer.unify: found false, but spack_envs/common/concretizer.yaml:1 says true, expected what the "
            "environment leaves open; an overlay only adds; change one of the two",
        ),
    ],
)  # fmt: skip
def test_what_is_refused_names_file_line_and_field(site: MadeSite, text: str, said: str) -> None:
    site.write("spack_envs/common/concretizer.yaml", "concretizer: {unify: true, reuse: false}\n")
    site.write(FILE, text)
    assert sentence(site) == f"{FILE}:{said}".replace("HOME", str(site.home))


@pytest.mark.parametrize("choice", ["true", "dependencies", "{roots: false, from: [{type: buildcache}]}"])
def test_a_site_may_choose_to_reuse_what_is_installed(site: MadeSite, choice: str) -> None:
    site.write("spack_envs/common/concretizer.yaml", "concretizer: {unify: true, reuse: false}\n")
    before = site.request().sources().key()
    site.write(FILE, f"{OVERLAY}concretizer: {{reuse: {choice}}}\n")
    assert site.request().sources().key() != before


def test_included_files_are_the_weakest_and_belong_to_key_and_record(site: MadeSite, tmp_path: Path) -> None:
    # As sites write it: words and aliases that our own files may not have.
    theirs = tmp_path / "theirs/packages.yaml"
    theirs.parent.mkdir()
    theirs.write_text(
        "packages:\n  all: {target: [zen4]}\n  slurm: &s\n    buildable: False\n  pmix: *s\n", encoding="utf-8"
    )
    before = site.request().sources().key()
    site.write(FILE, f"{OVERLAY}include: ['{theirs}']\n")
    sources = site.request().sources()
    place = write(sources, tmp_path / "environment", tmp_path / "opt")
    manifest = (place / "spack.yaml").read_text(encoding="utf-8")
    assert f"include:\n  - ../overlay.yaml\n  - ../common\n  - {theirs}\n" in manifest
    assert "include:" not in (place.parent / "overlay.yaml").read_text(encoding="utf-8")
    assert sources.target.name == "x86_64_v3"  # the overlay's
    key = sources.key()
    theirs.write_text(theirs.read_text(encoding="utf-8") + "  ucx: {require: ~verbs}\n", encoding="utf-8")
    assert len({before, key, site.request().sources().key()}) == 3
    (line,) = ensure(site.request(), lambda line: None).configuration
    assert line.startswith(f"{theirs} (included, sha256 ")


@pytest.mark.parametrize("key", ["include", "include:"])  # in a file of Spack's, two colons replace
def test_an_included_file_that_includes_others_is_refused(site: MadeSite, tmp_path: Path, key: str) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/include.yaml").write_text(f"{key}:\n- /etc/other\n", encoding="utf-8")
    site.write(FILE, f"{OVERLAY}include: ['{tmp_path}/theirs']\n")
    assert sentence(site) == (
        f"{tmp_path}/theirs/include.yaml:1: {key}: found further files, expected a file that includes no others, "
        "since those would be in no record; name them under include of the system's overlay"
    )


def test_an_environment_is_no_file_to_include(site: MadeSite, tmp_path: Path) -> None:
    (tmp_path / "spack.yaml").write_text("spack:\n  include: [/etc/other]\n", encoding="utf-8")
    site.write(FILE, f"{OVERLAY}include: ['{tmp_path}/spack.yaml']\n")
    assert sentence(site) == (
        f"{tmp_path}/spack.yaml:1: spack: found an environment, which may have specs and further files, expected a "
        "file with sections of Spack's configuration, such as packages; write those into a file"
    )


@pytest.mark.parametrize("entry", ["{require: 5}", "{require: [[zlib]]}", "{target: 5}", "{require: &a [*a]}"])
def test_an_entry_that_spack_would_refuse_is_left_to_it(site: MadeSite, tmp_path: Path, entry: str) -> None:
    (tmp_path / "packages.yaml").write_text(f"packages: {{all: {entry}}}\n", encoding="utf-8")
    site.write(FILE, f"include: ['{tmp_path}/packages.yaml']\n")
    assert site.request().sources().target.name


def test_neither_local_scope_is_used_unless_the_system_says_so(
    site: MadeSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for scope, (variable, _) in overlay.SCOPES.items():
        (tmp_path / scope).mkdir()
        (tmp_path / scope / "packages.yaml").write_text("packages: {hwloc: {buildable: false}}\n", encoding="utf-8")
        monkeypatch.setenv(variable, str(tmp_path / scope))
    alone = ensure(site.request(), lambda line: None)
    assert alone.configuration == ()
    assert {call["SPACK_DISABLE_LOCAL_CONFIG"] for call in site.calls} == {"1"}
    site.forget_calls()
    used = ensure(site.request(scopes=("user",)), lambda line: None)
    assert used.key != alone.key
    (line,) = used.configuration
    assert line.startswith(f"{tmp_path}/user/packages.yaml (scope user, sha256 ")
    for call in site.calls:
        assert call["SPACK_DISABLE_LOCAL_CONFIG"] is None
        assert call["SPACK_USER_CONFIG_PATH"] == f"{tmp_path}/user"
        assert not Path(call["SPACK_SYSTEM_CONFIG_PATH"]).exists()
    # What changes there is another environment.
    (tmp_path / "user/packages.yaml").write_text("packages: {}\n", encoding="utf-8")
    assert ready(site.request(scopes=("user",))) is None
    assert ready(site.request()) == alone


def test_lint_and_doctor_read_what_spack_is_given(site: MadeSite, capsys: pytest.CaptureFixture[str]) -> None:
    # What another host has is no mistake of the file.
    site.write(FILE, "upstreams:\n  site: {install_tree: /nowhere/opt}\n")
    main(["lint", "--system", "made"])
    out = capsys.readouterr().out
    said = "systems/spack/made.yaml:2: upstreams.site.install_tree: found /nowhere/opt, which is not on this host"
    assert f"made: remark: {said}" in out and ": 0 files refused, " in out
    assert main(["doctor", "--system", "made"]) == 1
    assert f"problem: login: {said}" in capsys.readouterr().out
    site.write(FILE, "env_vars:\n  set: {UCX_TLS: rc}\n")
    assert main(["lint", "--system", "made"]) == 2
    (line,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("railyard: systems/spack"))
    assert "env_vars.set.UCX_TLS: " in line

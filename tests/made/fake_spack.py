"""A fake Spack: logs its calls, prints small outputs like the real one's, and fails as a test demands.

Called as ``fake_spack.py FOLDER WORDS…``; FOLDER has ``behaviour.json`` (spack_site.py writes it); ``calls`` gets one
line per call. It installs scripts, and beside each script the text that the fake ``ldd`` prints about it.
"""

import hashlib
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import yaml

#: Package: version, variants, and the executables that its install makes.
PACKAGES: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "osu-micro-benchmarks": (
        "7.4",
        {"cuda": False},
        (
            *(f"libexec/osu-micro-benchmarks/mpi/pt2pt/osu_{name}" for name in ("latency", "bw", "bibw")),
            *(f"libexec/osu-micro-benchmarks/mpi/pt2pt/osu_{name}" for name in ("mbw_mr", "multi_lat")),
            *(f"libexec/osu-micro-benchmarks/mpi/collective/osu_{name}" for name in ("allreduce", "alltoall")),
            *(f"libexec/osu-micro-benchmarks/mpi/collective/osu_{name}" for name in ("bcast", "barrier")),
            *(f"libexec/osu-micro-benchmarks/mpi/one-sided/osu_{name}_bw" for name in ("put", "get")),
            *(f"libexec/osu-micro-benchmarks/mpi/one-sided/osu_{name}_latency" for name in ("put", "get")),
        ),
    ),
    "intel-mpi-benchmarks": ("2021.7", {"mpi1": True}, ("bin/IMB-MPI1",)),
    "npb": (
        "3.4.3",
        {"implementation": "mpi", "classes": ["S", "W"]},
        tuple(f"bin/{name}.S.x" for name in ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp")),
    ),
    "perftest": (
        "25.01.0-0.80",
        {},
        tuple(f"bin/ib_{verb}_{what}" for verb in ("send", "write", "read") for what in ("bw", "lat")),
    ),
}
NOTED = (
    *("SPACK_ENV", "SPACK_DISABLE_LOCAL_CONFIG", "RAILYARD_SPACK_WITH"),
    *("SPACK_USER_CONFIG_PATH", "SPACK_SYSTEM_CONFIG_PATH"),
)
#: What a stack's benchmarks are linked to; verbs has no MPI, and the library of its environment provides none.
SONAMES = {"openmpi": "libmpi.so.40", "mpich": "libmpi.so.12", "rdma-core": "libibverbs.so.1"}


def main(folder: Path, words: list[str]) -> int:
    told = json.loads((folder / "behaviour.json").read_text(encoding="utf-8"))
    if words == ["--version"]:
        return answer(folder, told, "version", words, told.get("version", "1.2.0.dev0 (made)"))
    place = Path(words[1]) if words[0] == "-e" else Path()
    command = words[2] if words[0] == "-e" else words[0]
    with (folder / "calls").open("a", encoding="utf-8") as stream:
        stream.write(json.dumps({"words": words, **{name: os.environ.get(name) for name in NOTED}}) + "\n")
    if command == "install":
        Path("configure.dropped").touch()
    while command in told.get("held", []) and not (folder / "go").exists():
        time.sleep(0.02)
    failing = told.get("fail", {}) | told.get("fail_for", {}).get(place.name, {})
    if command in failing:
        sys.stderr.write(failing[command])
        return 1
    done = {"concretize": concretize, "install": install, "find": find, "external": external, "mirror": mirror}
    if command in done:
        done[command](told, place, words)
    return 0


def answer(folder: Path, told: dict[str, Any], command: str, words: list[str], text: str) -> int:
    with (folder / "calls").open("a", encoding="utf-8") as stream:
        stream.write(json.dumps({"words": words, **{name: os.environ.get(name) for name in NOTED}}) + "\n")
    print(text)
    return 0


def concretize(told: dict[str, Any], place: Path, words: list[str]) -> None:
    if (place / "spack.lock").is_file():
        return
    mpi = told.get("mpi") or {"verbs": "rdma-core"}.get(place.name, place.name)
    provided = [] if mpi == "rdma-core" else ["mpi"]
    overlay = yaml.safe_load((place.parent / "overlay.yaml").read_text(encoding="utf-8"))
    target = overlay["packages"]["all"]["target"][0]
    specs: dict[str, Any] = {}
    # A test may have the MPI, and libraries below it, installed in trees (``trees``), such as an upstream's.
    mpi_hash = digest(mpi) if mpi in told.get("trees", {}) else add_external(specs, overlay, mpi)
    for name, tree in told.get("trees", {}).items():
        specs[digest(name)] = spec(name, tree["version"], digest(name), target, tree.get("variants", {}), None)
    compiler = digest("gcc")
    specs[compiler] = spec("gcc", "12.2.0", compiler, "x86_64", {}, "/usr")
    roots = []
    for name in told.get("packages", ["osu-micro-benchmarks", "intel-mpi-benchmarks"]):
        version, variants, _ = PACKAGES[name]
        version = told.get("versions", {}).get(name, version)
        key = digest(name, version, mpi_hash, target)
        specs[key] = spec(name, version, key, target, {**variants, **told.get("variants", {}).get(name, {})}, None)
        specs[key]["dependencies"] = [
            {"name": mpi, "hash": mpi_hash, "parameters": {"deptypes": ["build", "link"], "virtuals": provided}},
            {"name": "gcc", "hash": compiler, "parameters": {"deptypes": ["build"], "virtuals": ["c"]}},
        ]
        roots.append({"hash": key, "spec": name})
    lock = {
        "_meta": {"file-type": "spack-lockfile", "lockfile-version": 6, "specfile-version": 5},
        "spack": {"version": "1.2.0.dev0", "type": "made"},
        "roots": roots,
        "concrete_specs": specs,
    }
    (place / "spack.lock").write_text(json.dumps(lock), encoding="utf-8")
    print(f"==> Concretized {len(roots)} specs:")


def add_external(specs: dict[str, Any], overlay: dict[str, Any], mpi: str) -> str:
    external = overlay["packages"][mpi]["externals"][0]
    found = digest(mpi, external["spec"], external["prefix"])
    specs[found] = spec(mpi, external["spec"].split("@")[1].split()[0], found, "x86_64", {}, external["prefix"])
    return found


def spec(
    name: str, version: str, key: str, target: str, variants: dict[str, Any], prefix: str | None
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": name, "version": version, "hash": key, "parameters": {"cflags": [], **variants},
        "arch": {"platform": "linux", "platform_os": "debian12", "target": target},
    }  # fmt: skip
    return found if prefix is None else {**found, "external": {"path": prefix, "module": None}}


def digest(*words: str) -> str:
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:32]


def tree(place: Path) -> Path:
    overlay = yaml.safe_load((place.parent / "overlay.yaml").read_text(encoding="utf-8"))
    return Path(overlay["config"]["install_tree"]["root"])


def prefix_of(told: dict[str, Any], place: Path, found: dict[str, Any]) -> Path:
    external, other = found.get("external"), told.get("trees", {}).get(found["name"])
    if external:
        return Path(external["path"])
    return Path(other["tree"] if other else tree(place)) / f"{found['name']}-{found['version']}-{found['hash']}"


def install(told: dict[str, Any], place: Path, words: list[str]) -> None:
    lock = json.loads((place / "spack.lock").read_text(encoding="utf-8"))
    specs = lock["concrete_specs"]
    for root in lock["roots"]:
        found = specs[root["hash"]]
        prefix = prefix_of(told, place, found)
        if prefix.is_dir() and "--overwrite" not in words:
            continue  # like the real one: what its database has counts as installed, even if the files are gone
        shutil.rmtree(prefix, ignore_errors=True)
        mpi = next(specs[each["hash"]] for each in found["dependencies"] if "link" in each["parameters"]["deptypes"])
        soname = SONAMES[told.get("linked", mpi["name"])]
        library = Path(told.get("linked_prefix", prefix_of(told, place, mpi))) / "lib" / soname
        for path in PACKAGES[found["name"]][2]:
            if path.split("/")[-1].split(".")[0] in told.get("leave_out", []):
                continue
            program = prefix / path
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(told.get("program", "#!/bin/sh\necho made\n"), encoding="utf-8")
            program.chmod(0o755)
            said = f"\tlinux-vdso.so.1 (0x00007ffd)\n\t{soname} => {library} (0x00007f4a)\n"
            said += "".join(f"\t{name} => {path} (0x00007f4b)\n" for name, path in told.get("libraries", {}).items())
            if not told.get("static"):
                Path(f"{program}.ldd").write_text(said, encoding="utf-8")
        print(f"[+] {found['hash'][:7]} {found['name']}@{found['version']} {prefix} (1s)")


def find(told: dict[str, Any], place: Path, words: list[str]) -> None:
    lock = json.loads((place / "spack.lock").read_text(encoding="utf-8"))
    for key, found in lock["concrete_specs"].items():
        print(f"{key} {prefix_of(told, place, found)}")


def external(told: dict[str, Any], place: Path, words: list[str]) -> None:
    manifest = place / "spack.yaml"
    data = yaml.safe_load(manifest.read_text(encoding="utf-8"))
    data["spack"]["packages"] = told.get("externals", {})
    manifest.write_text(yaml.safe_dump(data), encoding="utf-8")


def mirror(told: dict[str, Any], place: Path, words: list[str]) -> None:
    folder = Path(words[words.index("--directory") + 1])
    for root in json.loads((place / "spack.lock").read_text(encoding="utf-8"))["roots"]:
        (folder / "_source-cache").mkdir(parents=True, exist_ok=True)
        (folder / "_source-cache" / root["spec"]).write_text("source", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))

"""A Slurm of our own making: its clients answer within the test's process, and its jobs run on this machine.

``BED/state.json`` has its nodes and jobs. Time is the number of times that somebody asked for jobs (``ask`` below): a
job runs when it begins, and has ended at the next ask. So nothing here waits, and every test of it goes as fast as the
machine allows. The words and answers are those of Slurm 22.05, as far as they are used. What a job calls are programs
in ``BED/bin``: srun is this file.
"""

import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

#: MB/s of a healthy pair.
RATE = 11_800.0


def make(
    bed: Path, nodes: list[str], devices: list[str], busy: dict[str, int] | None = None, **planted: Any
) -> dict[str, str]:
    """Make a bed, and return the variables with which its jobs find their programs.

    ``busy`` says until which ask a node is busy. ``planted``: ``slow`` (node: share of the rate), ``dead`` (node: how
    its job ends: cut, exit, lost), ``drain`` (ask: node), ``no_arrays``, ``no_nodes`` and ``refused`` (what sbatch and
    scontrol do not do).
    """
    bed.mkdir(parents=True, exist_ok=True)
    state = {"asks": 0, "last": 0, "nodes": {node: {"state": "IDLE"} for node in nodes}, "jobs": []}
    state |= {"busy": busy or {}, "planted": planted, "devices": devices, "calls": []}
    _write(bed, state)
    folder = bed / "bin"
    folder.mkdir()
    programs = {
        "srun": f'exec {sys.executable} -S {__file__} {bed} "$@"',
        # show hostnames LIST
        "scontrol": "echo \"$3\" | tr , '\\n'",
        "module": ":",
    }
    for name, text in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def answer(bed: Path, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Return how a client ended, as the process of a real one."""
    state = state_of(bed)
    state["calls"].append(list(words))
    clients = {"sbatch": sbatch, "scontrol": scontrol, "squeue": squeue, "scancel": scancel}
    if words[0] not in clients:
        return subprocess.CompletedProcess(list(words), 127, "", f"{words[0]}: not found")
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = clients[words[0]](bed, state, list(words[1:]))
    _write(bed, state)
    return subprocess.CompletedProcess(list(words), code, out.getvalue(), err.getvalue())


def state_of(bed: Path) -> dict[str, Any]:
    """Return the state of a bed: ``jobs`` has what became of each, ``calls`` each call of a client in order."""
    found: dict[str, Any] = json.loads((bed / "state.json").read_text(encoding="utf-8"))
    return found


def change(bed: Path, **values: Any) -> None:
    """Change what is at the top of a bed's state."""
    _write(bed, state_of(bed) | values)


def sbatch(bed: Path, state: dict[str, Any], words: list[str]) -> int:
    script = words[-1]
    options = {}
    for line in Path(script).read_text(encoding="utf-8").splitlines():
        if line.startswith("#SBATCH --"):
            option, _, value = line.removeprefix("#SBATCH --").partition("=")
            options[option] = value
    if "array" in options and state["planted"].get("no_arrays"):
        print("sbatch: error: Batch job submission failed: Invalid job array specification", file=sys.stderr)
        return 1
    if state["planted"].get("refused"):
        print("sbatch: error: invalid account", file=sys.stderr)
        return 1
    state["last"] += 1
    number = state["last"]
    tasks = range(1, int(options["array"].partition("%")[0].partition("-")[2]) + 1) if "array" in options else [None]
    for task in tasks:
        state["jobs"].append({
            "id": number, "task": task, "state": "PENDING", "held": "hold" in options, "script": script,
            "nodes": options.get("nodelist", "").split(",") if "nodelist" in options else [],
            "at_once": int(options["array"].partition("%")[2]) if task else 0, "folder": options["chdir"],
            "after": options.get("dependency", "").partition(":")[2], "reason": "None",
        })  # fmt: skip
    print(number)
    return 0


def scontrol(bed: Path, state: dict[str, Any], words: list[str]) -> int:
    match words:
        case ["-o", "show", "job", job]:
            return ask(bed, state, job)
        case ["-o", "show", "nodes"]:
            for name, node in state["nodes"].items():
                reason = f" Reason={node['reason']} [root@2026-11-24T03:00:00]" if "reason" in node else ""
                print(f"NodeName={name} State={node['state']} Partitions=all{reason}")
        case ["update", job, nodes, tasks, required]:
            names = required.removeprefix("ReqNodeList=").split(",")
            if state["planted"].get("no_nodes") or not set(names) <= set(state["nodes"]):
                print(f"{job.partition('=')[2]}: Invalid node name specified", file=sys.stderr)
                return 1
            assert nodes == f"NumNodes={len(names)}-{len(names)}"
            assert tasks == f"NumTasks={len(names)}"
            _job(state, job.partition("=")[2])["nodes"] = names
        case ["hold" | "release", job]:
            found = _job(state, job)
            if found["state"] != "PENDING":
                print(f"{job}: Job is no longer pending execution", file=sys.stderr)
                return 1
            found["held"] = words[0] == "hold"
        case _:
            raise AssertionError(words)
    return 0


def squeue(bed: Path, state: dict[str, Any], words: list[str]) -> int:
    for node in state["busy"]:
        print(f"2026-11-24T05:00:00|{node}")
    return 0


def scancel(bed: Path, state: dict[str, Any], words: list[str]) -> int:
    for job in state["jobs"]:
        if str(job["id"]) == words[0] or f"{job['id']}_{job['task']}" == words[0]:
            if job["state"] in ("PENDING", "RUNNING"):
                job["state"] = "CANCELLED"
    return 0


def ask(bed: Path, state: dict[str, Any], asked: str) -> int:
    """Let time go on, then print the jobs of a number."""
    state["asks"] += 1
    state["busy"] = {node: until for node, until in state["busy"].items() if until > state["asks"]}
    gone = state["planted"].get("drain", {}).get(str(state["asks"]))
    if gone:
        state["nodes"][gone] = {"state": "IDLE+DRAIN", "reason": "bad cable"}
    for job in state["jobs"]:
        if job["state"] == "RUNNING":
            job["state"] = job.pop("ends", "COMPLETED")
    for job in state["jobs"]:
        if job["state"] == "PENDING" and job["nodes"] and not job["held"]:
            reason = why_not(state, job)
            if reason is None:
                begin(bed, state, job)
            else:
                job["reason"] = reason
    for job in state["jobs"]:
        if str(job["id"]) == asked or f"{job['id']}_{job['task']}" == asked:
            _print(job)
    return 0


def why_not(state: dict[str, Any], job: dict[str, Any]) -> str | None:
    """Return why a job that is not held cannot begin, None where it can."""
    running = [one for one in state["jobs"] if one["state"] == "RUNNING"]
    unfit = [node for node in job["nodes"] if state["nodes"][node]["state"] != "IDLE"]
    if unfit:
        return f"ReqNodeNotAvail,_UnavailableNodes:{','.join(unfit)}"
    if {node for one in (*running, {"nodes": state["busy"]}) for node in one["nodes"]} & set(job["nodes"]):
        return "Resources"
    if job["at_once"] and sum(one["id"] == job["id"] for one in running) >= job["at_once"]:
        return "JobArrayTaskLimit"
    before = [one for one in state["jobs"] if str(one["id"]) == job["after"]]
    return "Dependency" if any(one["state"] in ("PENDING", "RUNNING") for one in before) else None


def begin(bed: Path, state: dict[str, Any], job: dict[str, Any]) -> None:
    """Run a job, here and now."""
    job["state"], job["reason"] = "RUNNING", "None"
    dead = {node: how for node, how in state["planted"].get("dead", {}).items() if node in job["nodes"]}
    if "lost" in dead.values():
        job["ends"] = "NODE_FAIL"
    environment = {**os.environ, "SLURM_JOB_NODELIST": ",".join(job["nodes"]), "DEAD": ",".join(dead.values())}
    if job["task"]:
        environment["SLURM_ARRAY_TASK_ID"] = str(job["task"])
    _write(bed, state)
    done = subprocess.run(
        ["bash", job["script"]], cwd=job["folder"], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    job["printed"] = done.stdout + done.stderr
    if done.returncode and "ends" not in job:
        job["ends"] = "FAILED"


def srun(state: dict[str, Any], words: list[str]) -> int:
    """Stand for reader and pairs on all nodes of a job, in its group's folder."""
    if "lost" in os.environ["DEAD"]:
        timeout = os.getppid()
        os.kill(_parent(timeout), 9)  # group.sh, which would write its end
        os.kill(timeout, 9)
        return 1
    if "exit" in os.environ["DEAD"]:
        print("MPI_ABORT was invoked on rank 2", file=sys.stderr)
        return 13
    at = words.index("reader.sh") if "reader.sh" in words else next(n for n, w in enumerate(words) if "reader.sh" in w)
    folder, tag, meant, watched, _, _, name, rounds, size, window, repeats, warm_up, exchanges = words[at + 1 :]
    hosts = Path("hosts.txt").read_text(encoding="utf-8").split()
    lines = [line.split() for line in Path(rounds).read_text(encoding="utf-8").splitlines()]
    print(f"# railyard-pairs 1 {name}: {len(hosts)} ranks, {len(lines)} rounds")
    print(f"# size {size} window {window} repeats {repeats} warm-up {warm_up} exchanges {exchanges} of 8 bytes")
    for rank, host in enumerate(hosts):
        print(f"# rank {rank} on {host}")
    print("# round first second forward_MB/s backward_MB/s latency_us")
    counts = dict.fromkeys(hosts, 0)
    rows = 0
    for number, line in enumerate(lines, start=1):
        for pair in line:
            first, second = map(int, pair.split("-"))
            share = min(state["planted"].get("slow", {}).get(hosts[rank], 1.0) for rank in (first, second))
            share *= 1 - 0.002 * ((7 * number + first + 3 * second) % 5)
            print(f"{number} {first} {second} {RATE * share:.2f} {RATE * share - 3:.2f} 1.50")
            rows += 1
            for rank in (first, second):
                counts[hosts[rank]] += 1
    if "cut" not in os.environ["DEAD"]:
        print(f"# end: {rows} pairs")
    rails = meant.split(",")
    a_pair = int(size) * int(window) * int(repeats) / 1e6
    for host in hosts:
        moved = 1.03 * counts[host] * a_pair / len(rails)
        devices = dict.fromkeys(rails, moved) | dict.fromkeys(filter(None, watched.split(",")), 0.1)
        text = counters(host, devices, rails, tag)
        Path(folder, f"{host}.counters").write_text(text, encoding="utf-8")
    return 0


def counters(node: str, moved_mb: dict[str, float], meant: list[str], tag: str) -> str:
    """Return what the counter reader writes on a node whose devices moved so many MB each way."""
    lines = [f"railyard-counters 1 {tag}", f"node {node}", "first-by SLURM_LOCALID"]
    lines += [f"{'meant' if device in meant else 'watched'} {device}" for device in moved_mb]
    for when, at in (("before", 10), ("after", 15)):
        lines.append(f"{when} at {at}.00")
        for device, moved in moved_mb.items():
            count = 1000 + round(moved * 1e6) * (when == "after")
            lines += [f"{when} {device} carrier 1", f"{when} {device} rx_bytes {count}"]
            lines.append(f"{when} {device} tx_bytes {count}")
    return "\n".join([*lines, "end 0", ""])


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[1])


def _print(job: dict[str, Any]) -> None:
    task = f" ArrayJobId={job['id']} ArrayTaskId={job['task']}" if job["task"] else ""
    nodes = ",".join(job["nodes"]) if job["state"] != "PENDING" else "(null)"
    code = {"FAILED": "13:0", "NODE_FAIL": "1:0"}.get(job["state"], "0:0")
    reason = "JobHeldUser" if job["held"] else job["reason"]
    print(
        f"JobId={job['id']}{task} JobState={job['state']} Reason={reason} Restarts=0 ExitCode={code} NodeList={nodes}"
    )


def _job(state: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in state["jobs"] if f"{one['id']}_{one['task']}" == name)
    return found


def _write(bed: Path, state: dict[str, Any]) -> None:
    (bed / "state.json").write_text(json.dumps(state, indent=1), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(srun(state_of(Path(sys.argv[1])), sys.argv[2:]))

"""Flux on a testbed: one broker in each node, without systemd, and one of its queues for every job.

The brokers are one instance of all nodes. A job of ``flux batch`` gets an instance of its own, with a broker in each of
its nodes. Sources: flux-broker(1), flux-config-bootstrap(5), flux-config-resource(5) and flux-config-queues(5) of
flux-core 0.88.
"""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.parsers import flux as flux_records
from railyard.provision.testbed.boot import SEARCH_PATH
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.scheduler import BedScheduler, last_line
from railyard.provision.testbed.scripts import START, VARIABLES
from railyard.provision.testbed.spec import MANAGEMENT_DEVICE, TestbedSpec

QUEUE = "batch"
_CERTIFICATE = "curve.cert"
_URI = VARIABLES["flux"]["FLUX_URI"]


@dataclass(frozen=True, slots=True)
class FluxLayout:
    """What Flux is given about a testbed's nodes, all alike, and its queues: here the virtual cluster's.

    ``cores`` None means those that the host has, to which Flux binds processes. The first of the ``queues`` is the
    default. Each node has all ``properties``.
    """

    cores: int | None = None
    gpus: int = 0
    queues: tuple[str, ...] = (QUEUE,)
    properties: tuple[str, ...] = ()


def files(spec: TestbedSpec, folder: Path, layout: FluxLayout | None = None) -> dict[str, str]:
    """Return the texts of its files and the start script, by their names in ``folder``."""
    layout = layout or FluxLayout()
    return {
        "flux.toml": _configuration(spec, folder, layout.queues),
        "resources.json": _resources(spec, layout),
        START: _START,
    }


def _configuration(spec: TestbedSpec, folder: Path, queues: Sequence[str]) -> str:
    hosts = ", ".join(
        f'{{ host = "{node}", connect = "tcp://{spec.address(node, MANAGEMENT_DEVICE)}:%p" }}' for node in spec.nodes
    )
    return f"""\
[bootstrap]
curve_cert = "{folder / _CERTIFICATE}"
default_port = 8050
default_bind = "tcp://{MANAGEMENT_DEVICE}:%p"
hosts = [{hosts}]
[resource]
path = "{folder / "resources.json"}"
# Each node sees all processors of the host, whatever it is given.
noverify = true
{"".join(f"[queues.{queue}]{chr(10)}" for queue in queues)}\
[policy.jobspec.defaults.system]
queue = "{queues[0]}"
"""


def _resources(spec: TestbedSpec, layout: FluxLayout) -> str:
    """Return the nodes, cores and GPUs in Flux's form "R" (RFC 20)."""
    ranks, cores = f"0-{len(spec.nodes) - 1}", layout.cores or len(os.sched_getaffinity(0))
    children = {"core": f"0-{cores - 1}", **({"gpu": f"0-{layout.gpus - 1}"} if layout.gpus else {})}
    execution = {
        "R_lite": [{"rank": ranks, "children": children}],
        "starttime": 0.0,
        "expiration": 0.0,
        "nodelist": list(spec.nodes),
        **({"properties": dict.fromkeys(layout.properties, ranks)} if layout.properties else {}),
    }
    return json.dumps({"version": 1, "execution": execution}) + "\n"


# A broker is ready when it answers on its socket; only the first one starts the script rc1, which starts the scheduler.
# Named queues are stopped until somebody starts them.
_START = f"""\
#!/bin/sh
# start NODE FIRST: Flux's broker in this node; on the first one, start the queues
set -eu
here=$(cd "${{0%/*}}" && pwd -P)
rm -rf /run/flux
mkdir -p /run/flux
setsid flux broker --config-path="$here/flux.toml" -Slocal-uri={_URI} -Srundir=/run/flux -Sstatedir=/run/flux \\
    -Sbroker.rc2_none </dev/null >"$here/log/broker.$1.log" 2>&1 &
broker=$!
[ "$1" = "$2" ] || exit 0
FLUX_URI={_URI}
export FLUX_URI
until flux queue start --quiet --all 2>/dev/null; do
    kill -0 $broker 2>/dev/null || {{ cat "$here/log/broker.$1.log"; exit 1; }}
    sleep 0.1
done
"""


def _why_not_ready(bed: Testbed) -> str:
    said = FLUX.ask(bed, "flux", "resource", "status", "-n", "-o", flux_records.NODES_FORMAT)
    if said.returncode:
        return last_line(said.stderr)
    return ", ".join(f"{node} is {why}" for node, why in flux_records.unfit_nodes(said.stdout))


def _make_certificate(folder: Path) -> None:
    words = ["flux", "keygen", str(folder / _CERTIFICATE)]
    done = subprocess.run(words, capture_output=True, text=True, env={"PATH": SEARCH_PATH}, check=False)
    if done.returncode:
        raise SetupError(f"testbed: flux keygen failed: {last_line(done.stderr)}")


FLUX = BedScheduler(
    name="flux",
    title="Flux",
    programs=("flux",),
    install="build flux-core (github.com/flux-framework/flux-core), and put its bin on PATH; Debian has no package",
    clients=("flux",),
    daemons=("flux-broker-0", "flux-broker", "flux-shell"),
    each=("flux-broker",),
    job_variable="FLUX_JOB_ID",
    files=files,
    why_not_ready=_why_not_ready,
    inside="FLUX_ENCLOSING_ID",
    prepare=_make_certificate,
)

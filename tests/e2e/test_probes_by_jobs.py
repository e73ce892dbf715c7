"""A run of real ReFrame with our stand-ins for Slurm's programs: what is submitted after a failure, and what is blamed.

Every node is this machine: `srun` gives each its name. The benchmark is a script that fails, and shows n2 as slow when
its rail is measured alone. Nothing is measured and no cluster is up.
"""

from pathlib import Path

import pytest

from railyard.verdict.wording import NOBODY_BLAMED, WITH_EVERY
from tests.e2e.conftest import RAILYARD, Ran, VirtualSite, make_site, suspects

pytestmark = [pytest.mark.e2e, pytest.mark.full]

SYSTEM = """\
system: made
description: Nodes that are this machine, made for this test
scheduler: slurm-nodb
launcher: srun
nodes: {count: 4}
report_only: made for this test
fabrics:
  eth:
    description: the loopback interface
    kind: tcp
    link: eth-10
    rails:
      - {device: lo, counters: netdev}
stacks:
  openmpi: {prefix: /opt/openmpi, benchmarks: {osu: "{home}/osu"}}
"""
BROKEN = "#!/bin/sh\nexit 3\n"
ALONE = """\
#!/bin/sh
[ "$SLURM_PROCID" = 0 ] || exit 0
us=900
case ,$STEP, in *,n2,*) us=2000 ;; esac
printf '# OSU MPI Latency Test v7.5\\n# Datatype: MPI_CHAR.\\n# Size       Avg Latency(us)\\n1048576      %s.00\\n' $us
"""
PROGRAMS = {
    # The first job has two nodes; a job that asks for a list of nodes has two more.
    "sbatch": """\
[ "$1" != --test-only ] || exit 0
n=$(($(cat BED/count 2>/dev/null || echo 0) + 1))
echo $n >BED/count
[ ! -e BED/refuse-$n ] || { cat BED/refuse-$n >&2; exit 1; }
list=n1,n2
grep -q -e --nodelist= "$1" && list=n1,n2,n5,n7
echo $list >BED/$n.nodes
cp "$1" BED/$n.script
(
    export SLURM_JOB_NODELIST=$list
    setsid bash "$1" >BED/$n.log 2>&1 </dev/null
    echo $? >BED/$n.code
) >/dev/null 2>&1 &
echo Submitted batch job $n""",
    "scancel": "echo $1 >>BED/cancelled",
    "scontrol": """\
for last; do :; done
case "$*" in
    *"show hostname"*) echo $last | tr , '\\n' ;;
    *"show job"*)
        state=RUNNING code=0
        [ ! -e BED/$last.code ] || { code=$(cat BED/$last.code) state=COMPLETED; }
        [ $code = 0 ] || state=FAILED
        echo "JobId=$last JobState=$state Reason=None Restarts=0 ExitCode=$code:0 NodeList=$(cat BED/$last.nodes)" ;;
    *"show nodes"*) for node in n1 n2 n5 n7; do echo "NodeName=$node State=IDLE Partitions=all"; done ;;
esac""",
    "srun": """\
list=n1,n2
while :; do
    case $1 in
        --version) echo slurm 22.05.8; exit ;;
        --nodelist=*) list=${1#*=}; shift ;;
        --*) shift ;;
        *) break ;;
    esac
done
rank=0 all=''
for node in $(echo $list | tr , ' '); do
    proc=BED/proc-$node
    mkdir -p $proc/sys/kernel
    echo $node >$proc/sys/kernel/hostname
    for name in uptime net self stat cpuinfo; do ln -sfn /proc/$name $proc/$name; done
    STEP=$list RAILYARD_PROC=$proc SLURM_PROCID=$rank SLURM_LOCALID=0 "$@" &
    all="$all $!" rank=$((rank + 1))
done
code=0
for one in $all; do wait $one || code=$?; done
exit $code""",
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VirtualSite:
    made = make_site(tmp_path)
    (made.folder / "systems/made.yaml").write_text(SYSTEM, encoding="utf-8")
    bed = made.folder / "bin"
    files = {f"bin/{name}": f"#!/bin/sh\n{text}\n".replace("BED", str(bed)) for name, text in PROGRAMS.items()}
    for name, text in {**files, "osu/osu_bw": BROKEN, "osu/osu_latency": ALONE}.items():
        (made.folder / name).parent.mkdir(exist_ok=True)
        (made.folder / name).write_text(text, encoding="utf-8")
        (made.folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(bed), prepend=":")
    return made


def run(site: VirtualSite) -> Ran:
    return site.finish(*RAILYARD, "run", "--system", "made", "-n", "OsuBandwidth%rails=1")


def test_the_slow_rail_of_a_run_that_broke_is_named_by_a_job_of_its_own(site: VirtualSite) -> None:
    ran = run(site)
    assert suspects(ran.record) == {("rail", "n2", "lo")}
    assert ran.record.found.verdict.text.startswith(f"the job exited 3, expected 0; lo of n2 is slow {WITH_EVERY}: ")
    job = (site.folder / "bin/2.script").read_text(encoding="utf-8")
    assert "#SBATCH --nodes=4\n#SBATCH --nodelist=n1,n2\n" in job
    assert (site.folder / "bin/cancelled").read_text(encoding="ascii") == "2\n"
    (step,) = site.folder.glob(".railyard/**/probe-1-lo-n1-n5.sh")
    assert step.read_text(encoding="utf-8").splitlines()[-1] == (
        "exec timeout -k 5 20 srun --ntasks=2 --ntasks-per-node=1 --nodelist=n1,n5 --mpi=pmix "
        f"--distribution=arbitrary sh reader.sh {step.stem} {step.stem} lo '' -- "
        f"{site.folder}/osu/osu_latency -m 1048576:1048576 -i 5 -x 1"
    )


def test_where_that_job_is_refused_nobody_is_named_and_the_sentence_says_why(site: VirtualSite) -> None:
    (site.folder / "bin/refuse-2").write_text("sbatch: error: Job violates policy\n", encoding="ascii")
    ran = run(site)
    assert suspects(ran.record) == set()
    assert ran.record.found.verdict.text.endswith(
        f"no rail was measured alone, so {NOBODY_BLAMED}: the scheduler refused the job for it: sbatch: error: Job "
        "violates policy"
    )


def test_a_system_may_have_no_such_jobs(site: VirtualSite) -> None:
    path = site.folder / "systems/made.yaml"
    path.write_text(f"{SYSTEM}measure: {{probes_within: 0s}}\n", encoding="utf-8")
    ran = run(site)
    assert ran.record.found.verdict.text.startswith("the job exited 3, expected 0")
    assert suspects(ran.record) == set()
    assert not (site.folder / "bin/2.script").exists()

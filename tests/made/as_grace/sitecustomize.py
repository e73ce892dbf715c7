"""A Python with this folder on PYTHONPATH believes that its machine is NVIDIA Grace: so Spack solves for aarch64 here.

Spack knows its host by ``platform.machine()`` and /proc/cpuinfo (archspec), and considers only targets of that family.
The features are those of archspec 0.2.5 for neoverse_v2 and what Linux prints besides; 0xd4f is Arm's part number of
Neoverse V2.
"""

import builtins
import io
import platform
from typing import Any

FEATURES = (
    "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm jscvt fcma lrcpc dcpop sha3 sm3 "
    "sm4 asimddp sha512 sve asimdfhm dit uscat ilrcpc flagm ssbs sb paca pacg dcpodp sve2 sveaes svepmull svebitperm "
    "svesha3 svesm4 flagm2 frint svei8mm svebf16 i8mm bf16 dgh bti"
)
CPUINFO = f"processor\t: 0\nFeatures\t: {FEATURES}\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd4f\n"

_open = builtins.open


def _open_other(file: Any, *words: Any, **named: Any) -> Any:
    return io.StringIO(CPUINFO) if file == "/proc/cpuinfo" else _open(file, *words, **named)


builtins.open = _open_other
platform.machine = lambda: "aarch64"

"""A made output of ib_write_bw from the memory of a GPU."""

from pathlib import Path

TEXT = (Path(__file__).parents[1] / "parsers" / "made" / "perftest-use_cuda.txt").read_text(encoding="utf-8")
_ROWS = (
    " 65536      5000             392.00             391.50               0.746727\n"
    " 131072     5000             392.75             392.64               0.374451\n"
)


def with_8_mib(gbit_s: float) -> str:
    """Return the output of 8 MiB alone, the size for which Azure demands 380 Gbit/s of an H100's NIC."""
    rate = gbit_s * 1e9 / 8 / (8 << 20) / 1e6
    assert _ROWS in TEXT
    return TEXT.replace(_ROWS, f" 8388608    5000             {gbit_s:.2f}             {gbit_s:.2f}   {rate:.6f}\n")

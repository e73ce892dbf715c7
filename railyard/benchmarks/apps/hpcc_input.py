"""hpccinf.txt for HPC Challenge's communication parts. All other parts are as small as its own checks allow."""

import math

from railyard.benchmarks.apps import hpl_input

#: HPL's numbers per rank. They set the memory of all parts that only compute (128 KiB per rank), so that HPL,
#: RandomAccess, STREAM, DGEMM and FFT together take a second.
NUMBERS_A_RANK = 1 << 14
BLOCK = 32
#: A transposition's numbers per rank: 8 MB, and nearly all of it leaves the rank.
TRANSPOSED_A_RANK = 1_000_000


def orders(ranks: int) -> tuple[int, int]:
    """Return the order of HPL's matrix, and of the transposed matrix, for so many ranks.

    HPC Challenge takes no transposition smaller than 0.47 of HPL's order, and also makes one of half that order. Its
    summary has the better rate of the two.
    """
    return _of_whole_blocks(NUMBERS_A_RANK * ranks), _of_whole_blocks(TRANSPOSED_A_RANK * ranks)


def text(ranks: int) -> str:
    """Return hpccinf.txt: HPL.dat, whose lines 3 and 4 are ignored, followed by the sizes of PTRANS."""
    computed, transposed = orders(ranks)
    rows, columns = hpl_input.grid(ranks)
    of_hpl = hpl_input.text(hpl_input.Problem(computed, BLOCK, rows, columns, "asked", ""))
    more = (
        ("-", "separator"),
        ("1", "# of additional problem sizes of PTRANS"),
        (str(transposed), "Ns"),
        ("0", "# of additional block sizes of PTRANS"),
        (str(BLOCK), "NBs"),
    )
    return of_hpl + "".join(f"{value:<12} {what}\n" for value, what in more)


def _of_whole_blocks(numbers: int) -> int:
    return math.isqrt(numbers) // BLOCK * BLOCK

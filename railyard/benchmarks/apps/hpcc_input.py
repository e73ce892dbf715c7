"""hpccinf.txt for HPC Challenge's communication parts: the rest as small as its own checks allow."""

import math

from railyard.benchmarks.apps import hpl_input

#: HPL's share of a rank, in numbers: it sets the memory of every part that only computes (128 KiB a rank), so that
#: HPL, RandomAccess, STREAM, DGEMM and FFT together take a second.
NUMBERS_A_RANK = 1 << 14
BLOCK = 32
#: A transposition's share of a rank, in numbers: 8 MB, of which nearly all leaves the rank.
TRANSPOSED_A_RANK = 1_000_000


def orders(ranks: int) -> tuple[int, int]:
    """Return the order of HPL's matrix, and of the one that is transposed, for so many ranks.

    HPC Challenge takes no transposition that is smaller than 0.47 of HPL's order, and makes one of half that order
    besides: its summary has the better rate of the two.
    """
    return _of_whole_blocks(NUMBERS_A_RANK * ranks), _of_whole_blocks(TRANSPOSED_A_RANK * ranks)


def text(ranks: int) -> str:
    """Return hpccinf.txt: HPL.dat, whose lines 3 and 4 are passed over, and the sizes of PTRANS behind it."""
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

"""The command `railyard`, and `python -m railyard`."""

import gc
import os
import signal
import sys


def main() -> int:
    """Return the exit code of this process's command line.

    Before and after it, Ctrl-C ends the process at once: Python would print a traceback of its imports. What it writes
    may be changed by nobody outside of its group, whatever the umask is: job scripts are run later.
    """
    os.umask(os.umask(0o077) | 0o002)
    gc.set_threshold(50_000)  # imports make many objects that stay: looking through them costs a tenth of a start
    taken = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # a job in the background ignores it
    if taken:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from railyard.cli.main import main as answer

    try:
        if taken:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return answer()
    finally:
        if taken:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())

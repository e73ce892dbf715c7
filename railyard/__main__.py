"""The command `railyard`, and `python -m railyard`."""

import signal
import sys


def main() -> int:
    """Return the exit code of this process's command line.

    Before and after it, Ctrl-C ends the process at once: Python would print a traceback of its imports.
    """
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

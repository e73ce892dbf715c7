"""`python -m railyard`: the same as the command `railyard`."""

import sys

from railyard.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

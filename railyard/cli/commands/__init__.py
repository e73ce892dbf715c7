"""The commands of `railyard`, one module a command: NAME.py holds `command`, a click.Command (railyard/cli/main.py)."""

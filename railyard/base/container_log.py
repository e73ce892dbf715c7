r"""The log of a container as docker keeps it: each line is ``{"log":"…\n","stream":"stdout","time":"…"}``.

Source: moby/moby, daemon/logger/jsonfilelog/jsonlog: Log, Stream, Created. A line above 16 KiB has several objects.
"""

import json


def container_lines(text: str) -> str:
    """Return the lines that a container printed, with the numbers of their objects; any other text as it is.

    A line of several objects is where the last of them is.
    """
    begin = text.lstrip()[:200]
    if not (begin.startswith('{"') and '"log":' in text):
        return text
    lines: list[str] = []
    open_line: dict[str, str] = {}  # by stream
    for each in text.removesuffix("\n").split("\n"):
        said = _log_text(each) if each.strip() else ("", "\n")
        if said is None:
            return text
        stream, printed = said
        whole = open_line.pop(stream, "") + printed
        if printed.endswith("\n"):
            lines.append(whole[:-1])
        else:
            lines.append("")
            open_line[stream] = whole
    lines.extend(open_line.values())
    return "\n".join(lines) + ("" if open_line else "\n")


def _log_text(line: str) -> tuple[str, str] | None:
    """Return the stream of one object and what was printed; None for any other line, and for one of several lines."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    printed = found.get("log") if isinstance(found, dict) else None
    if not isinstance(printed, str) or "\n" in printed[:-1]:
        return None
    return str(found.get("stream", "")), printed

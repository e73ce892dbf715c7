"""Parts of the files that detect writes: marks, comments of a readable width, and texts in a form that YAML takes."""

import json
import re

GUESSED = "GUESSED"
TRAP = "TRAP"
MISSING = "MISSING"
LEFT_OUT = "LEFT OUT"
_WIDTH = 118
# YAML 1.1 does not read these as text.
_YAML_WORDS = ("y", "n", "yes", "no", "on", "off", "true", "false", "null")


def comment(sentence: str, indent: str = "") -> list[str]:
    """Return a comment, broken into lines of at most 118 characters."""
    lines, line = [], f"{indent}#"
    for word in sentence.split():
        if len(line) + 1 + len(word) > _WIDTH and line != f"{indent}#":
            lines.append(line)
            line = f"{indent}#"
        line += f" {word}"
    return [*lines, line]


def scalar(text: str) -> str:
    """Return any text in a form that YAML takes: plain if that is safe, else in JSON's quotes."""
    plain = re.fullmatch(r"[A-Za-z/][\w./+=-]*", text, re.ASCII) and text.lower() not in _YAML_WORDS
    return text if plain else json.dumps(text, ensure_ascii=True)

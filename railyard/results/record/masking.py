"""Secrets taken out of what is stored: passwords in URLs, values of secret names, tokens of known forms, variables."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from railyard.results.record.form import Record
from railyard.results.record.variables import ALLOWED

MASK = "***"

# https://user:password@host, also with a token alone
_URL = re.compile(r"(?P<scheme>\b[A-Za-z][A-Za-z0-9+.-]*://)[^\s/@'\"]+@")
_SECRET_NAME = (
    r"[\w.-]{0,40}(?:passw(?:or)?d|passwd|passphrase|pwd|secret|token|credential|cookie|jwt|"
    r"(?:api|access|private|auth|account|encryption|ssh|signing)[_-]?key|authorization|(?<![a-z])auth(?!or))[\w.-]{0,40}"
)
_NAME_ALONE = re.compile(_SECRET_NAME, re.IGNORECASE)
# password=…, "token": "…", Authorization: Bearer …; a value ends at a blank, a quote or a list's next part
_NAMED = re.compile(
    rf"(?P<name>{_SECRET_NAME})(?P<sign>[\"']?\s*(?:=|:)\s*[\"']?)"
    rf"(?P<value>(?:(?:Bearer|Basic|Digest|Token)\s+)?[^\s\"',;&]+)",
    re.IGNORECASE,
)
_BEARER = re.compile(r"\b(?P<kind>Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}")
# Tokens that carry their maker's mark, whatever stands before them: GitHub, GitLab, AWS, Google, Slack, npm, Hugging
# Face, OpenAI and others' sk-, JSON Web Tokens (RFC 7519), PEM keys (RFC 7468).
_KNOWN = re.compile(
    r"\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{30,}|"
    r"xox[abeoprs]-[\w-]{10,}|npm_[A-Za-z0-9]{20,}|hf_[A-Za-z0-9]{20,}|sk-[\w-]{16,}|"
    r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*)"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_ASSIGNED = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>.*)", re.DOTALL)
#: Options of launchers that are followed by a variable and its value.
_NAME_THEN_VALUE = ("-genv", "-env", "--genv", "--env")
#: Options that are followed by NAME=VALUE (Open MPI's -x, Slurm's --export with a list of them).
_ASSIGNMENT_NEXT = ("-x", "--export", "--setenv")
_USER_NEXT = ("-u", "--user")  # curl's and others' user:password


def masked(text: str) -> str:
    """Return the text with each secret that can be told as one replaced by ``***``; anything else stays."""
    if not _MAY_HOLD.search(text):
        return text
    text = _KNOWN.sub(MASK, text)
    text = _URL.sub(rf"\g<scheme>{MASK}@", text)
    text = _NAMED.sub(rf"\g<name>\g<sign>{MASK}", text)
    return _BEARER.sub(rf"\g<kind> {MASK}", text)


# All of the above have one of these; a text without is by far the most frequent.
_MAY_HOLD = re.compile(
    r"://|passw|passphrase|pwd|secret|token|credential|cookie|jwt|key|auth|bearer|basic |gh[pousr]_|github_pat|glpat|"
    r"akia|asia|aiza|xox|npm_|hf_|sk-|eyj",
    re.IGNORECASE,
)


def masked_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return a command's words, masked; of a variable that it sets only those of the allow-list keep their value."""
    found: list[str] = []
    for index, word in enumerate(words):
        before = found[index - 1] if index else ""
        second = found[index - 2] if index > 1 else ""
        if second in _NAME_THEN_VALUE and before not in ALLOWED:
            found.append(MASK)
        elif before in _USER_NEXT and ":" in word:
            found.append(MASK)
        elif before.startswith("-") and "=" not in before and _NAME_ALONE.fullmatch(before.lstrip("-")):
            found.append(MASK)
        else:
            found.append(_word(word, before))
    return tuple(found)


def _word(word: str, before: str) -> str:
    option, sign, rest = word.partition("=")
    if option in _ASSIGNMENT_NEXT and sign:
        return f"{option}={_assignments(rest)}"
    if before in _ASSIGNMENT_NEXT:
        return _assignments(word)
    assigned = _ASSIGNED.fullmatch(word)
    if assigned and assigned["name"].upper() == assigned["name"] and assigned["name"] not in ALLOWED:
        return f"{assigned['name']}={MASK}"
    return masked(word)


def _assignments(text: str) -> str:
    """Return a list of NAME=VALUE with commas between them, where each name that is not allowed has lost its value.

    A part without a name belongs to the value before it (UCX_TLS=tcp,self).
    """
    parts: list[str] = []
    kept = True
    for part in text.split(","):
        assigned = _ASSIGNED.fullmatch(part)
        if assigned:
            kept = assigned["name"] in ALLOWED
            parts.append(masked(part) if kept else f"{assigned['name']}={MASK}")
        elif kept:
            parts.append(masked(part))
    return ",".join(parts)


def masked_record(record: Record) -> Record:
    """Return the record as it may be stored."""
    return Record.from_json(masked_json(record.to_json()))


def masked_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record's JSON values as they may be stored: every text masked, its variables those of the allow-list."""
    found: dict[str, Any] = _masked(values)
    command, variables = values.get("command"), values.get("variables")
    if isinstance(command, list):
        found["command"] = list(masked_words([str(word) for word in command]))
    if isinstance(variables, Mapping):
        found["variables"] = {name: masked(str(value)) for name, value in variables.items() if name in ALLOWED}
    return found


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, Mapping):
        return {
            masked(str(key)): MASK if isinstance(item, str) and _NAME_ALONE.fullmatch(str(key)) else _masked(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_masked(item) for item in value]
    return value

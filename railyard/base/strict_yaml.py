"""Strict YAML: turns a file into plain data and then into a model. Errors name the file, the line and the field."""

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from railyard.base.errors import InputError
from railyard.base.values import Path_, show

if TYPE_CHECKING:
    from pydantic import BaseModel

MAX_BYTES = 8 << 20
"""Larger than any table that a person keeps. It bounds how much a hostile file can make us read."""
MAX_DEPTH = 40
"""PyYAML's C composer recurses. At some ten thousand levels the process ends (seen: a segmentation fault)."""
_SAFE_DEPTH = 2000

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_EXPONENT_ONLY = re.compile(r"[-+]?[0-9]+(?:\.[0-9]*)?[eE][-+]?[0-9]+")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
#: What git writes into a file if both sides changed the same lines.
_CONFLICT = re.compile(r"^(?:<{7}|>{7}|\|{7}) .*$", re.MULTILINE)
#: In text that was copied from a web page or a mail.
_ODD_INDENT = re.compile(r"[ \t]*[\u00a0\u2007\u202f]")
_SPECIAL_FLOATS = {".inf": float("inf"), "+.inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan")}


M = TypeVar("M", bound="BaseModel")


class InputErrors(InputError):
    """Several wrong values of one file, one sentence per line. Its own fields are those of the first."""

    def __init__(self, errors: Sequence[InputError]) -> None:
        first = errors[0]
        super().__init__(first.file, first.found, first.expected, first.line, first.field, first.action)
        self.errors = tuple(errors)

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)


@dataclass(frozen=True, slots=True)
class Document:
    """One file's mapping as plain data, with the node graph that gives the line number of an error."""

    file: str
    data: Mapping[Any, Any]
    root: yaml.MappingNode

    def line(self, path: Path_) -> int:
        """Return the line, from 1, of a value's key or list item, or of the deepest part of the path that exists."""
        node: yaml.Node = self.root
        line = _line(node)
        for part in path:
            found = _child(node, part)
            if found is None:
                break
            line, node = found
        return line

    def error(self, path: Path_, found: str, expected: str, action: str | None = None) -> InputError:
        """Return an error about the value at ``path``, with its line and dotted field."""
        return InputError(self.file, found, expected, self.line(path), self._format_path(path) or None, action or None)

    def _format_path(self, path: Path_) -> str:
        """Return ``fabrics.hsn.rails[1].device``. A number that is a key of a mapping follows a dot too."""
        data: Any = self.data
        parts: list[str | int] = []
        for part in path:
            is_list = isinstance(data, list)
            parts.append(part if is_list else str(part))
            data = data[part] if is_list else data.get(part) if isinstance(data, Mapping) else None
        return _join_path(tuple(parts))


def load(path: Path, shown_as: str | None = None) -> Document:
    """Return the mapping in a YAML file.

    Raises InputError if the file is missing, empty, not UTF-8 or not one mapping, or if it has a key twice, a tab as
    indentation, an alias, a tag, or a scalar that YAML 1.1 does not read as a person means it.
    """
    file = shown_as or str(path)
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError(file, "no such file", "a YAML file") from None
    except OSError as error:
        raise InputError(file, f"a file that cannot be read ({error.strerror})", "a YAML file") from None
    return parse(raw, file)


def parse(raw: bytes, file: str) -> Document:
    """Return the mapping in ``raw``. Errors call it ``file``. Raises InputError as ``load`` does."""
    root = compose(raw, file)
    if root is None:
        raise InputError(file, "an empty file", "a mapping of fields", 1)
    if not isinstance(root, yaml.MappingNode):
        kind = "a list" if isinstance(root, yaml.SequenceNode) else "a single value"
        raise InputError(file, kind, "a mapping of fields", _line(root))
    return Document(file, _Reader(file).mapping(root, ()), root)


def compose(raw: bytes, file: str) -> yaml.Node | None:
    """Return the node graph of ``raw``, None if it is empty: for YAML of other programs, whose words differ from ours.

    Raises InputError for text that is too long, not UTF-8, nested too deeply, or not YAML.
    """
    _refuse_length(raw, file)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(file, f"the byte 0x{raw[error.start]:02x}", "UTF-8 text", line) from None
    with _explain_yaml_errors(text, file):
        _refuse_depth(text, file)
        return yaml.compose(text, Loader=_LOADER)


def _refuse_length(raw: bytes, file: str) -> None:
    if len(raw) > MAX_BYTES:
        raise InputError(file, f"more than {MAX_BYTES >> 20} MiB", f"a file of at most {MAX_BYTES >> 20} MiB")


@contextmanager
def _explain_yaml_errors(text: str, file: str) -> Iterator[None]:
    """Turn what PyYAML raises for a text into an InputError."""
    try:
        yield
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, text, file) from None
    # ValueError: a scalar that has the form of a date or number and is none, which only a loader of values meets.
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(file, f"text that is not YAML ({' '.join(str(error).split())})", "YAML") from None


def load_foreign(path: Path) -> Document:
    """Return the mapping in a YAML file of another program: what YAML 1.1 makes of it, with the lines of each part.

    So ``False``, aliases and merge keys are read as that program reads them. An empty file is an empty mapping. Raises
    InputError if the file cannot be read, is not YAML, or is not one mapping.
    """
    file = str(path)
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(file, f"a file that cannot be read ({error.strerror})", "a YAML file") from None
    _refuse_length(raw, file)
    text = raw.decode("utf-8", errors="replace")
    with _explain_yaml_errors(text, file):
        _refuse_depth(text, file)
        root, data = yaml.compose(text, Loader=_LOADER), yaml.load(text, Loader=_LOADER)
    if root is None:
        root, data = yaml.MappingNode(_TAG + "map", [], yaml.Mark(file, 0, 0, 0, None, 0)), {}
    if not isinstance(root, yaml.MappingNode):
        raise InputError(file, "no mapping", "a mapping of fields", _line(root))
    return Document(file, data, root)


def validate(model: type[M], document: Document) -> M:
    """Return the model of a document. Raises InputError (InputErrors if several values are wrong)."""
    from pydantic import ValidationError  # slow to import: a gate reads its part of a file without any model

    from railyard.base.fields import explain

    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        details = error.errors(include_url=False)
    explained = [(detail["type"], *explain(model, document.data, detail)) for detail in details]
    # pydantic also counts a list's wrong items as missing. Each item has its own error already.
    told = [path for kind, path, _ in explained if kind != "too_short"]
    errors = [
        document.error(path, *sentence)
        for kind, path, sentence in explained
        if kind != "too_short" or not any(other[: len(path)] == path for other in told)
    ]
    errors.sort(key=lambda error: error.line or 0)
    raise errors[0] if len(errors) == 1 else InputErrors(errors)


def _refuse_depth(text: str, file: str) -> None:
    """Raise InputError if nesting is too deep. Reading YAML's events needs no recursion.

    Each block level needs at least one column (a list below its key: half a column), each flow level a bracket. So
    most files are too small to be too deep, and are not read twice.
    """
    widest = max(map(len, text.splitlines()), default=0)
    if 2 * widest + text.count("[") + text.count("{") < _SAFE_DEPTH:
        return
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH + 1:
                found = f"more than {MAX_DEPTH} levels of nesting"
                raise InputError(file, found, "a flatter file", _line(event))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


class _Reader:
    """Turns YAML nodes into plain data, each node once."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.seen: set[int] = set()

    def fail(self, node: yaml.Node, path: Path_, found: str, expected: str, action: str | None = None) -> InputError:
        return InputError(self.file, found, expected, _line(node), _join_path(path) or None, action)

    def value(self, node: yaml.Node, path: Path_) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node, path)
        # compose returns the anchor's own node for an alias, so a node that comes twice is an alias. (Scalars cannot
        # make a bomb, and the text of an anchor is refused elsewhere: they change nothing.)
        if id(node) in self.seen:
            raise self.fail(node, path, "an alias (*name) of what is written here", "every value written out")
        self.seen.add(id(node))
        if len(path) > MAX_DEPTH:
            raise self.fail(node, (), f"more than {MAX_DEPTH} levels of nesting", "a flatter file")
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        if node.tag != _TAG + "seq":
            raise self.fail(node, path, f"the tag {show(node.tag)}", "a plain list")
        return [self.value(child, (*path, index)) for index, child in enumerate(node.value)]

    def mapping(self, node: yaml.MappingNode, path: Path_) -> dict[str | int, Any]:
        if node.tag != _TAG + "map":
            raise self.fail(node, path, f"the tag {show(node.tag)}", "a plain mapping")
        data: dict[str | int, Any] = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            key = self.key(key_node, path)
            here = (*path, str(key))  # as text, since a number in a path is an index
            if str(key) in lines:
                found = f"the key {show(str(key))} for the second time"
                raise self.fail(key_node, here, found, f"each key once (it is in line {lines[str(key)]} already)")
            lines[str(key)] = _line(key_node)
            data[key] = self.value(value_node, here)
        return data

    def key(self, node: yaml.Node, path: Path_) -> str | int:
        if not isinstance(node, yaml.ScalarNode):
            raise self.fail(node, path, "a key that is a list or mapping", "a name as key")
        if node.tag == _TAG + "merge":
            raise self.fail(node, path, 'the merge key "<<"', "every field written out")
        key = self.scalar(node, (*path, node.value))
        if isinstance(key, bool) or not isinstance(key, (str, int)):
            raise self.fail(node, path, f"the key {show(node.value)}", "a name as key", f'quote it: "{node.value}"')
        return key

    def scalar(self, node: yaml.ScalarNode, path: Path_) -> Any:
        text: str = node.value
        kind = node.tag.removeprefix(_TAG)
        if kind == "str":
            if not node.style and _EXPONENT_ONLY.fullmatch(text):
                action = "write it out, or with a point and a signed exponent, such as 1.0e+3"
                raise self.fail(node, path, f"{text}, which YAML 1.1 reads as text", "a number", action)
            return text
        if kind == "null":
            return None
        reader = {"bool": self.boolean, "int": self.integer, "float": self.floating, "timestamp": self.date}.get(kind)
        if reader is None:
            raise self.fail(node, path, f"the tag {show(node.tag)}", "a plain value")
        return reader(node, text, path)

    def boolean(self, node: yaml.Node, text: str, path: Path_) -> bool:
        if text in ("true", "false"):
            return text == "true"
        meant = "true" if text.lower() in ("yes", "on", "true", "y") else "false"
        found = f"{text}, which YAML 1.1 reads as {meant}"
        raise self.fail(node, path, found, "true, false or text", f'write {meant}, or quote it: "{text}"')

    def integer(self, node: yaml.Node, text: str, path: Path_) -> int:
        if _DECIMAL.fullmatch(text) and len(text) <= 20:
            return int(text)
        reading = "sixties (1:30 becomes 90)" if ":" in text else "another number than it looks"
        found = f"{show(text)[1:-1]}, which YAML 1.1 reads as {reading}"
        raise self.fail(node, path, found, "a plain decimal number or text", f'quote it if it is text: "{text[:20]}"')

    def floating(self, node: yaml.Node, text: str, path: Path_) -> float:
        if text.lower() in _SPECIAL_FLOATS:
            return _SPECIAL_FLOATS[text.lower()]
        if _FLOAT.fullmatch(text):
            return float(text)
        reading = "sixties (1:30.5 becomes 90.5)" if ":" in text else "another number than it looks"
        found = f"{show(text)[1:-1]}, which YAML 1.1 reads as {reading}"
        raise self.fail(node, path, found, "a plain decimal number or text", f'quote it if it is text: "{text[:20]}"')

    def date(self, node: yaml.Node, text: str, path: Path_) -> datetime.date:
        try:
            if _DATE.fullmatch(text):
                return datetime.date.fromisoformat(text)
        except ValueError:
            pass
        raise self.fail(node, path, show(text)[1:-1], "a date of the calendar, YYYY-MM-DD")


def _syntax_error(error: yaml.MarkedYAMLError, text: str, file: str) -> InputError:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else None
    problem = error.problem or "text that is not YAML"
    conflict = _CONFLICT.search(text)
    if conflict is not None:
        found, at = f'a mark of a merge conflict ("{conflict[0]}")', text.count("\n", 0, conflict.start()) + 1
        return InputError(file, found, "YAML", at, action="keep one of both sides, and remove the marks")
    lines = text.splitlines()
    odd = next((n for n, each in enumerate(lines, start=1) if _ODD_INDENT.match(each)), None)
    if odd is not None:
        return InputError(file, "a no-break space, which looks like a blank", "blanks as indentation", odd)
    shown = lines[mark.line] if mark and mark.line < len(lines) else ""
    if "\t" in shown and "\t" in shown[: len(shown) - len(shown.lstrip())]:
        return InputError(file, "a tab", "blanks as indentation", line)
    if "another document" in problem or "but found another document" in str(error):
        return InputError(file, 'a second document ("---")', "one mapping of fields", line)
    if "undefined alias" in problem:
        return InputError(file, f"an alias ({problem})", "every value written out", line)
    context = f" ({error.context})" if error.context else ""
    return InputError(file, f"text that is not YAML: {problem}{context}", "YAML", line)


def _join_path(path: Path_) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _line(thing: yaml.Node | yaml.Event) -> int:
    mark = thing.start_mark
    return 1 if mark is None else int(mark.line) + 1


def _child(node: yaml.Node, part: str | int) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(part):
                return _line(key), value
    elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return _line(node.value[part]), node.value[part]
    return None

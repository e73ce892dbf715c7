"""Samples of every sentence function of the rooms of words, drawn from the types of its arguments.

``railyard.verdict.wording`` has them, and one module in each lower room whose sentences verdicts and others show.

Each argument first has an ordinary value, then one after another its special ones: nothing, none, one, several. So a
new function is in tests/golden/sentences.txt without a line here, unless only particular facts make its words: then its
module and name stand in ``PARTICULAR``.
"""

import ast
import inspect
import math
import pkgutil
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from railyard.benchmarks import wording as gpu_wording
from railyard.benchmarks.model import Figure
from railyard.parsers.job_end import Kind
from railyard.stacks import wording as stacks_wording
from railyard.verdict import wording
from railyard.verdict.wording import Miss

_WORD = re.compile(r"[^\W\d]+")
#: A text that stands for a fact.
_FACT = re.compile(r"\[[^]]*\]")
#: The modules of words in rooms below the verdict's.
BELOW = (gpu_wording, stacks_wording)

#: What a text is, by the argument's name: others are shown as their name, in brackets.
TEXTS: Mapping[str, str] = {"name": "bandwidth", "unit": "MB/s", "node": "vn2", "rail": "hsn1", "way": "sent"}
#: The facts that several sentences are about.
FACTS: Mapping[Any, Sequence[Any]] = {
    Figure: (Figure("bandwidth", 46.0, "MB/s", 1 << 20), Figure("bandwidth", 0.25, "MB/s")),
    Miss: tuple(Miss(Figure("bandwidth", 46.0, "MB/s", 1 << 20), "below", 47.0, best) for best in ("", "1 B to 64 B")),
    bool: (False, True),
    int: (3, 1),
    float: (40.0, 1.5),
    date: (date(2026, 11, 21),),
    Kind: [kind for kind in get_args(Kind) if kind != "time"],
}
#: Facts that make words which the ordinary values do not make: by module and function, each with all its arguments.
PARTICULAR: Mapping[str, Sequence[tuple[Any, ...]]] = {
    "benchmarks.wording.upper_bound": [("[algorithm]", math.inf, "")],
    "blame.both_ways": [("vn2", "vn1", out, back, 0.9) for out, back in ((0.0, 40.0), (38.0, 40.0))],
    "blame.shared_part": [(("hsn0", "hsn1", "hsn2"), "[reason]", "vn2")],
    "run_rules.say_quoted": [("a long line of a log. " * 10,)],
    "run_rules.look_at_ended": [
        (kind, scheduler)
        for kind in ("node", "suspended", "pending", "lost")
        for scheduler in ("slurm", "pbs", "torque", "sge", "flux-batch", "lsf")
    ],
    "run_rules.say_exited": [(137, "[after]")],
    "run_rules.other_nodes": [([f"n{number}" for number in range(99)], [f"n{number}" for number in range(1, 100)])],
    "gpu_pairs.odds": [("shown", -12.0)],
    "pair_search.rates_of_phases": [
        ([(phase, (40.0, 47.0)) for phase in ("within", "one", "between", "group", "between groups", "all")], "MB/s")
    ],
    "pair_search.measured_again": [([(f"vn1-vn{number}", 40.0, 47.0) for number in range(2, 7)],)],
    "program.other_image": [("[file]", ("vn1", 9), ("vn2", 8))],
    "pair_search.part_of_side": [("group", True)],
    "weak_figures.fewer_rails": [(needed, needed + 1, 40.0, "MB/s", 1 << 20, False) for needed in (1, 3)],
    "stored_outputs.printed_link": [("Ethernet", 3, "ib-hdr", "", "roce")],
    "reference.brief": [(Miss(Figure("latency", 46.0, "us", 8), "above", 10.0),)],
    "reference.range_of": [((6.0, 7.0), 7.7, "us")],
    "screening.capacity": [(0.0,), (0.4,)],
    "screening.promised_fault": [("rail", 0.0, 0.9)],
}


def modules() -> list[types.ModuleType]:
    """Return the modules of the verdict's room, itself first, and those of the rooms below."""
    names = (each.name for each in pkgutil.walk_packages(wording.__path__, f"{wording.__name__}."))
    return [wording, *map(import_module, names), *BELOW]


def files() -> list[Path]:
    """Return the files of these modules."""
    return sorted(Path(str(module.__file__)) for module in modules())


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield each public function of the room with its module and name, and what gives the words of each fact."""
    for module in modules():
        room = module.__name__.removeprefix(wording.__name__).removeprefix("railyard.").removeprefix(".")
        for name, value in vars(module).items():
            if getattr(value, "__module__", None) != module.__name__ or name.startswith("_"):
                continue
            if inspect.isfunction(value):
                yield f"{room}.{name}".removeprefix("."), value
            elif is_dataclass(value) and isinstance(value, type) and hasattr(value, "words"):
                yield f"{room}.{name}".removeprefix("."), _words_of(value)


def _words_of(kind: type) -> Callable[[Any], str]:
    def words(fact: Any) -> str:
        return str(fact.words)

    words.__annotations__ = {"fact": kind, "return": str}
    return words


@cache
def _types_only(module: str) -> Mapping[str, Any]:
    """Return what a module imports for its types alone."""
    tree = ast.parse(inspect.getsource(import_module(module)))
    imports = [
        each
        for part in tree.body
        if isinstance(part, ast.If) and ast.unparse(part.test) == "TYPE_CHECKING"
        for each in part.body
        if isinstance(each, ast.ImportFrom) and each.module
    ]
    return {name.name: getattr(import_module(str(each.module)), name.name) for each in imports for name in each.names}


def samples(name: str, function: Callable[..., Any]) -> list[str]:
    """Return what a sentence function says of its sample facts; a sentence without a new word is left out."""
    hints = get_type_hints(function, localns=_types_only(function.__module__))
    hints.pop("return")
    drawn = [values_of(parameter, kind) for parameter, kind in hints.items()]
    facts = [*_one_at_a_time(drawn), *PARTICULAR.get(name, ())]
    kept, seen = list[str](), set[str]()
    for said in (line for each in facts for line in _lines(function(*each))):
        words = set(_WORD.findall(_FACT.sub("", said))) - seen
        kept += [said] if words or not kept else []
        seen |= words
    return kept


def _lines(said: Any) -> list[str]:
    if hasattr(said, "words"):
        return [str(said.words)]
    return [said] if isinstance(said, str) else [line for each in said or () for line in _lines(each)]


def _one_at_a_time(drawn: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    """Yield the ordinary values, then those with one of them replaced by a special one."""
    ordinary = tuple(values[0] for values in drawn)
    yield ordinary
    for place, values in enumerate(drawn):
        for value in values[1:]:
            yield (*ordinary[:place], value, *ordinary[place + 1 :])


def values_of(parameter: str, kind: Any) -> list[Any]:
    """Return the sample values of an argument of this name and type, the ordinary one first."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind in FACTS:
        return list(FACTS[kind])
    if kind is str:
        return [TEXTS.get(parameter, f"[{parameter}]"), ""]
    if origin is Literal:
        return list(parts)
    if origin in (Union, types.UnionType):
        return [each for part in parts if part is not type(None) for each in values_of(parameter, part)] + [None]
    if origin is tuple and parts[-1] is not Ellipsis:
        return [tuple(values_of(f"{parameter} {place}", part)[0] for place, part in enumerate(parts, start=1))]
    if origin is not None and issubclass(origin, Mapping):
        return [{values_of(f"{parameter} {n}", parts[0])[0]: values_of(parameter, parts[1])[0] for n in (1, 2)}, {}]
    if origin is not None and issubclass(origin, Sequence | set | frozenset):
        return [_several(parameter, parts[0], count) for count in (2, 1, 0)]
    if is_dataclass(kind):
        assert isinstance(kind, type)
        hints = get_type_hints(kind)
        drawn = [values_of(each.name, hints[each.name]) for each in fields(kind)]
        return [kind(*each) for each in _one_at_a_time(drawn)]
    raise TypeError(f"no sample of {kind} for {parameter}: add one to FACTS")


def _several(parameter: str, kind: Any, count: int) -> list[Any]:
    return [values_of(f"{parameter.removesuffix('s')} {place}", kind)[0] for place in range(1, count + 1)]


def literals() -> Iterator[tuple[str, str]]:
    """Yield each piece of words in the room's functions and tables, with where it is."""
    for path in files():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        no_words = {id(one) for node in ast.walk(tree) for one in _not_said(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in no_words:
                if any(letter.isalpha() for letter in node.value):
                    yield f"{path.parent.name}/{path.name}:{node.lineno}", node.value


def _not_said(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the strings of a node that no sentence shows: docstrings, formats, types, and values that are compared."""
    if isinstance(node, ast.Expr):
        yield node.value
    elif isinstance(node, ast.FormattedValue) and node.format_spec is not None:
        yield from ast.walk(node.format_spec)
    elif isinstance(node, ast.Compare):
        yield from ast.walk(node)
    elif isinstance(node, ast.Subscript):
        yield from ast.walk(node)
    elif isinstance(node, ast.Dict):
        yield from (key for key in node.keys if key is not None)


#: How many words in a row read as a sentence, and what a text of them may not have: it is a pattern, or a type.
_SENTENCE_WORDS = 3
_NO_SENTENCE = re.compile(r"\\|\(\?|\[\^|\w\[\w|^\^")


def sentences_of(path: Path, tables: bool = True) -> Iterator[tuple[int, str]]:
    """Yield each text of a module that reads as a sentence, with its line; what is raised as an error is none.

    ``tables``: whether texts outside of functions count.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    left_out = {id(one) for node in ast.walk(tree) for one in _parts_left_out(node)}
    if not tables:
        left_out |= {id(one) for part in tree.body if not isinstance(part, ast.FunctionDef) for one in ast.walk(part)}
    for node in ast.walk(tree):
        if id(node) in left_out or not isinstance(node, ast.JoinedStr | ast.Constant):
            continue
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        text = "".join(_text_of(part) for part in parts)
        if len(_WORD.findall(text)) >= _SENTENCE_WORDS and " " in text.strip() and not _NO_SENTENCE.search(text):
            yield node.lineno, text


def _text_of(part: ast.expr) -> str:
    """Return a piece of a text; a value in braces is an ellipsis, and a number or None no text."""
    if isinstance(part, ast.Constant):
        return part.value if isinstance(part.value, str) else ""
    return "…"


def _parts_left_out(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is no sentence of a node: docstrings, errors, annotations, and the pieces of a formatted text."""
    if isinstance(node, ast.Expr):
        yield node.value
    elif isinstance(node, ast.Raise | ast.Assert):
        yield from ast.walk(node)
    elif isinstance(node, ast.JoinedStr):
        yield from (part for each in node.values for part in ast.walk(each) if isinstance(part, ast.Constant))
    elif isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
        yield from ast.walk(node.annotation)
    elif isinstance(node, ast.FunctionDef) and node.returns is not None:
        yield from ast.walk(node.returns)


def samples_of_all() -> Iterator[tuple[str, list[str]]]:
    """Yield each function of the room with its sample sentences."""
    for name, function in functions():
        yield name, samples(name, function)

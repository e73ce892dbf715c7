"""The field types that only systems/*.yaml has: names from a table, host patterns, and lists of nodes."""

import ipaddress
import re
from collections.abc import Collection
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from railyard.base.errors import did_you_mean
from railyard.base.fields import Name, Prose, one_or_many, refuse, show
from railyard.base.hostlist import expanded
from railyard.benchmarks.table.applications import APPLICATIONS
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.benchmarks.tools import TOOLS
from railyard.hardware import links
from railyard.site.systems import jobs
from railyard.stacks import table

_NODE_NAMES = 'names of nodes, or ranges of them such as "node[001-018,020]"'


def _known(names: Collection[str], what: str) -> AfterValidator:
    def check(name: str) -> str:
        if name in names:
            return name
        raise refuse(show(name), what, did_you_mean(name, names))

    return AfterValidator(check)


def _host_pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise refuse(show(text), "a regular expression", str(error)) from None
    return text


def _node_names(value: Any) -> list[Any]:
    given = value if isinstance(value, list) else [value]
    try:
        names = [name for each in given for name in (expanded(each) if isinstance(each, str) else [each])]
    except ValueError as error:
        raise refuse(show(", ".join(map(str, given))), _NODE_NAMES, str(error)) from None
    if not names:
        raise refuse("no name", _NODE_NAMES)
    return names


def sentence_or_false(value: Any) -> Any:
    """Return None for false, and a sentence as it is. Refuse anything else."""
    if value is False:
        return None
    if value is True or not isinstance(value, str):
        raise refuse(show(value), "false, or a sentence that says why there are no references")
    return value


StackName = Annotated[Name, _known(table.STACKS, "a stack of docs/reference/stacks.md")]
SlotName = Annotated[
    str,
    _known(links.SLOTS, "a slot of docs/reference/rates.md"),
    WithJsonSchema({"type": "string", "enum": list(links.SLOTS)}),
]
LinkName = Annotated[
    str,
    _known(links.LINKS, "a link of docs/reference/rates.md"),
    WithJsonSchema({"type": "string", "enum": list(links.LINKS)}),
]
ToolName = Annotated[
    Name, _known(TOOLS, "a tool of docs/howto/spack.md"), WithJsonSchema({"type": "string", "enum": list(TOOLS)})
]


SchedulerName = Annotated[
    Name,
    _known(jobs.SCHEDULERS, "a scheduler of docs/howto/clusters.md"),
    WithJsonSchema({"type": "string", "enum": list(jobs.SCHEDULERS)}),
]
LauncherName = Annotated[
    Name,
    _known(jobs.LAUNCHERS, "a launcher of ReFrame or Railyard"),
    WithJsonSchema({"type": "string", "enum": list(jobs.LAUNCHERS)}),
]
ModulesSystem = Annotated[
    Name,
    _known(jobs.MODULES_SYSTEMS, "a kind of environment modules that ReFrame has"),
    WithJsonSchema({"type": "string", "enum": list(jobs.MODULES_SYSTEMS)}),
]


def _subnet(text: str) -> str:
    try:
        return str(ipaddress.IPv4Network(text))
    except ValueError as error:
        raise refuse(show(text), 'an IPv4 network such as "10.1.0.0/16"', str(error)) from None


Subnet = Annotated[str, AfterValidator(_subnet)]


def _measured(name: str) -> str:
    known = [*BENCHMARKS, *APPLICATIONS]
    if name in known:
        return name
    expected = f"a benchmark that Railyard knows, or the tool of applications ({', '.join(APPLICATIONS)})"
    raise refuse(show(name), expected, did_you_mean(name, known))


MeasuredBenchmark = Annotated[str, AfterValidator(_measured)]
HostPattern = Annotated[Prose, AfterValidator(_host_pattern)]
NodeNames = Annotated[tuple[Name, ...], BeforeValidator(_node_names), one_or_many({"type": "string"})]
#: 2 for a network of 2 to 1; a network gives half of the nodes no more than their cards can take.
Blocking = Annotated[float, Field(strict=True, ge=1)]

"""The target of a stored output, as a person names it: a link alone, with the MTU that the output prints."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from railyard.base.errors import RailyardError, did_you_mean
from railyard.base.patterns import late_regex
from railyard.base.wording import either
from railyard.hardware.day_one import UNNAMED
from railyard.hardware.limits import LinkAlone, link_alone
from railyard.hardware.links import LINKS, SLOTS, Link, links_meant, why_no_link
from railyard.parsers.output import Table
from railyard.verdict.inputs import Target
from railyard.verdict.wording import stored_outputs as words

ANY_STACK = "any stack"
#: What connects the GPUs of one node, as a person may write it: nvlink-4, NVLink4, xgmi-mi300x, pcie4-x16,
#: pcie-gen4-x16.
_GPU_LINK = late_regex(
    r"nvlink[-_ ]?(?P<nvlink>[1-5])|xgmi[-_ ]?(?P<xgmi>[a-z0-9]{0,16})"
    r"|pcie[-_ ]?(?:gen)?(?P<slot>[0-9])[-_ ]?x(?P<lanes>[0-9]{1,2})"
)
#: Boards of four GPUs share out a GPU's links to the three others; boards of eight have switches, from NVLink 3 on.
_FEWEST_LINKS = 4


@dataclass(frozen=True, slots=True)
class Nodes:
    """Where a stored run was: ``pairs`` of nodes that its values are summed over, how many nodes, and ``ranks_each`` on
    each of them (None: unknown).
    """

    pairs: int = 1
    count: int | None = None
    ranks_each: int | None = None


ANY_NODES = Nodes()


def of_link(link: str, slot: str | None = None, rails: int = 1, mtu: int | None = None) -> Target:
    """Return a link alone, with a card and a slot for each rail. ``link`` may be another name that means only one link.

    It may also be what connects the GPUs of one node: NVLink (nvlink-4), Infinity Fabric (xgmi-mi300x) or their slots
    (pcie4-x16).

    Raises RailyardError if a name is not in the tables, or if the link does not have the MTU.
    """
    if (found := _GPU_LINK.fullmatch(link.lower())) is not None:
        return _of_gpus(link, found, slot is None and mtu is None and rails == 1)
    meant = links_meant(link)
    if len(meant) != 1:
        hint = why_no_link(link)
        raise RailyardError(f'--link: found "{link}", expected a link of docs/reference/rates.md; {hint}')
    link = meant[0]
    if slot is not None and slot not in SLOTS:
        hint = did_you_mean(slot, SLOTS)
        raise RailyardError(f'--slot: found "{slot}", expected a slot of docs/reference/rates.md; {hint}')
    check_rails(rails, None, link)
    known = LINKS[link]
    if mtu is not None and mtu not in known.mtus and not (known.headers == "tcp" and 576 <= mtu <= 65535):
        if not known.mtus:
            raise RailyardError(f"--mtu: found {mtu}, expected none: Railyard does not know the headers of {link}")
        raise RailyardError(f"--mtu: found {mtu}, expected one of {', '.join(map(str, known.mtus))}")
    return Target("", link, link_alone(known, rails, slot, mtu), ANY_STACK, rails, "any", None)


def _of_gpus(name: str, found: re.Match[str], is_alone: bool) -> Target:
    """Return what connects the GPUs of one node, and no network. A board of four has the fewest links between two."""
    from railyard.hardware.gpu_nodes import GPU_LINKS, XGMI_GPUS
    from railyard.site.systems.parts import Gpus

    if not is_alone:
        raise RailyardError(f"--link: found {name} with --slot, --mtu or --rails, expected none: it is within one node")
    slot = None if found["slot"] is None else f"pcie{found['slot']}-x{found['lanes']}"
    if slot is not None and slot not in SLOTS:
        hint = did_you_mean(slot, SLOTS)
        raise RailyardError(f'--link: found "{name}", expected a slot of docs/reference/rates.md; {hint}')
    xgmi = found["xgmi"]
    # boards of eight with a link between any two GPUs; pairs of GCDs of an MI250X have one, two or four links
    equal = [gpu for gpu in XGMI_GPUS if GPU_LINKS[f"xgmi-{gpu}"].pair_links == 1]
    if xgmi is not None and xgmi not in equal:
        names = either([f"xgmi-{gpu}" for gpu in equal])
        if xgmi in XGMI_GPUS:
            raise RailyardError(
                f'--link: found "{name}", expected {names}; two of its GPUs have one, two or four links'
            )
        raise RailyardError(f'--link: found "{name}", expected {names}')
    nvlink = None if found["nvlink"] is None else int(found["nvlink"])
    said = {"per_node": _FEWEST_LINKS, "kind": words.named_by_link(), "nvlink": nvlink, "xgmi": xgmi, "slot": slot}
    gpus = Gpus.model_validate(said)
    return replace(unnamed_link(), fabric_name=name, gpus=gpus)


def with_printed_gpus(target: Target, tables: Sequence[Table]) -> Target:
    """Return the target with as many GPUs as equal tables print, if only what connects them is named.

    A board of eight has switches, and all links lead to any GPU. Of fewer GPUs, others may be hidden.
    """
    printed = tables[0].context.get("gpus")
    if not target.gpus_alone or target.gpus is None or not isinstance(printed, int) or printed <= target.gpus.per_node:
        return target
    return replace(target, gpus=target.gpus.model_copy(update={"per_node": printed}))


def with_printed_mtu(target: Target, tables: Sequence[Table]) -> tuple[Target, tuple[str, ...]]:
    """Return the target with the path's MTU that equal tables print, and a remark where it is not the expected one.

    A link alone takes it, unless ``--mtu`` names one. A system's file keeps its own. With rdma_cm the printed MTU is
    the port's: the connection's own is not printed.
    Source: linux-rdma/perftest, src/perftest_resources.c (ctx_modify_qp_to_rtr) and perftest_parameters.c (curr_mtu).
    """
    said, fabric = tables[0].context, target.fabric
    printed, largest = said.get("mtu"), max(fabric.link.mtus, default=None)
    meant = fabric.mtu or largest
    if printed not in fabric.link.mtus or not isinstance(printed, int) or said.get("rdma_cm") or printed == meant:
        return target, ()
    if isinstance(fabric, LinkAlone) and fabric.mtu is None:
        remark = words.unlike_mtu(printed, fabric.link.name, largest)
        return replace(target, fabric=replace(fabric, mtu=printed)), (remark,)
    by: Literal["option", "file", "link"] = "file" if fabric.mtu else "link"
    return target, (words.other_mtu(printed, "option" if isinstance(fabric, LinkAlone) else by, meant),)


def unnamed_link() -> Target:
    """Return a link that nobody named: it bounds nothing, so only the curve by itself is judged."""
    link = Link(
        *(UNNAMED, UNNAMED, None, None, "none", None, UNNAMED),
        headers="none",
        mtus=(),
        source=words.unnamed_source(),
    )
    return Target("", words.unnamed_link(), link_alone(link), ANY_STACK, 1, "any", None)


def check_rails(rails: int, most: int | None, where: str) -> None:
    """Raise RailyardError unless there are 1 to ``most`` rails; ``most`` None: any number. ``where`` has them."""
    if most is not None and not 1 <= rails <= most:
        raise RailyardError(f"--rails: found {rails}, expected 1 to {most}, the rails of {where}")
    if rails < 1:
        raise RailyardError(f"--rails: found {rails}, expected at least 1")

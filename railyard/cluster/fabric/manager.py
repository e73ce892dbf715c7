"""The subnet manager: what ``sminfo`` prints, and whether a manager is in charge."""

import re

from railyard.cluster.fabric.model import ExpectedFabric, Finding, Manager, Readings

# sminfo: sm lid 1 sm guid 0xb8599f0300001015, activity count 446 priority 0 state 3 SMINFO_MASTER
_SMINFO = re.compile(
    r"^sminfo: sm lid (?P<lid>[0-9]{1,6}) sm guid (?P<guid>0x[0-9a-fA-F]{1,16}), activity count [0-9]{1,20} "
    r"priority [0-9]{1,3} state [0-9]{1,3} SMINFO_(?P<state>[A-Z_]{1,30})\s*$",
    re.MULTILINE,
)
_START = "start one (opensm, or the switch's own), and read its log"


def parse_sminfo(text: str) -> Manager | None:
    """Return what ``sminfo`` prints; None if no manager answers in the text."""
    found = _SMINFO.search(text)
    return Manager(int(found["lid"]), found["guid"].lower(), found["state"]) if found else None


def manager_findings(expected: ExpectedFabric, readings: Readings) -> list[Finding]:
    """Return a finding if a manager is expected and none is in charge.

    Without ``sminfo`` the nodes' own ports show it: if a linked port has no manager's LID, no manager configured it.
    """
    if not expected.subnet_manager:
        return []
    if readings.managers:
        return [finding for asked, manager in readings.managers.items() for finding in _answer_findings(asked, manager)]
    linked = [
        port
        for port in readings.own
        if expected.rail(port.device, port.port) and port.physical_state == "LinkUp" and port.sm_lid is not None
    ]
    if linked and all(port.sm_lid == 0 for port in linked):
        return [_finding("no subnet manager's LID on any port that is linked", _START)]
    return []


def _answer_findings(asked: str, manager: Manager | None) -> list[Finding]:
    where = f", asked from {asked}" if asked else ""
    if manager is None:
        return [_finding(f"no subnet manager that answers{where}", _START)]
    if manager.state != "MASTER":
        shown = f"the subnet manager {manager.guid} (LID {manager.lid}) in state {manager.state}{where}"
        return [
            _finding(shown, "a standby manager does not manage the subnet: read its log, and check the other managers")
        ]
    return []


def _finding(found: str, fix: str) -> Finding:
    return Finding("manager", None, None, None, found, "a subnet manager in charge (MASTER)", fix)

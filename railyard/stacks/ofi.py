"""What all stacks over a Libfabric provider share: devices, knobs, and the line in the log."""

from railyard.stacks.model import Knob, Proof, Setting

_LIBFABRIC = "ofiwg.github.io/libfabric"

CXI_DEVICES = Setting(
    "FI_CXI_DEVICE_NAME",
    "{devices}",
    "only these Slingshot NICs (cxi0,cxi1)",
    "documented for Libfabric 1.22 and newer",
    f"{_LIBFABRIC} fi_cxi(7)",
)
EFA_DEVICES = Setting(
    "FI_EFA_IFACE",
    "{devices}",
    "only these EFA devices (rdmap0s6,rdmap1s6); older Libfabrics ignore it silently",
    "documented for Libfabric 2.1 and newer (1.22 lacks it)",
    f"{_LIBFABRIC} fi_efa(7)",
)
OPX_DEVICE = Setting(
    "FI_OPX_HFI_SELECT",
    "{units}",
    "this Omni-Path card, by its number (hfi1_0 is 0)",
    "documented for Libfabric 1.18 and newer",
    f"{_LIBFABRIC} fi_opx(7)",
)

_LOG = Setting(
    "FI_LOG_LEVEL",
    "info",
    "at this level Libfabric prints what it opens",
    "Libfabric 2.4, tried with tcp",
    f"{_LIBFABRIC} fabric(7)",
)
_NOT_DEVICES = "it does not name the devices; only the counters prove which ones"


def _proof_of_fabric(name: str) -> Proof:
    return Proof(
        (_LOG,),
        rf"<info> Opened fabric: .*{name}",
        f"each process prints `Opened fabric:` with the provider's fabric; {_NOT_DEVICES}",
    )


PROVIDER_PROOF = {
    "cxi": _proof_of_fabric("cxi"),
    "efa": Proof(
        (_LOG,),
        r"selected device {device}\s",
        "each process prints `Domain … selected device …` for each domain that it opens (Libfabric 2.x, "
        "prov/efa/src/efa_domain.c)",
    ),
    "opx": _proof_of_fabric("(?:opx|OPX)"),
}

_NO_GID = "a GID index belongs to RDMA devices with a GID table, and this provider does not let you choose it"

KNOBS: dict[str, dict[str, Knob]] = {
    "cxi": {
        "gid_index": "Slingshot's own protocol has no GIDs",
        "traffic_class": "Slingshot's classes have names, not numbers, and the launcher grants them (fi_cxi(7))",
        "service_level": "Slingshot has traffic classes with names, and no service levels",
    },
    "efa": {
        "gid_index": "EFA devices have one GID, so there is nothing to choose",
        "traffic_class": "the EFA provider has no setting for it (fi_efa(7))",
        "service_level": "EFA has no service levels",
    },
    "opx": {
        "gid_index": _NO_GID,
        "traffic_class": "OPX takes only a service level (FI_OPX_SL)",
        "service_level": Setting(
            "FI_OPX_SL",
            "{knob}",
            "service level, which decides service class and virtual lane",
            "documented for Libfabric 1.22 and newer",
            f"{_LIBFABRIC} fi_opx(7)",
        ),
    },
}

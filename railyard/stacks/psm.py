"""What PSM2 (Omni-Path) and PSM3 (sockets, verbs) share in all stacks: devices, rails, proof."""

from railyard.stacks.model import MEMORIES, Knob, Memories, Proof, Setting, Spread

_PSM2 = "github.com/cornelisnetworks/opa-psm2 psm_ep.c"
_PSM3 = "github.com/ofiwg/libfabric prov/psm3/psm3"
PSM2_VERSION = "PSM2 source of November 2024"

PSM2_SINGLE = Spread(
    "single",
    "one rail: nothing is split",
    (
        Setting("PSM2_MULTIRAIL", "0", "off; the default, set explicitly", PSM2_VERSION, f"{_PSM2}, psmi_ep_multirail"),
        Setting("HFI_UNIT", "{units}", "the card, by its number (hfi1_0 is 0)", PSM2_VERSION, f"{_PSM2}, HFI_UNIT"),
        Setting("HFI_PORT", "{port}", "its port", PSM2_VERSION, f"{_PSM2}, HFI_PORT"),
    ),
)
PSM2_STRIPING = Spread(
    "striping",
    "above 64000 B (PSM2_MQ_RNDV_HFI_THRESH) windows of 128 KiB (PSM2_MQ_RNDV_HFI_WINDOW) take the rails in turn, so "
    "from 512 KiB one message goes over up to four rails; shorter messages take the rails in turn as a whole",
    (
        Setting("PSM2_MULTIRAIL", "1", "one process uses several cards", PSM2_VERSION, f"{_PSM2}, psmi_ep_multirail"),
        Setting(
            "PSM2_MULTIRAIL_MAP",
            "{unit_ports}",
            "these cards and ports (0:1,1:1) instead of all",
            PSM2_VERSION,
            f"{_PSM2}, psmi_ep_multirail; docs.open-mpi.org v5.0.x tuning-apps/networking/ofi",
        ),
    ),
    threshold_bytes=4 * 128 * 1024,
    max_rails=4,
)
PSM2_NO_ROUND_ROBIN = (
    "PSM2 takes the rails in turn for short messages and splits long ones; it has no setting for that."
)
PSM2_NO_NIC_PER_RANK = (
    "PSM2 spreads ranks over all cards of their NUMA node (multi-HFI) and takes no list of cards for it: use striping."
)
PSM2_PROOF = Proof(
    (
        Setting(
            "PSM2_IDENTIFY",
            "1",
            "prints the library, its version and driver interface",
            PSM2_VERSION,
            "github.com/cornelisnetworks/opa-psm2 psm.c",
        ),
    ),
    r"PSM2_IDENTIFY PSM2 v",
    "each process prints `PSM2_IDENTIFY PSM2 v…`, which proves PSM2; it does not name the cards; only the counters "
    "prove which ones",
)
PSM2_KNOBS: dict[str, Knob] = {
    "gid_index": "PSM2 addresses by LID: it has no GID index",
    "traffic_class": "PSM2 takes only a service level (HFI_SL)",
    "service_level": Setting(
        "HFI_SL", "{knob}", "outgoing service level; a path query overrides it", PSM2_VERSION, f"{_PSM2}, HFI_SL"
    ),
}

PSM3_VERSION = "Intel MPI 2021.18.1, tried (2021.19 no longer brings PSM3)"


def _psm3(
    policy: str, says: str, hal: str, provider: Setting, multirail: tuple[str, str], chosen: tuple[str, str]
) -> Spread:
    """Return a policy of PSM3 over sockets or verbs, from value and reason of PSM3_MULTIRAIL and of its map of NICs."""
    return Spread(
        policy,
        says,
        (
            provider,
            Setting("PSM3_HAL", hal, "what PSM3 itself uses", PSM3_VERSION, f"{_PSM3}/psm2_hal.c"),
            Setting("PSM3_MULTIRAIL", *multirail, PSM3_VERSION, f"{_PSM3}/psm_nic_select.c"),
            Setting("PSM3_MULTIRAIL_MAP", *chosen, PSM3_VERSION, f"{_PSM3}/psm_nic_select.c"),
            Setting(
                "PSM3_ALLOW_ROUTERS",
                "1",
                "rails in different subnets count as one network plane; without it ranks refuse each other",
                PSM3_VERSION,
                f"{_PSM3}/psm.c",
            ),
            Setting(
                "PSM3_DEVICES",
                "self,nic",
                "ranks of a node do not use PSM3's own shared memory",
                PSM3_VERSION,
                f"{_PSM3}/psm_ep.c",
            ),
        ),
        max_rails=32,
        proof=PSM3_PROOF,
        knobs=PSM3_KNOBS,
    )


def psm3_round_robin(hal: str, provider: Setting) -> Spread:
    """Return PSM3's round robin over sockets or verbs. ``provider`` is the setting that makes the stack use PSM3."""
    return _psm3(
        "round-robin",
        "whole messages of any size take the rails in turn: a ping-pong stays at one rail's rate (47.9 of "
        "47.8 MB/s, bytes 65/80 MB), a window of messages uses all rails",
        hal,
        provider,
        ("1", "one process uses several NICs"),
        ("{ports}", "these NICs instead of all"),
    )


def psm3_nic_per_rank(hal: str, provider: Setting) -> Spread:
    """Return PSM3's NIC per rank: the local rank's number chooses a set of NICs, here with one NIC each."""
    return _psm3(
        "nic-per-rank",
        "each rank uses one NIC for all sizes, local rank i the NIC i modulo their number",
        hal,
        provider,
        ("1", "with several sets of NICs the local rank's number chooses one (2: its NUMA node)"),
        ("{sets}", "sets of one NIC each: semicolons separate sets, commas separate the NICs of a set"),
    )


PSM3_PROOF = Proof(
    (
        Setting(
            "PSM3_IDENTIFY",
            "1",
            "prints the NICs that PSM3 opened",
            "Intel MPI 2021.18.1, tried",
            f"{_PSM3}/psm_utils.c",
        ),
    ),
    r"PSM3_IDENTIFY NIC \d+ \({device}\) Port",
    "each process prints `PSM3_IDENTIFY NIC 0 (hsn0) Port 1 …` for each NIC that it opens",
)
PSM3_KNOBS: dict[str, Knob] = {
    "gid_index": "PSM3 chooses its address by subnet (PSM3_SUBNETS), not by a GID index",
    "traffic_class": "PSM3 has no setting for it",
    "service_level": "PSM3's service level (PSM3_NIC_SL) is a hidden setting, and sockets have none",
}

NO_MEMORIES: Memories = dict.fromkeys(
    MEMORIES, "not enough is known about how PSM2 takes messages from the memory of GPUs (PSM2_CUDA) to test it"
)

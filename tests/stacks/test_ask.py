"""The exact settings of each stack, and the sentence if a setting is impossible."""

from collections.abc import Mapping

import pytest

from railyard.base.errors import RailyardError
from railyard.stacks import ask
from railyard.stacks.model import POLICIES, STACKS, Way, split_threshold, tuned_name

NAMES = {
    "tcp": ["hsn0", "hsn1"],
    "ib": ["mlx5_0", "mlx5_1"],
    "roce": ["mlx5_0:1", "mlx5_1:1"],
    "opa": ["hfi1_0", "hfi1_1"],
    "slingshot": ["cxi0", "cxi1"],
    "efa": ["rdmap0s6", "rdmap1s6"],
}


# ---- the three stacks of the virtual cluster, word for word

TOLD = [
    (
        ("openmpi", ["hsn0"]),
        "single",
        None,
        {
            "OMPI_MCA_pml": "ob1",
            "OMPI_MCA_btl": "tcp,self",
            "OMPI_MCA_osc": "^ucx",
            "OMPI_MCA_btl_tcp_if_include": "hsn0",
        },
    ),
    (
        ("openmpi", ["hsn0", "hsn1"]),
        "striping",
        262144,
        {
            "OMPI_MCA_pml": "ob1",
            "OMPI_MCA_btl": "tcp,self",
            "OMPI_MCA_osc": "^ucx",
            "OMPI_MCA_btl_tcp_if_include": "hsn0,hsn1",
        },
    ),
    (
        ("mpich", ["hsn1"]),
        "single",
        None,
        {
            "MPIR_CVAR_CH4_NETMOD": "ucx",
            "UCX_TLS": "tcp,self",
            "UCX_NET_DEVICES": "hsn1",
            "UCX_MAX_RNDV_RAILS": "1",
            "UCX_MAX_EAGER_RAILS": "1",
        },
    ),
    (
        ("mpich", ["hsn0", "hsn1"]),
        "striping",
        1048576,
        {
            "MPIR_CVAR_CH4_NETMOD": "ucx",
            "UCX_TLS": "tcp,self",
            "UCX_NET_DEVICES": "hsn0,hsn1",
            "UCX_MAX_RNDV_RAILS": "2",
            "UCX_MAX_EAGER_RAILS": "1",
        },
    ),
    (
        ("intelmpi", ["hsn0"]),
        "single",
        None,
        {"I_MPI_FABRICS": "ofi", "I_MPI_OFI_PROVIDER": "tcp", "FI_TCP_IFACE": "hsn0"},
    ),
    (
        ("intelmpi", ["hsn0", "hsn1"]),
        "round-robin",
        None,
        {
            "I_MPI_FABRICS": "ofi",
            "I_MPI_OFI_PROVIDER": "psm3",
            "PSM3_HAL": "sockets",
            "PSM3_MULTIRAIL": "1",
            "PSM3_MULTIRAIL_MAP": "hsn0:1,hsn1:1",
            "PSM3_ALLOW_ROUTERS": "1",
            "PSM3_DEVICES": "self,nic",
        },
    ),
]


@pytest.mark.parametrize(("asked", "policy", "threshold_bytes", "env"), TOLD)
def test_tcp_is_told_so(
    asked: tuple[str, list[str]], policy: str, threshold_bytes: int | None, env: Mapping[str, str]
) -> None:
    name, devices = asked
    found = ask.settings(name, "tcp", devices, len(devices))
    assert (found.policy, found.threshold_bytes, found.options) == (policy, threshold_bytes, ())
    assert list(found.env.items()) == list(env.items())


def test_a_port_other_than_1_reaches_the_stack() -> None:
    assert ask.settings("openmpi", "ib", ["mlx5_0:2"], 1).env["UCX_NET_DEVICES"] == "mlx5_0:2"
    env = ask.settings("mvapich2", "ib", ["mlx5_0:2", "mlx5_3:2"], 2).env
    assert (env["MV2_IBA_HCA"], env["MV2_DEFAULT_PORT"]) == ("mlx5_0:mlx5_3", "2")


def test_two_ports_of_one_card_are_two_rails() -> None:
    assert ask.settings("mpich", "ib", ["mlx5_0:1", "mlx5_0:2"], 2).env["UCX_NET_DEVICES"] == "mlx5_0:1,mlx5_0:2"


def test_omni_path_cards_are_told_by_number() -> None:
    env = ask.settings("openmpi", "opa", ["hfi1_1", "hfi1_0"], 2).env
    assert (env["PSM2_MULTIRAIL"], env["PSM2_MULTIRAIL_MAP"]) == ("1", "1:1,0:1")


def test_psm3_is_told_a_set_of_one_nic_for_each_rank() -> None:
    """Local rank i takes set i: with only one set, all ranks would use both NICs in turn."""
    env = dict(ask.settings("intelmpi", "tcp", ["hsn0", "hsn1"], 2, "round-robin").env)
    found = ask.settings("intelmpi", "tcp", ["hsn0", "hsn1"], 2, "nic-per-rank")
    assert found.env == env | {"PSM3_MULTIRAIL_MAP": "hsn0:1;hsn1:1"}
    assert (found.policy, found.threshold_bytes) == ("nic-per-rank", None)


def test_mvapich2_does_all_four_policies() -> None:
    found = {policy: ask.settings("mvapich2", "ib", NAMES["ib"], 2, policy) for policy in POLICIES[1:]}
    assert found["striping"].env["MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD"] == "16384"
    assert found["striping"].threshold_bytes == 32768
    assert found["round-robin"].env["MV2_RAIL_SHARING_POLICY"] == "ROUND_ROBIN"
    assert found["nic-per-rank"].env["MV2_PROCESS_TO_RAIL_MAPPING"] == "SCATTER"


def test_striping_takes_another_threshold_where_the_stack_has_a_setting_for_it() -> None:
    found = ask.settings("mvapich2", "ib", NAMES["ib"], 2, "striping-8K")
    assert found.env["MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD"] == "8192"
    # it splits sizes above this: with powers of two, from the next one on
    assert (found.policy, found.policy_name, found.threshold_bytes) == ("striping", "striping-8K", 16384)
    plain = ask.settings("mvapich2", "ib", NAMES["ib"], 2, "striping")
    assert list(found.env) == list(plain.env)
    assert (plain.policy, plain.policy_name) == ("striping", "striping")
    ofi = ask.settings("mpich", "slingshot", NAMES["slingshot"], 2, "striping-256K")
    assert ofi.env["MPIR_CVAR_CH4_OFI_MULTI_NIC_STRIPING_THRESHOLD"] == "262144"
    assert ofi.threshold_bytes == 262144


def test_the_policies_of_a_stack_begin_with_its_default() -> None:
    assert ask.policies("mvapich2", "ib", 2) == ("striping", "round-robin", "nic-per-rank")
    assert ask.policies("mvapich2", "ib", 1) == ("single",)
    assert ask.policies("mpich", "ib", 8) == ("nic-per-rank",)
    assert ask.policies("hpcx", "slingshot", 1) == ()


@pytest.mark.parametrize(("size", "name"), [(8192, "striping-8K"), (1 << 20, "striping-1M"), (1000, "striping-1000")])
def test_a_threshold_has_one_name(size: int, name: str) -> None:
    assert tuned_name(size) == name
    assert split_threshold(name) == ("striping", size)


def test_nic_per_rank_brings_the_words_that_bind() -> None:
    assert ask.settings("openmpi", "ib", NAMES["ib"], 2, "nic-per-rank").options == (
        "--map-by",
        "numa",
        "--bind-to",
        "numa",
    )
    assert ask.settings("mpich", "slingshot", NAMES["slingshot"], 2, "nic-per-rank").options == (
        "-bind-to",
        "numa",
    )


def test_nic_per_rank_names_the_variable_by_which_a_rank_is_given_its_own() -> None:
    """If the library itself deals out NICs by local rank, there is none."""
    told = {
        (stack, kind): ask.settings(stack, kind, NAMES[kind], 2, "nic-per-rank").rank_variable
        for stack, kind in (
            ("openmpi", "ib"), ("mpich", "roce"), ("craympich", "ib"), ("openmpi", "slingshot"), ("openmpi", "efa"),
            ("mpich", "slingshot"), ("craympich", "slingshot"), ("intelmpi", "ib"), ("mvapich2", "ib"),
        )
    }  # fmt: skip
    assert [name for name in told.values() if name] == [
        "UCX_NET_DEVICES", "UCX_NET_DEVICES", "UCX_NET_DEVICES", "FI_CXI_DEVICE_NAME", "FI_EFA_IFACE",
    ]  # fmt: skip
    assert ask.settings("openmpi", "ib", NAMES["ib"], 2, "striping").rank_variable == ""


def test_ucx_is_given_the_ways_to_the_memory_of_gpus_beside_its_own() -> None:
    told = ask.settings("openmpi", "ib", ["mlx5_0:1"], 1, memory="cuda").env
    assert told["UCX_TLS"] == "ib,sm,self,cuda"
    assert ask.settings("openmpi", "ib", ["mlx5_0:1"], 1).env["UCX_TLS"] == "ib,sm,self"
    assert told["UCX_NET_DEVICES"] == "mlx5_0:1"
    assert ask.settings("craympich", "slingshot", ["cxi0"], 1, memory="rocm").env["MPICH_GPU_SUPPORT_ENABLED"] == "1"
    with pytest.raises(
        RailyardError, match=r"^intelmpi on ib: Intel MPI takes messages only from the memory of Intel's "
    ):
        ask.settings("intelmpi", "ib", ["mlx5_0"], 1, memory="rocm")


def test_knobs_are_set_where_the_stack_has_them() -> None:
    ucx = ask.settings("mpich", "roce", ["mlx5_0"], 1, knobs=ask.Knobs(3, 106, 5)).env
    assert (ucx["UCX_IB_GID_INDEX"], ucx["UCX_IB_TRAFFIC_CLASS"], ucx["UCX_IB_SL"]) == ("3", "106", "5")
    mv2 = ask.settings("mvapich2", "roce", ["mlx5_0"], 1, knobs=ask.Knobs(gid_index=3, service_level=0)).env
    assert (mv2["MV2_DEFAULT_GID_INDEX"], mv2["MV2_DEFAULT_SERVICE_LEVEL"]) == ("3", "0")


def test_a_client_and_a_server_are_told_knobs_in_their_own_words() -> None:
    found = ask.settings("verbs", "roce", ["mlx5_0:1"], 1, knobs=ask.Knobs(3, 104, 5))
    assert found.words == ("-x", "3", "--tclass=104", "-S", "5")
    assert (dict(found.env), ask.settings("verbs", "roce", ["mlx5_0:1"], 1).words) == ({}, ())


def test_a_stack_that_cannot_be_told_a_knob_has_neither_policies_nor_a_run() -> None:
    lossless = ask.Knobs(traffic_class=104)
    assert ask.policies("mvapich2", "roce", 2, lossless) == ()
    assert ask.why_not("mvapich2", "roce", 1, None, lossless) == (
        "mvapich2 on roce: traffic class 104 was asked for, but mvapich2 has no setting for it (only for a service "
        "level)"
    )
    # Round robin there is PSM3's, which has no traffic class; UCX's policies stay.
    assert ask.policies("intelmpi", "roce", 2, lossless) == ("striping", "nic-per-rank")
    assert "round-robin" in ask.policies("intelmpi", "roce", 2)


def test_the_variables_of_knobs_are_known_without_devices() -> None:
    assert ask.knob_variables("openmpi", "roce", ask.Knobs(3, 104)) == {
        "UCX_IB_GID_INDEX": "3",
        "UCX_IB_TRAFFIC_CLASS": "104",
    }
    assert ask.knob_variables("verbs", "roce", ask.Knobs(3, 104)) == {}
    assert ask.knob_variables("openmpi", "roce", ask.Knobs()) == {}


# ---- what cannot be done

WHY_NOT = [
    (
        ("opnmpi", "tcp", 1, None),
        'unknown stack "opnmpi": did you mean "openmpi"?',
    ),
    (
        ("openmpi", "tpc", 1, None),
        'unknown kind of fabric "tpc": did you mean "tcp"?',
    ),
    (
        ("openmpi", "tcp", 1, "stripping"),
        'unknown rail policy "stripping": did you mean "striping"?',
    ),
    (
        ("mvapich2", "ib", 2, "striping-8192"),
        'unknown rail policy "striping-8192": did you mean "striping-8K"?',
    ),
    (
        ("mvapich2", "ib", 2, "striping-4K"),
        "mvapich2 on ib: striping-4K was asked for, and MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD takes no less than 8192 B",
    ),
    (
        ("mvapich2", "ib", 2, "striping-16K"),
        "mvapich2 on ib: striping-16K is what MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD is set to by default: write "
        "striping",
    ),
    (
        ("mvapich2", "ib", 1, "striping-8K"),
        "mvapich2 on ib: policy striping needs at least 2 rails, 1 was asked for",
    ),
    (
        ("openmpi", "ib", 2, "striping-8K"),
        "openmpi on ib: striping-8K was asked for, and no setting changes from which size pml/ucx stripes: only "
        "rendezvous messages of 32 KiB and more: no piece is smaller than 16 KiB (UCX_MIN_RNDV_CHUNK_SIZE). UCX "
        "estimates at its start, from the devices, where rendezvous begins: UCX_PROTO_INFO=y prints it",
    ),
    (
        ("openmpi", "tcp", 0, None),
        "rails is 0: a run needs at least 1",
    ),
    (
        ("intelmpi", "tcp", 2, "striping"),
        "intelmpi on tcp: Intel MPI over OFI tcp takes two interfaces and silently uses one. PSM3 over sockets uses "
        "both but sends whole messages in turn: use round-robin.",
    ),
    (
        ("mpich", "tcp", 2, "round-robin"),
        "mpich on tcp: UCX splits one large message over its devices and sends small ones over the first: it has no "
        "round robin (mvapich2 has).",
    ),
    (
        ("openmpi", "tcp", 1, "striping"),
        "openmpi on tcp: policy striping needs at least 2 rails, 1 was asked for",
    ),
    (
        ("openmpi", "tcp", 2, "single"),
        "openmpi on tcp: policy single uses one rail, 2 were asked for",
    ),
    (
        ("mpich", "ib", 5, "striping"),
        "mpich on ib: striping over ch4:ucx uses at most 4 rails, 5 were asked for",
    ),
    (
        ("hpcx", "slingshot", 1, None),
        "hpcx on slingshot: HPC-X carries messages only over UCX, which has no transport for this fabric: use openmpi.",
    ),
    (
        ("craympich", "slingshot", 2, "striping"),
        "craympich on slingshot: Cray MPICH gives each rank exactly one NIC and never splits a message: use "
        "nic-per-rank.",
    ),
    (
        ("mpich", "opa", 2, None),
        "mpich on opa: no policy uses 2 rails: OPX opens one card per process. It splits messages only on CN5000 and "
        "newer (FI_OPX_MULTI_HFI_STRIPING), never on Omni-Path 100: use openmpi or intelmpi with PSM2. OPX takes a "
        "card by NUMA node or core (FI_OPX_HFI_SELECT=numa:0:0,numa:1:1), which needs the node's topology instead of "
        "a list of devices.",
    ),
]


@pytest.mark.parametrize(("asked", "sentence"), WHY_NOT)
def test_why_not_says_so(asked: tuple[str, str, int, str | None], sentence: str) -> None:
    assert ask.why_not(*asked) == sentence


@pytest.mark.parametrize(("asked", "sentence"), WHY_NOT)
def test_settings_raises_the_same_sentence(asked: tuple[str, str, int, str | None], sentence: str) -> None:
    name, kind, rails, policy = asked
    with pytest.raises(RailyardError) as raised:
        ask.settings(name, kind, [f"mlx5_{i}" for i in range(rails)], rails, policy)
    assert str(raised.value) == sentence


def test_what_can_be_done_has_no_reason() -> None:
    for name, stack in STACKS.items():
        for kind, way in stack.ways.items():
            for spread in way.spreads if isinstance(way, Way) else ():
                assert ask.why_not(name, kind, 1 if spread.policy == "single" else 2, spread.policy) is None


def test_rails_beyond_one_policy_fall_to_the_next() -> None:
    """UCX splits over at most 4; with 8 cards the next policy in the table is NIC per rank, which has no such limit."""
    assert ask.why_not("mpich", "ib", 8) is None
    assert ask.settings("mpich", "ib", [f"mlx5_{i}" for i in range(8)], 8).policy == "nic-per-rank"


REFUSED = [
    (
        ("mpich", "tcp", ["hsn0"], 2, {}),
        "mpich: 2 rails need 2 devices, 1 given (hsn0)",
    ),
    (
        ("mpich", "tcp", ["hsn0", "hsn0"], 2, {}),
        "mpich: a device is named twice (hsn0, hsn0): each rail is a device and port",
    ),
    (
        ("mpich", "tcp", ["--help"], 1, {}),
        'mpich: device "--help" is not a device\'s name (hsn0, mlx5_0, or mlx5_0:1 for its port 1)',
    ),
    (
        ("mpich", "ib", ["mlx5_0:one"], 1, {}),
        'mpich: device "mlx5_0:one" is not a device\'s name (hsn0, mlx5_0, or mlx5_0:1 for its port 1)',
    ),
    (
        ("mvapich2", "ib", ["mlx5_0:1", "mlx5_0:2"], 2, {}),
        "mvapich2: takes one port per card, the same on every card; mlx5_0:1, mlx5_0:2 are not",
    ),
    (
        ("openmpi", "opa", ["card"], 1, {}),
        'openmpi: needs its devices by number, and "card" does not end in one (hfi1_0)',
    ),
    (
        ("openmpi", "tcp", ["hsn0"], 1, {"gid_index": 3}),
        "openmpi on tcp: GID index 3 was asked for, but a GID index belongs to RDMA devices, and TCP has none",
    ),
    (
        ("mvapich2", "roce", ["mlx5_0"], 1, {"traffic_class": 106}),
        "mvapich2 on roce: traffic class 106 was asked for, but mvapich2 has no setting for it (only for a service "
        "level)",
    ),
    (
        ("mpich", "ib", ["mlx5_0"], 1, {"service_level": 16}),
        "mpich on ib: service level 16 is not within 0 to 15",
    ),
]


@pytest.mark.parametrize(("asked", "sentence"), REFUSED)
def test_devices_and_knobs_that_do_not_fit_are_refused(
    asked: tuple[str, str, list[str], int, dict[str, int]], sentence: str
) -> None:
    name, kind, devices, rails, knobs = asked
    with pytest.raises(RailyardError) as raised:
        ask.settings(name, kind, devices, rails, knobs=ask.Knobs(**knobs))
    assert str(raised.value) == sentence


def test_the_knobs_of_another_transport_are_not_offered() -> None:
    """Intel MPI's round robin on RoCE uses PSM3, which ignores UCX's variables."""
    with pytest.raises(RailyardError, match=r"^intelmpi on roce: GID index 3 was asked for, but PSM3 chooses"):
        ask.settings("intelmpi", "roce", NAMES["roce"], 2, "round-robin", ask.Knobs(gid_index=3))


# ---- logs

LOGS = [
    (
        "mpich",
        "[1] [vn2:524  :0]  ucp_worker.c:1912 UCX  INFO    ucp_context_0 inter-node cfg#1 tag(tcp/hsn0 tcp/hsn1)  "
        "rma_am(tcp/hsn0)  am(tcp/hsn0 tcp/hsn1)\n",
        "[1] [vn2:524  :0]  parser.c:2364 UCX  INFO  UCX_* env variables: UCX_NET_DEVICES=hsn0,hsn1\n"
        "[1] [vn2:524  :0]  ucp_worker.c:1912 UCX  INFO    ucp_context_0 inter-node cfg#1 tag(tcp/hsn0)\n",
    ),
    (
        "openmpi",
        "[vn1:1] btl: tcp: Using interface: hsn0 \n[vn1:1] btl: tcp: Using interface: hsn1 \n",
        "[vn1:1] btl: tcp: Using interface: hsn0 \n[vn1:1] btl: tcp: Using interface: hsn10 \n",
    ),
    (
        "intelmpi",
        "vn1:rank0 PSM3_IDENTIFY NIC 0 (hsn0) Port 1 10000 Mbps\n"
        "vn1:rank0 PSM3_IDENTIFY NIC 1 (hsn1) Port 1 10000 Mbps\n",
        "vn1:rank0 PSM3_IDENTIFY NIC 0 (hsn0) Port 1 10000 Mbps\n",
    ),
]


@pytest.mark.parametrize(("name", "good", "bad"), LOGS)
def test_a_log_proves_both_rails_or_names_what_it_lacks(name: str, good: str, bad: str) -> None:
    proof = ask.settings(name, "tcp", NAMES["tcp"], 2).proof
    assert proof.missing_patterns(good) == ()
    assert proof.missing_patterns(bad) == (proof.patterns[1],)
    assert "hsn1" in proof.patterns[1]


def test_a_device_name_is_text_in_a_pattern() -> None:
    assert ask.settings("openmpi", "tcp", ["eth0.7"], 1).proof.patterns == (r"btl: ?tcp: Using interface: eth0\.7\s",)


def test_a_stack_whose_log_names_no_network_is_proven_by_counters_alone() -> None:
    for stack in ("spectrummpi", "mpt"):
        found = ask.settings(stack, "ib", ["mlx5_0:1"], 1)
        assert found.proof.missing_patterns("mlx5_0 connected") == found.proof.patterns
        assert ask.device_patterns(stack, "ib", "single", ["mlx5_0:1"]) == {}
    two = ask.settings("spectrummpi", "ib", ["mlx5_0:1", "mlx5_3:1"], 2)
    assert two.env["PAMI_IBV_DEVICE_NAME"] == "mlx5_0:1,mlx5_3:1" and two.env["PAMI_ENABLE_STRIPING"] == "1"
    assert ask.why_not("mpt", "ib", 3) == (
        "mpt on ib: striping over MPT's own InfiniBand layer uses at most 2 rails, 3 were asked for"
    )


def test_parastation_speaks_ucx_and_falls_back_to_nothing() -> None:
    env = ask.settings("parastation", "ib", ["mlx5_0:1", "mlx5_1:1"], 2).env
    assert (env["PSP_UCP"], env["PSP_OPENIB"], env["PSP_TCP"]) == ("2", "0", "0")
    assert (env["UCX_NET_DEVICES"], env["UCX_MAX_RNDV_RAILS"]) == ("mlx5_0:1,mlx5_1:1", "2")

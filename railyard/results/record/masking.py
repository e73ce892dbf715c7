"""What is kept out of records: secrets, and every variable whose name is not on a list of complete names.

Masks what runs left whose `railyard run` was ended by SIGKILL: nobody masked ReFrame's files of them.

The next `railyard run` in the same store does it. A run counts as killed if the lock of its promise is free and it
never wrote how it ended. Its ReFrame may live a little longer, and its jobs may still read their scripts, so a run in
which a file is younger than ``QUIET_S`` is left to a later command.
"""

import contextlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from railyard.results.record.form import Record

MASK = "***"

# https://user:password@host, also with only a token. A password may have any sign but blanks and quotes; a number
# before a slash is a port (docker://registry:5000/image@sha256:…).
_URL = re.compile(
    r"(?P<scheme>(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,30}://)(?:[^\s/@:'\"]*:(?!\d{1,5}(?:/|$))[^\s'\"]+|[^\s/@'\"]+)@(?=[\w\[.-])"
)
_SECRET_NAME = (
    r"(?<![\w.-])(?:[\w.-]{0,60}?(?:passw(?:or)?d|passwd|passphrase|pwd|secret|token|credential|cookie|jwt|"
    r"(?:api|access|private|auth|account|encryption|ssh|signing|license|master|host|shared|service)[_-]?key|"
    r"(?<![a-z])creds?(?![a-z])|authorization|(?<![a-z])auth(?!or))[\w.-]{0,40}|[\w.-]{0,60}[_.-]pass(?![\w.-])|"
    r"pass(?=\\?[\"']?\s*=|\\?[\"']\s*:))"
)
_NAME_ALONE = re.compile(_SECRET_NAME, re.IGNORECASE)
#: A whole text in quotes, in those of a text within JSON, or in those of a quoted word of a shell ('"'"'a b'"'"').
_QUOTED = r"(?:\\?['\"]){3,}[^'\"\\\n]*(?:\\?['\"])+|\\\"[^\"\n]*\\\"|\"[^\"\n]*\"|'[^'\n]*'"
#: That, or up to a blank, a quote or a list's next part.
_VALUE = rf"{_QUOTED}|(?:(?:Bearer|Basic|Digest|Token)\s+)?[^\s\"',;&\\{{\[][^\s\"',;&\\]*"
# password=…, "token": "…", Authorization: Bearer …; pass only with = or as a quoted key: results begin with "PASS:"
_NAMED = re.compile(
    rf"(?P<name>{_SECRET_NAME})(?P<sign>[\\\"']{{0,12}}\s*(?:=|:(?![:/]))\s*)(?P<value>{_VALUE})", re.IGNORECASE
)
# key=…, but neither key: (a cache's key) nor pkey=0x8001: InfiniBand's key of a partition is no secret
_KEY = re.compile(rf"(?P<name>(?<![\w.-])(?:[\w.-]{{0,60}}[_-])?key)(?P<sign>=)(?P<value>{_QUOTED}|[^\s\"',;&\\]+)")
# --password X, --db-pass 'two words', -token X
_OPTION = re.compile(
    rf"(?P<name>(?=--?\w){_SECRET_NAME})(?P<sign>\s+)(?P<value>{_QUOTED}|[^\s\"'-][^\s\"']*)",
    re.IGNORECASE,
)
# -u alice:secret of curl and others, sshpass -p secret
_POSITION = re.compile(
    r"(?P<name>(?<![\w-])(?:--user|-u)(?=[ =]+[\"']?[^\s:\"'/]+:)|\bsshpass\s+-p)(?P<sign>[ =]*)"
    rf"(?P<value>{_QUOTED}|[^\s\"']+)"
)
_QUOTES = re.compile(r"[\\\"']+")
_BEARER = re.compile(r"\b(?P<kind>Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}")
#: Tokens that are known by their form, whatever comes before them. Sources, read 2026-11-30: detect-secrets 1.5.0
#: (Yelp, Apache-2.0; its plugins' forms, where the name is given) and the makers' own words. Its code is not used: it
#: knows 20 of these makers, and its import takes 0.14 s, as long as the rest of a short command.
_TOKENS: tuple[tuple[str, str], ...] = (
    ("GitHub (detect-secrets)", r"gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}"),
    ("GitLab (detect-secrets)", r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas|ffct)-[\w-]{16,}|GR1348941[\w-]{16,}"),
    ("AWS (detect-secrets)", r"(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{16}"),
    ("Azure (detect-secrets)", r"AccountKey=[A-Za-z0-9+/=]{40,}"),
    ("Google: API keys, OAuth", r"AIza[\w-]{30,}|ya29\.[\w-]{10,}|GOCSPX-[\w-]{20,}"),
    ("Slack (detect-secrets)", r"xox[abeoprs]-[\w-]{10,}|xapp-[\w-]{10,}"),
    ("npm, PyPI (detect-secrets)", r"npm_[A-Za-z0-9]{20,}|pypi-Ag[\w-]{8,}"),
    ("Docker Hub", r"dckr_[op]at_[\w-]{10,}"),
    ("HashiCorp Vault and Terraform", r"hv[bsr]\.[\w-]{16,}|\w{14}\.atlasv1\.[\w-]{20,}"),
    ("Hugging Face, NVIDIA, OpenAI and others' sk-", r"hf_[A-Za-z0-9]{20,}|nvapi-[\w-]{20,}|sk-[\w-]{16,}"),
    ("Stripe (detect-secrets)", r"[rs]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9]{16,}"),
    ("SendGrid, Twilio (detect-secrets)", r"SG\.[\w-]{16,}\.[\w-]{16,}|(?:AC|SK)[a-f0-9]{32}"),
    ("Square, Telegram (detect-secrets)", r"sq0csp-[\w-]{20,}|\d{8,10}:[\w-]{35}"),
    ("Discord (detect-secrets)", r"[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27}"),
    ("DigitalOcean, Tailscale, Atlassian", r"do[op]_v1_[a-f0-9]{20,}|tskey-[\w-]{16,}|ATATT3[\w=-]{20,}"),
    ("age, 1Password", r"AGE-SECRET-KEY-1[A-Z0-9]{20,}|ops_eyJ[\w-]{20,}"),
    ("JSON Web Tokens, RFC 7519", r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*"),
)  # fmt: skip
#: The first and the last line of a private key, also of PGP's.
_BEGIN, _END = (rf"-----{word} [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----" for word in ("BEGIN", "END"))
_KNOWN = re.compile(
    # (?<![^\W_]): after a sign or an underscore, since names such as CI_glpat-… occur
    rf"(?<![^\W_])(?:{'|'.join(form for _, form in _TOKENS)})"
    rf"|{_BEGIN}.*?(?:{_END}|\Z)",
    re.DOTALL,
)
_KEY_BEGINS, _KEY_ENDS = re.compile(_BEGIN), re.compile(_END)
# https://hooks.slack.com/services/T…/B…/…: who has the address may write there
_HOOK = re.compile(
    r"(?P<place>https://(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks|"
    r"[\w.-]+\.webhook\.office\.com/webhookb2|chat\.googleapis\.com/v1/spaces)/)[^\s'\"]+"
)
_ASSIGNED = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>.*)", re.DOTALL)
#: Launcher options that are followed by a variable and its value.
_NAME_THEN_VALUE = ("-genv", "-env", "--genv", "--env")
#: Options that are followed by NAME=VALUE (Open MPI's -x, Slurm's --export with a list of them, containers' --env).
_ASSIGNMENT_NEXT = ("-x", "--export", "--setenv", "--env", "-env", "-genv", "-e")
_USER_NEXT = ("-u", "--user")  # curl's and others' user:password


def mask_text(text: str) -> str:
    """Return the text with each recognisable secret replaced by ``***``; everything else stays."""
    if not _MAY_HOLD.search(text):
        return text
    text = _KNOWN.sub(MASK, text)
    text = _HOOK.sub(rf"\g<place>{MASK}", text)
    text = _URL.sub(rf"\g<scheme>{MASK}@", text)
    for form in (_NAMED, _OPTION, _POSITION):
        text = form.sub(_without_value, text)
    text = _KEY.sub(lambda match: match[0] if "pkey" in match["name"].lower() else _without_value(match), text)
    return _BEARER.sub(rf"\g<kind> {MASK}", text)


class LineMask:
    """Masks the lines of a text one after the other, for a text that is not complete yet or too large for memory."""

    def __init__(self) -> None:
        self._in_key = False

    def mask(self, line: str) -> str:
        """Return the next line masked; of a private key, which has many lines, nothing but the first is left."""
        if self._in_key:
            self._in_key = not _KEY_ENDS.search(line)
            return ""
        self._in_key = bool(_KEY_BEGINS.search(line)) and not _KEY_ENDS.search(line)
        masked = mask_text(line)
        return f"{masked}\n" if line.endswith("\n") and not masked.endswith("\n") else masked


def _is_secret(name: str) -> bool:
    return name.lower() == "pass" or _NAME_ALONE.fullmatch(name) is not None


def _without_value(match: re.Match[str]) -> str:
    value = match["value"]
    quotes = _QUOTES.match(value)
    first, last = ("", "") if quotes is None or value == quotes[0] else (quotes[0], value[len(value.rstrip("\\\"'")) :])
    return f"{match['name']}{match['sign']}{first}{MASK}{last}"


# All of the above contain one of these; most texts by far contain none.
_MAY_HOLD = re.compile(
    r"://|pass|pwd|secret|token|cred|cookie|jwt|key|auth|bearer|basic |-u|--user|gh[pousr]_|github_pat|gl\w{2,5}-|"
    r"gr1348941|a3t|abia|acca|akia|asia|aiza|ya29|gocspx|xox|xapp|npm_|pypi-|dckr_|hv[bsr]\.|atlasv1|hf_|nvapi|sk-|"
    r"[rs]k_|whsec|sg\.|ac[a-f0-9]{32}|sk[a-f0-9]{32}|sq0csp|[mno][\w-]{23,25}\.|\d{8,10}:|_v1_|tskey|atatt3|ops_|eyj",
    re.IGNORECASE,
)


def masked_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return a command's words, masked; of the variables that it sets, only allowed ones keep their value."""
    found: list[str] = []
    for index, word in enumerate(words):
        before = found[index - 1] if index else ""
        second = found[index - 2] if index > 1 else ""
        if second in _NAME_THEN_VALUE and before not in ALLOWED and "=" not in before:
            found.append(MASK)
        elif before in _USER_NEXT and ":" in word:
            found.append(MASK)
        elif before.startswith("-") and "=" not in before and _is_secret(before.lstrip("-")):
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
    return mask_text(word)


def _assignments(text: str) -> str:
    """Return a comma-separated list of NAME=VALUE in which names that are not allowed have lost their value.

    A part without a name belongs to the value before it (UCX_TLS=tcp,self).
    """
    parts: list[str] = []
    kept = True
    for part in text.split(","):
        assigned = _ASSIGNED.fullmatch(part)
        if assigned:
            kept = assigned["name"] in ALLOWED
            parts.append(mask_text(part) if kept else f"{assigned['name']}={MASK}")
        elif kept:
            parts.append(mask_text(part))
    return ",".join(parts)


def masked_record(record: "Record") -> "Record":
    """Return the record as it may be stored."""
    return type(record).from_json(masked_json(record.to_json()))


def masked_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record's JSON values as they may be stored: all texts masked, only variables on the allow-list."""
    found: dict[str, Any] = _mask_value(values)
    how = values["how"]
    found["how"]["command"] = list(masked_words(how["command"]))
    found["how"]["variables"] = {name: mask_text(value) for name, value in how["variables"].items() if name in ALLOWED}
    return found


def mask_files(*places: Path) -> tuple[str, ...]:
    """Mask secrets in these text files and in every one below these folders; return a sentence for each that was not.

    For what other programs write: ReFrame's report, its job scripts, what jobs print. Links are not followed, and files
    with zero bytes are taken for programs. A file of more than WHOLE_BYTES is masked line by line.
    """
    left = []
    for path in (file for place in places for file in _regular_files(place)):
        try:
            _mask_file(path)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            left.append(f"{path}: {why}, expected to mask secrets in it; look through it before you pass the run on")
    return tuple(left)


#: Files up to this size, in bytes, are masked as a whole, so that a private key of several lines is found.
WHOLE_BYTES = 16 << 20


def _regular_files(place: Path) -> Iterator[Path]:
    below = (Path(folder, name) for folder, _, names in os.walk(place) for name in sorted(names))
    for path in below if place.is_dir() else (place,):
        if path.is_file() and not path.is_symlink():
            yield path


def _mask_file(path: Path) -> None:
    # Latin-1 has a character for each byte, so every other byte stays as it was.
    with path.open(encoding="latin-1", newline="") as stream:
        if "\0" in stream.read(8192):
            return
        stream.seek(0)
        if path.stat().st_size <= WHOLE_BYTES:
            text = stream.read()
            masked = [_mask_json_text(text) if path.suffix == ".json" else mask_text(text)]
            if masked == [text]:
                return
        else:
            masked = list(map(LineMask().mask, stream))
    with path.open("w", encoding="latin-1", newline="") as stream:
        stream.writelines(masked)


def _mask_json_text(text: str) -> str:
    """Return a JSON text with its values masked; it stays as it is if nothing in it is secret."""
    try:
        values = json.loads(text.encode("latin-1"))
    except ValueError:
        return mask_text(text)
    masked = _mask_value(values)
    return text if masked == values else json.dumps(masked, indent=2)


def _mask_value(value: Any) -> Any:
    if isinstance(value, str):
        return mask_text(value)
    if isinstance(value, Mapping):
        return {
            mask_text(str(key)): MASK if isinstance(item, str) and _is_secret(str(key)) else _mask_value(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_mask_value(item) for item in value]
    return value


#: Variables that Railyard itself, a site's file or a user's shell sets to choose network, protocol and placement. These
#: are complete names, not prefixes: OMPI_MCA_orte_hnp_uri, PMI_… and SLURM_JWT begin like harmless ones.
ALLOWED: frozenset[str] = frozenset(
    """
    UCX_TLS UCX_NET_DEVICES UCX_MAX_RNDV_RAILS UCX_MAX_EAGER_RAILS UCX_RNDV_THRESH UCX_RNDV_SCHEME UCX_ZCOPY_THRESH
    UCX_PROTO_ENABLE UCX_IB_GID_INDEX UCX_IB_SL UCX_IB_TRAFFIC_CLASS UCX_IB_PATH_MTU UCX_IB_NUM_PATHS UCX_IB_AR_ENABLE
    UCX_IB_PKEY UCX_RC_PATH_MTU UCX_IB_PCI_RELAXED_ORDERING UCX_MULTI_LANE_MAX_RATIO UCX_MIN_RNDV_CHUNK_SIZE
    FI_PROVIDER FI_PROVIDER_PATH FI_DOMAIN FI_TCP_IFACE FI_SOCKETS_IFACE FI_PSM3_MULTIRAIL FI_PSM3_MULTIRAIL_MAP
    FI_CXI_RX_MATCH_MODE FI_CXI_RDZV_THRESHOLD FI_CXI_DEFAULT_CQ_SIZE FI_EFA_USE_DEVICE_RDMA FI_MR_CACHE_MONITOR
    FI_VERBS_IFACE FI_OPX_HFI_SELECT
    PSM3_HAL PSM3_NIC PSM3_MULTIRAIL PSM3_MULTIRAIL_MAP PSM3_ALLOW_ROUTERS PSM3_DEVICES PSM3_RDMA
    PSM3_MQ_RNDV_NIC_THRESH
    PSM3_NIC_SPEED PSM2_MULTIRAIL PSM2_MULTIRAIL_MAP PSM2_DEVICES HFI_UNIT HFI_PORT
    OMPI_MCA_pml OMPI_MCA_btl OMPI_MCA_mtl OMPI_MCA_osc OMPI_MCA_btl_tcp_if_include OMPI_MCA_btl_tcp_links
    OMPI_MCA_btl_openib_if_include OMPI_MCA_pml_ucx_tls OMPI_MCA_pml_ucx_devices OMPI_MCA_coll
    OMPI_MCA_rmaps_base_mapping_policy OMPI_MCA_hwloc_base_binding_policy OMPI_MCA_coll_hcoll_enable
    MPIR_CVAR_CH4_NETMOD MPIR_CVAR_CH4_OFI_ENABLE_MULTI_NIC_STRIPING MPIR_CVAR_CH4_OFI_ENABLE_MULTI_NIC_HASHING
    MPIR_CVAR_CH4_OFI_MULTI_NIC_STRIPING_THRESHOLD MPIR_CVAR_CH4_OFI_MAX_NICS MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE
    MPICH_OFI_NUM_NICS MPICH_OFI_NIC_POLICY MPICH_OFI_NIC_MAPPING MPICH_SMP_SINGLE_COPY_MODE MPICH_GPU_SUPPORT_ENABLED
    I_MPI_FABRICS I_MPI_OFI_PROVIDER I_MPI_OFI_LIBRARY_INTERNAL I_MPI_MULTIRAIL I_MPI_PIN I_MPI_PIN_DOMAIN
    I_MPI_PIN_PROCESSOR_LIST I_MPI_ROOT I_MPI_HYDRA_BOOTSTRAP I_MPI_HYDRA_IFACE I_MPI_TUNING
    MV2_NUM_HCAS MV2_IBA_HCA MV2_NUM_PORTS MV2_RAIL_SHARING_POLICY MV2_SM_SCHEDULING
    MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD MV2_IBA_EAGER_THRESHOLD MV2_USE_RDMA_CM MV2_USE_RoCE MV2_ENABLE_AFFINITY
    SHARP_COLL_ENABLE_SAT HCOLL_MAIN_IB HCOLL_ENABLE_SHARP
    OMP_NUM_THREADS OMP_PROC_BIND OMP_PLACES GOMP_CPU_AFFINITY KMP_AFFINITY MKL_NUM_THREADS OPENBLAS_NUM_THREADS
    NCCL_NET NCCL_NET_PLUGIN NCCL_IB_HCA NCCL_IB_GID_INDEX NCCL_IB_TC NCCL_IB_SL NCCL_IB_MERGE_NICS NCCL_CROSS_NIC
    NCCL_SOCKET_IFNAME NCCL_ALGO NCCL_PROTO NCCL_P2P_DISABLE NCCL_P2P_LEVEL NCCL_SHM_DISABLE NCCL_DEBUG
    NCCL_DEBUG_SUBSYS NCCL_TESTS_SPLIT CUDA_VISIBLE_DEVICES LD_LIBRARY_PATH
    FI_CXI_DEVICE_NAME FI_EFA_IFACE FI_LOG_LEVEL FI_OPX_SL FI_OPX_MULTI_HFI_STRIPING HFI_SL PSM3_NIC_SL
    I_MPI_DEBUG I_MPI_THREAD_YIELD MPICH_OFI_NIC_VERBOSE MPICH_OFI_DEFAULT_TCLASS MPIR_CVAR_DEBUG_SUMMARY
    MV2_USE_BLOCKING MV2_SHOW_ENV_INFO OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM PSM2_IDENTIFY PSM3_IDENTIFY
    PSM2_MQ_RNDV_HFI_THRESH PSM2_MQ_RNDV_HFI_WINDOW UCX_LOG_LEVEL UCX_PROTO_INFO
    MV2_DEFAULT_PORT MV2_PROCESS_TO_RAIL_MAPPING OMPI_MCA_mtl_ofi_provider_include OMPI_MCA_btl_base_verbose
    MPI_IB_RAILS MPI_USE_IB PAMI_ENABLE_STRIPING PAMI_IBV_ADAPTER_AFFINITY PAMI_IBV_DEVICE_NAME PAMI_IBV_DEVICE_NAME_1
    PSP_DEBUG_CONTYPE PSP_OPENIB PSP_PSM PSP_TCP PSP_UCP
    """.split()
)


def allowed_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a record may have, by name."""
    return {name: variables[name] for name in sorted(variables) if name in ALLOWED}


#: What ReFrame writes into a run's folder: job scripts and outputs, its report, and what it printed.
REFRAME_FOLDER, REPORT_NAME, LOG_NAME = "reframe", "reframe-report.json", "reframe.log"
QUIET_S = 600


def mask_killed_runs(runs: Path) -> tuple[str, ...]:
    """Mask the files of killed runs of this user below the folder; return a sentence for each that was not masked."""
    left: list[str] = []
    for folder in sorted(runs.glob("*")) if runs.is_dir() else ():
        with contextlib.suppress(OSError):  # it was removed meanwhile
            if _is_killed_and_ours(folder):
                left += mask_files(folder / REFRAME_FOLDER, folder / REPORT_NAME, folder / LOG_NAME)
    return tuple(left)


def _is_killed_and_ours(folder: Path) -> bool:
    if folder.is_symlink() or folder.lstat().st_uid != os.getuid():
        return False
    from railyard.results.record.form import read_promised  # a listing masks texts, and reads no record

    promised = read_promised(folder)
    if promised is None or promised.state != "killed" or not promised.locks:
        return False
    places = (folder, *folder.rglob("*"))
    return max(path.lstat().st_mtime for path in places) < time.time() - QUIET_S

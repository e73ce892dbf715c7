"""No recognisable secret gets into a file: 32 are planted, and text that is not secret stays."""

import json
from datetime import datetime, timezone
from pathlib import Path

import pytest

from railyard.job import node_facts
from railyard.job.provenance import circumstances
from railyard.results import run_folder
from railyard.results.record.file import append_record, read_records
from railyard.results.record.form import VerdictRecord
from railyard.results.record.masking import (
    ALLOWED,
    LineMask,
    allowed_variables,
    mask_files,
    mask_text,
    masked_record,
    masked_words,
)
from railyard.results.run_folder import RUN_FOLDER_VARIABLE
from tests.made.records import made_record


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fetched https://alice:hunter2@mirror.example/x", "fetched https://***@mirror.example/x"),
        ("git+ssh://deploy@host.example/repo", "git+ssh://***@host.example/repo"),
        ("password=hunter2 and more", "password=*** and more"),
        ('{"api_key": "k-123", "n": 1}', '{"api_key": "***", "n": 1}'),
        ("Authorization: Bearer abcdefghij", "Authorization: ***"),
        ("sent Bearer abcdefghijk to it", "sent Bearer *** to it"),
        ("MY_SECRET_THING=abc, next", "MY_SECRET_THING=***, next"),
        ("left ghp_0123456789abcdefABCDEF in it", "left *** in it"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n", "***\n"),
        ("--password X and more", "--password *** and more"),
        ("--db-pass 'two words' more", "--db-pass '***' more"),
        ('password="two words" more', 'password="***" more'),
        ('{\\"password\\": \\"two words\\"}', '{\\"password\\": \\"***\\"}'),
        ('{"pass": "hunter2"}', '{"pass": "***"}'),
        ("pass=hunter2 key=abc site_cred: abc", "pass=*** key=*** site_cred: ***"),
        ("http://alice:p@ss/w0rd@proxy:3128/", "http://***@proxy:3128/"),
        ("curl -u alice:hunter2 --user 'bob:two words' x", "curl -u *** --user '***' x"),
        ("glrt-t1_0123456789abcdef, hvs.0123456789abcdef", "***, ***"),
        ("https://hooks.slack.com/services/T0/B0/abc", "https://hooks.slack.com/services/***"),
        # none
        ("docker://registry:5000/image@sha256:0123", "docker://registry:5000/image@sha256:0123"),
        ("PASS: 2 tests passed; 2 pass, 0 fail; pkey=0x8001", "PASS: 2 tests passed; 2 pass, 0 fail; pkey=0x8001"),
        ("UCX_IB_PKEY=0x8001 srun --mpi=pmix -u ./x", "UCX_IB_PKEY=0x8001 srun --mpi=pmix -u ./x"),
        ("the shaper's token buckets (16 KiB a port)", "the shaper's token buckets (16 KiB a port)"),
        ("100.0 % over hsn0, RFC 791; key: 1a2b", "100.0 % over hsn0, RFC 791; key: 1a2b"),
        ("author: somebody", "author: somebody"),
        ("http://example.com/a@b", "http://example.com/a@b"),
        ("4194304 12400.00 338.27", "4194304 12400.00 338.27"),
    ],
)
def test_a_secret_is_masked_and_nothing_else(text: str, said: str) -> None:
    assert mask_text(text) == said
    assert mask_text(said) == said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-x", "SITE_TOKEN=abc", "-x", "UCX_TLS=tcp,self"), ("-x", "SITE_TOKEN=***", "-x", "UCX_TLS=tcp,self")),
        (("-genv", "MY_NAME", "abc"), ("-genv", "MY_NAME", "***")),
        (("-genv", "UCX_TLS", "tcp"), ("-genv", "UCX_TLS", "tcp")),
        (("srun", "--export=ALL,A=abc,def,UCX_TLS=rc,self"), ("srun", "--export=ALL,A=***,UCX_TLS=rc,self")),
        (("env", "FOO=abc", "osu_bw"), ("env", "FOO=***", "osu_bw")),
        (("--password", "abc"), ("--password", "***")),
        (("run", "--env", "site=abc", "image.sif"), ("run", "--env", "site=***", "image.sif")),
        (("--auth-token=abc",), ("--auth-token=***",)),
        (("curl", "-u", "alice:abc"), ("curl", "-u", "***")),
        (("-msglen", "sizes.txt", "-iter", "3,24"), ("-msglen", "sizes.txt", "-iter", "3,24")),
        (("sh", "reader.sh", "--", "a=b"), ("sh", "reader.sh", "--", "a=b")),
    ],
)
def test_of_a_command_variables_keep_their_value_only_by_name(words: tuple[str, ...], said: tuple[str, ...]) -> None:
    assert masked_words(words) == said
    assert masked_words(said) == said


def test_the_variables_are_whole_names() -> None:
    found = allowed_variables(
        {"UCX_TLS": "rc", "UCX_TLS_SECRET": "x", "OMPI_MCA_orte_hnp_uri": "tcp://…", "PMI_FD": "9"}
    )
    assert found == {"UCX_TLS": "rc"}
    assert not [name for name in ALLOWED if not name.replace("_", "").isalnum()]


def test_all_that_a_stack_is_told_is_allowed() -> None:
    from railyard.stacks.model import STACKS

    ways = [way for stack in STACKS.values() for way in stack.ways.values() if not isinstance(way, str)]
    settings = [each for way in ways for each in (*way.settings, *way.proof.settings)]
    settings += [each for way in ways for spread in way.spreads for each in spread.settings]
    told = {each.name for each in settings} | {name for stack in STACKS.values() for name in stack.root_env}
    assert len(told) > 10
    assert told - ALLOWED == set()


SECRETS = tuple(f"hush{number:02}x7Qz" for number in range(32))


def test_the_planted_secrets_are_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    s = iter(SECRETS)

    def take() -> str:
        return next(s)

    environment = {
        **{f"SITE_{name}": take() for name in ("TOKEN", "PASSWORD", "DB_URL", "NAME", "LICENSE")},
        **{name: take() for name in ("AWS_SECRET_ACCESS_KEY", "SLURM_JWT", "OMPI_MCA_orte_hnp_uri", "UCX_PRIVATE")},
        "UCX_TLS": "tcp",
        "FI_PROVIDER_PATH": f"https://me:{take()}@mirror.example/lib",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    home = tmp_path / "home"
    (home / ".aws").mkdir(parents=True)
    for name in (".netrc", ".aws/credentials", ".git-credentials"):
        (home / name).write_text(take(), encoding="utf-8")
    monkeypatch.setenv("HOME", str(home))
    output = tmp_path / "job.out"
    output.write_text(
        f"SITE_TOKEN={take()}\nI_MPI password: {take()}\ncloned https://bot:{take()}@git.example/x\n"
        f"Authorization: Bearer {take()}\n# OSU MPI Latency Test\n",
        encoding="utf-8",
    )
    node = node_facts.parse(
        f"railyard-node 1 t\nnode vn1\nfact kernel 6.1\nfact serial {take()}\n"
        f"fact kernel_options pci=realloc\nfact cmdline {take()}\nend\n",
        "t",
    )
    assert node is not None
    said = f"\tlibmpi.so.12 => /opt/lib/libmpi.so.12 (0x00007f)\n\tsecret={take()}\n"
    record = made_record(
        command=(
            *("env", f"MODULE_AUTH={take()}", "mpirun", "-x", f"SITE_TOKEN={take()}", "-genv", "SITE_PASSWORD", take()),
            *("--token", take(), f"--api-key={take()}", f"--export=ALL,SITE_NAME={take()}", "-u", f"me:{take()}"),
            f"https://me:{take()}@store.example/sizes.txt",
        ),
        verdict=VerdictRecord(f"the job said: password={take()}; https://x:{take()}@host refused"),
        environment={"mpi": f"5.0.2 (https://ci:{take()}@build.example)", "licence_token": take()},
        **circumstances(
            [node],
            linked=said,
            variables=dict(environment),
            scheduler="local",
            job_id=1,
            started=datetime(2026, 11, 21, tzinfo=timezone.utc),
        ),
    )
    monkeypatch.setenv(RUN_FOLDER_VARIABLE, str(tmp_path / "run"))
    kept = run_folder.keep_output(tmp_path, "case", output)
    append_record(tmp_path / "run" / "records.jsonl", record)
    assert next(s, None) is None, "each of them was planted"
    text = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "run").rglob("*") if path.is_file())
    assert [secret for secret in SECRETS if secret in text] == []
    assert kept is not None and "# OSU MPI Latency Test" in text
    (read,) = read_records(tmp_path / "run").records
    assert read.how.variables == {"UCX_TLS": "tcp", "FI_PROVIDER_PATH": "https://***@mirror.example/lib"}
    assert read.where.hardware[0].facts == {"kernel": "6.1", "kernel_options": "pci=realloc"}
    assert masked_record(read) == read


def test_a_variable_that_is_not_allowed_is_not_stored_whoever_gave_it() -> None:
    record = made_record(variables={"UCX_TLS": "tcp", "MY_OWN": "x"})
    assert masked_record(record).how.variables == {"UCX_TLS": "tcp"}


def test_files_of_other_programs_are_masked_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("password=abc", encoding="utf-8")
    folder = tmp_path / "run"
    (folder / "stage").mkdir(parents=True)
    script = folder / "stage/rfm_job.sh"
    script.write_bytes(b"#!/bin/sh\nexport SITE_TOKEN='a b'\nmpirun \xff x\n")
    script.chmod(0o750)
    report = {
        "cmdline": "-J --password abc",
        "env": {"secret": "abc"},
        "n": 1,
        "key": "-----BEGIN PRIVATE KEY-----\nabc",
    }
    (folder / "report.json").write_text(json.dumps(report), encoding="utf-8")
    (folder / "broken.json").write_text('{"password": "abc"', encoding="utf-8")
    (folder / "program").write_bytes(b"\0\0password=abc")
    (folder / "link").symlink_to(outside)
    (folder / "as-it-is.out").write_text("4194304 12400.00\n", encoding="utf-8")
    before = (folder / "as-it-is.out").stat().st_mtime_ns
    assert mask_files(folder) == ()
    assert script.read_bytes() == b"#!/bin/sh\nexport SITE_TOKEN='***'\nmpirun \xff x\n"
    assert script.stat().st_mode & 0o777 == 0o750
    found = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert found == {"cmdline": "-J --password ***", "env": {"secret": "***"}, "n": 1, "key": "***"}
    assert (folder / "broken.json").read_text(encoding="utf-8") == '{"password": "***"'
    assert (folder / "program").read_bytes() == b"\0\0password=abc"
    assert outside.read_text(encoding="utf-8") == "password=abc"
    assert (folder / "as-it-is.out").stat().st_mtime_ns == before
    monkeypatch.setattr("railyard.results.record.masking.WHOLE_BYTES", 10)
    script.write_text("n=1\npassword=abc\n", encoding="utf-8")
    mask_files(folder)
    assert script.read_text(encoding="utf-8") == "n=1\npassword=***\n"


@pytest.mark.parametrize(
    "text", ["a-", ".atlasv1.", "://a:", "key=", " --pass", "eyJ", '\\"', "PRIVATE KEY-----", "-u a"]
)
def test_a_secret_behind_a_long_text_is_masked(text: str) -> None:
    """A form whose time grows with the square of the length needs a minute for this."""
    assert mask_text(text * (400_000 // len(text)) + "\n--password abc\n").endswith("\n--password ***\n")


def test_lines_that_come_one_by_one_lose_a_whole_private_key() -> None:
    key = (
        "-----BEGIN OPENSSH PRIVATE KEY-----\n",
        "b3BlbnNzaC1r\n",
        "ZXktdjEAAAAA\n",
        "-----END OPENSSH PRIVATE KEY-----\n",
    )
    lines = ("before\n", *key, "password=abc\n", "after")
    assert "".join(map(LineMask().mask, lines)) == "before\n***\npassword=***\nafter"
    whole = "-----BEGIN PRIVATE KEY-----abc-----END PRIVATE KEY-----\n"
    assert "".join(map(LineMask().mask, (whole, "after"))) == "***\nafter"

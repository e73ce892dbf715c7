"""Secrets as options, variables and outputs have them, each with what must be in no file that a run leaves."""

import re
from pathlib import Path

_LONG = "«HUSHhushHUSHhush0123456789»"
#: Secrets as options, variables and outputs of a site have them; what is between « and » must be in no file.
_PLANTED = (
    # by name
    "password=«HUSH»", "passwd=«HUSH»", "pass=«HUSH»", "PGPASSWORD=«HUSH»", "MYSQL_PWD=«HUSH»", "passphrase: «HUSH»",
    "client_secret=«HUSH»", "api_key=«HUSH»", "APIKEY=«HUSH»", "AWS_SECRET_ACCESS_KEY=«HUSH/hush+hush»", "jwt=«HUSH»",
    "private_key=«HUSH»", "db_cred=«HUSH»", "credentials: «HUSH»", "cookie=«HUSH»", "X-Auth-Token: «HUSH»",
    "key=«HUSH»", "encryption_key=«HUSH»", "license_key=«HUSH»", '{"token": "«HUSH»"}', "{'password': '«HUSH hush»'}",
    "SITE_TOKEN='«HUSH and hush»'", 'secret="«HUSH and hush»"',
    # by position
    "--password «HUSH»", "--api-key=«HUSH»", "--db-pass '«HUSH hush»'", "-token «HUSH»", "-u alice:«HUSH»",
    "--user=alice:«HUSH»", "sshpass -p «HUSH» ssh n1", "sshpass -p«HUSH» ssh n1", "Authorization: Bearer «HUSH»",
    "Authorization: Basic «SFVTSA==»", "Proxy-Authorization: Digest «HUSH»",
    # in addresses
    "https://alice:«p@ss/HUSH»@mirror.example/x", "ssh://«HUSH»@git.example/x", "postgres://u:«HUSH»@db/x",
    "redis://:«HUSH»@cache:6379/0", "mongodb+srv://u:«HUSH»@c.example/x", "git+https://oauth2:«HUSH»@git.example/r.git",
    "https://hooks.slack.com/services/T00/B00/«HUSH»", "https://discord.com/api/webhooks/1/«HUSH»",
    # by the form of a token
    *(f"{start}{_LONG}" for start in (
        "glpat-", "gldt-", "glrt-", "hvs.", "dckr_pat_", "pypi-AgEI", "ya29.", "xapp-1-", "xoxb-", "sk_live_", "nvapi-",
        "hf_", "ghp_", "github_pat_", "npm_", "sk-proj-", "AIza0000", "tskey-auth-", "ATATT3x",
    )),
    "AKIA«HUSHHUSHHUSHHUSH»", "SG.«HUSHhushHUSHhush01».«HUSHhushHUSHhush02»",
    "dop_v1_«0123456789abcdef0123456789abcdef»", "sq0csp-«HUSHhushHUSHhush0123»",
    "AGE-SECRET-KEY-1«QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L»",
    "eyJ«hbGciOiJI».eyJ«zdWIiOiIx».«SflKxwRJSM»",
)  # fmt: skip
_KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\n«HUSHhush»\n-----END OPENSSH PRIVATE KEY-----"

PLAIN = tuple(re.sub("[«»]", "", text) for text in _PLANTED)
#: In a file only: no option has several lines.
PRIVATE_KEY = re.sub("[«»]", "", _KEY)
_SECRETS = tuple({secret for text in (*_PLANTED, _KEY) for secret in re.findall("«(.*?)»", text)})


def search_secrets(folder: Path) -> tuple[set[str], list[tuple[str, str]]]:
    """Return the names of all files below a folder, and each line of them that has one of the secrets."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    left = [
        (str(path.relative_to(folder)), line[:200])
        for path in files
        for line in path.read_text("latin-1").splitlines()
        if any(secret in line for secret in _SECRETS)
    ]
    return {path.name for path in files}, left

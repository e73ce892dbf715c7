"""The root folder of an image, made of this host's own files: a shell, what a job's scripts call, and programs."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

#: What `image.sh` and `in_image.sh` call, and what `ldd` is: a script of bash.
TOOLS = ("sh", "bash", "env", "ldd", "readlink", "ln", "mkdir", "rm", "cat")
FOLDERS = ("proc", "sys", "dev", "etc", "tmp", "run", "root", "home", "var/tmp", "usr/bin", "mnt/0")


def make_image(root: Path, files: Mapping[Path, str], search: Path | None = None) -> None:
    """Fill a folder with the tools and with ``files`` (a file or folder of this host: its path inside).

    Each program and library is there with the libraries that it needs. ``search``: those in this folder are found
    there, and not copied.
    """
    for name in FOLDERS:
        (root / name).mkdir(parents=True)
    (root / "bin").symlink_to("usr/bin")
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n", encoding="utf-8")
    (root / "etc/group").write_text("root:x:0:\n", encoding="utf-8")
    wanted = {Path(shutil.which(name) or name): f"usr/bin/{name}" for name in TOOLS}
    for path, inside in {**wanted, **files}.items():
        target = root / inside.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.copytree(path, target)
        else:
            shutil.copy(path.resolve(), target)
        for file in (path, *path.rglob("*.so*")):
            _copy_libraries(file, root, search)


def _copy_libraries(program: Path, root: Path, search: Path | None) -> None:
    own = {} if search is None else {"LD_LIBRARY_PATH": str(search)}
    said = subprocess.run(["ldd", program], env={"PATH": "/usr/bin:/bin", **own}, capture_output=True, text=True)
    for path in re.findall(r"(/\S+) \(0x", said.stdout):
        inside = root / path.lstrip("/")
        if not inside.exists() and (search is None or not Path(path).is_relative_to(search)):
            inside.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path(path).resolve(), inside)

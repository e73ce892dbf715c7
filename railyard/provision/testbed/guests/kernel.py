"""Which Linux the guests run: one that is installed here or unpacked in the clone, with rdma_rxe as a module."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import SetupError

#: Where `make needs VERBS=1` unpacks Debian's kernel package, below the clone.
UNPACKED = Path(".stacks/guest-kernel")
#: What a guest needs, in this order: its root, its cards, RDMA over them, shaped rates and priorities, a second CRC for
#: rxe.
MODULES = (
    *("virtio_pci", "virtio_net", "9pnet_virtio", "9p", "overlay"),
    *("crc32c_generic", "crc32_generic", "ib_uverbs", "ib_umad", "rdma_ucm", "rdma_rxe"),
    *("sch_tbf", "sch_prio", "cls_u32"),
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """An image, its version, and the files of all modules that a guest needs, each after those that it needs."""

    version: str
    image: Path
    modules: tuple[Path, ...]


def find_kernel(home: Path, root: Path = Path("/")) -> Kernel:
    """Return the newest kernel of the clone, else of the machine, that has all modules. Raises SetupError."""
    seen = []
    for top in (home / UNPACKED, root):
        images = sorted(top.glob("boot/vmlinuz-*"), key=lambda path: _natural(path.name), reverse=True)
        for image in images:
            version = image.name.removeprefix("vmlinuz-")
            folder = _modules_folder(top, version)
            try:
                needed = load_order((folder / "modules.dep").read_text(encoding="utf-8"), MODULES)
            except FileNotFoundError:
                seen.append(f"{image}: no {folder}/modules.dep")
            except SetupError as error:
                seen.append(f"{image}: {error}")
            else:
                return Kernel(version, image, tuple(folder / path for path in needed))
    found = f" (looked at {'; '.join(seen)})" if seen else ""
    raise SetupError(
        f"guests: there is no kernel here that has Soft-RoCE (the module rdma_rxe){found}: run 'make needs VERBS=1' in "
        "a clone, which unpacks Debian's linux-image there"
    )


def load_order(modules_dep: str, names: Iterable[str]) -> list[str]:
    """Return the paths of these modules and of all that they need, in an order that can be loaded.

    ``modules_dep`` is depmod(8)'s file, ``PATH: PATH…``. Raises SetupError with the names of missing modules.
    """
    needs: dict[str, list[str]] = {}
    paths: dict[str, str] = {}
    for line in modules_dep.splitlines():
        path, _, others = line.partition(":")
        needs[path] = others.split()
        paths[_name(path)] = path
    missing = [name for name in names if name not in paths]
    if missing:
        raise SetupError(f"it has no module {' and no '.join(missing)}")
    ordered: dict[str, None] = {}
    for name in names:
        _place(paths[name], needs, ordered)
    return list(ordered)


def _place(path: str, needs: Mapping[str, list[str]], ordered: dict[str, None]) -> None:
    # depmod also lists what is needed indirectly, the deepest last.
    for other in reversed(needs[path]):
        ordered.setdefault(other)
    ordered.setdefault(path)


def _name(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0].replace("-", "_")


def _modules_folder(top: Path, version: str) -> Path:
    """Return where the modules are: in Debian /lib is a link to /usr/lib, and a package may have either."""
    folders = (top / "lib/modules" / version, top / "usr/lib/modules" / version)
    return next((folder for folder in folders if folder.is_dir()), folders[0])


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(number or 0), text) for number, text in re.findall(r"(\d*)(\D*)", name)]

"""Writes the files of a new cluster, after everything that reads them has checked them."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import InputError, SetupError
from railyard.site.references.load import references_of
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System


@dataclass(frozen=True, slots=True)
class Texts:
    """The two files of one system."""

    name: str
    system: str
    references: str


def check_texts(texts: Texts) -> System:
    """Return the system that the texts describe. Raises InputError if Railyard would refuse them."""
    with tempfile.TemporaryDirectory(prefix="railyard-detect-") as folder:
        paths = _put(Path(folder), texts)
        system = load_system(paths[0])
        references_of(paths[1].parent, system)
    return system


def write(home: Path, texts: Texts, *, replace: bool) -> tuple[Path, Path]:
    """Write systems/NAME.yaml and references/NAME.yaml and return their paths.

    Raises InputError if one is there already and ``replace`` is not set, or if Railyard would refuse the text. Raises
    SetupError if the folder cannot be written. Then it writes nothing.
    """
    check_texts(texts)
    for folder in ("systems", "references"):
        path = home / folder / f"{texts.name}.yaml"
        if path.exists() and not replace:
            raise InputError(
                f"{folder}/{path.name}", "a file already", "none, or --replace",
                action="--name NAME takes another name; without --write the file is printed only",
            )  # fmt: skip
    try:
        return _put(home, texts)
    except OSError as error:
        raise SetupError(f"{home}: systems/ and references/ cannot be written: {error.strerror}") from None


def _put(home: Path, texts: Texts) -> tuple[Path, Path]:
    paths = (home / "systems" / f"{texts.name}.yaml", home / "references" / f"{texts.name}.yaml")
    for path, text in zip(paths, (texts.system, texts.references), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return paths

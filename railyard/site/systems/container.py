"""The container or user environment of a stack in a system's file."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from railyard.base.fields import Model, ScriptLine, Template, refuse, shell_reason, show
from railyard.site.systems.fields import ContainerName
from railyard.stacks.containers import CONTAINERS, ContainerKind, Image

_IMAGE_PATTERN = re.compile(r"[A-Za-z0-9_./{][A-Za-z0-9_./+@%=:,{}#-]*")
_MOUNT_PATTERN = re.compile(r"/[A-Za-z0-9_./+@%=-]*(?::/[A-Za-z0-9_./+@%=-]*)?")
_VIEW_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:,-]*")


def _image(text: str) -> str:
    for blank in re.findall(r"\{[^{}]*\}", text):
        if blank != "{home}":
            raise refuse(show(text), "no blanks but {home}")
    if _IMAGE_PATTERN.fullmatch(text):
        return text
    raise refuse(show(text), "a path or a name of an image, such as /images/mpi.sif", shell_reason(text) or "")


def _mount(text: str) -> str:
    if _MOUNT_PATTERN.fullmatch(text):
        return text
    expected = "an absolute path, or two with a colon between them (on the node:inside), such as /scratch:/data"
    raise refuse(show(text), expected, shell_reason(text) or "")


def _option(text: str) -> str:
    if " " not in text or not text.startswith("-"):
        return text
    first, _, rest = text.partition(" ")
    raise refuse(show(text), "one word per item", f'write {show(first)}, {show(rest)}, or "{first}={rest}"')


def _view(text: str) -> str:
    if _VIEW_PATTERN.fullmatch(text):
        return text
    raise refuse(show(text), 'a view, such as "default", or several with commas', shell_reason(text) or "")


ImageText = Annotated[str, AfterValidator(_image)]
MountText = Annotated[str, AfterValidator(_mount)]
OptionWord = Annotated[ScriptLine, AfterValidator(_option)]
ViewText = Annotated[str, AfterValidator(_view)]


class Container(Model):
    """In which image a stack's programs run, and how that is started. Paths of the entry are then paths inside."""

    kind: ContainerName
    image: ImageText = Field(
        description="Its file or folder on the nodes (a relative path is under the site's folder), or its name"
    )
    view: ViewText | None = Field(None, description="Only for uenv: the view that sets its variables")
    mounts: tuple[MountText, ...] = Field(
        (), description="Folders of the node that are there inside too: /scratch, or /scratch:/data. The job's is added"
    )
    options: tuple[OptionWord, ...] = Field((), description="More words of its command, one per item: --nv")
    host_prefix: Template | None = Field(
        None,
        description="With launcher mpirun: where the node itself has this MPI, whose mpirun starts the processes; if "
        "left out, it is on PATH",
    )

    @property
    def table(self) -> ContainerKind:
        """The entry of its kind."""
        return CONTAINERS[self.kind]

    def image_at(self, home: Path) -> Image:
        """Return how a program is started inside it, with paths under ``home``."""
        named = Image(self.kind, self.image.replace("{home}", str(home)), view=self.view)
        image = named.image if named.file is None or named.image.startswith("/") else str(home / named.image)
        pairs = tuple((here, there or here) for here, _, there in (text.partition(":") for text in self.mounts))
        return Image(self.kind, image, pairs, self.options, self.view)

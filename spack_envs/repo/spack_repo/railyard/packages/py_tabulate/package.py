"""Spack recipe for tabulate 0.10, which ReFrame 4.10 needs. Spack's own stops at 0.9 (2026-11)."""

from spack.package import depends_on, version
from spack_repo.builtin.packages.py_tabulate.package import PyTabulate as BuiltinPyTabulate


class PyTabulate(BuiltinPyTabulate):
    """Tables as plain text: all versions of Spack's own recipe, plus one."""

    version("0.10.0", sha256="e2cfde8f79420f6deeffdeda9aaec3b6bc5abce947655d17ac662b126e48a60d")

    depends_on("python@3.10:", when="@0.10:", type=("build", "run"))
    depends_on("py-setuptools@77.0.3:", when="@0.10:", type="build")
    depends_on("py-setuptools-scm@3.4.3:", when="@0.10:", type="build")

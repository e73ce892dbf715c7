"""Spack recipe for ReFrame from its sdist on PyPI. Spack's own, `reframe`, stops at 4.9 (2026-11)."""

from spack.package import depends_on, license, variant, version
from spack_repo.builtin.build_systems.python import PythonPackage


class PyReframeHpc(PythonPackage):
    """A framework for regression tests and benchmarks on HPC systems."""

    homepage = "https://reframe-hpc.readthedocs.io"
    pypi = "reframe_hpc/reframe_hpc-4.10.4.tar.gz"

    license("BSD-3-Clause")

    version("4.10.4", sha256="0d3b0246664fa5b98dc50deed239282300fd74684c607f6b23b5484b924e988b")

    # Spack's py-polars is older than the 1.39 that ReFrame needs. Without it, ReFrame keeps no results in a database.
    variant("analytics", default=False, description="Keep results in ReFrame's own database (polars)")

    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-hatchling@1.29:", type="build")

    depends_on("py-archspec@0.2.4:", type=("build", "run"))
    depends_on("py-argcomplete@3.6:3", type=("build", "run"))
    depends_on("py-clustershell@1.9:1", type=("build", "run"))
    depends_on("py-fasteners@0.20:0", type=("build", "run"))
    depends_on("py-jinja2@3.1:3", type=("build", "run"))
    depends_on("py-jsonschema@4.26:4", type=("build", "run"))
    depends_on("py-lxml@6", type=("build", "run"))
    depends_on("py-polars@1.39:1", when="+analytics", type=("build", "run"))
    depends_on("py-pyyaml@6", type=("build", "run"))
    depends_on("py-requests@2.33:2", type=("build", "run"))
    depends_on("py-semver@3", type=("build", "run"))
    depends_on("py-tabulate@0.10:0", type=("build", "run"))

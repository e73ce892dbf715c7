"""Spack recipe for Railyard itself, from the clone that this file is in."""

from pathlib import Path

from spack.package import depends_on, license, variant, version
from spack_repo.builtin.build_systems.python import PythonPackage


class PyRailyardHpc(PythonPackage):
    """ReFrame checks that tell whether each interconnect of an HPC cluster delivers what it should."""

    # No archive's checksum can be here, since the archive would contain this file.
    git = Path(__file__).resolve().parents[6].as_uri()

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("plots", default=False, description="Curves as PNG and PDF: railyard report --plots")
    variant("prometheus", default=False, description="The text file for its node exporter: railyard export prometheus")

    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-hatchling@1.27:", type="build")

    depends_on("py-reframe-hpc@4.10.4:4.10", type=("build", "run"))
    depends_on("py-pydantic@2.10:2", type=("build", "run"))
    depends_on("py-pyyaml@6.0.1:", type=("build", "run"))
    depends_on("py-click@8.1.7:", type=("build", "run"))
    depends_on("py-rich@13.7:", type=("build", "run"))
    depends_on("py-jinja2@3.1.4:", type=("build", "run"))
    depends_on("py-archspec@0.2.5:", type=("build", "run"))
    depends_on("py-scipy@1.11:", type=("build", "run"))

    depends_on("py-matplotlib@3.8:", when="+plots", type=("build", "run"))
    depends_on("py-prometheus-client@0.21:", when="+prometheus", type=("build", "run"))

"""Spack recipe for NetPIPE 3, a ping-pong over block sizes, through MPI and through a plain TCP socket."""

from spack.package import conflicts, depends_on, install, license, mkdirp, variant, version
from spack_repo.builtin.build_systems.makefile import MakefilePackage


class Netpipe(MakefilePackage):
    """Bandwidth and latency over block sizes, with the same loop for MPI (NPmpi) and TCP (NPtcp)."""

    # The authors' site of version 3 (bitspjoule.org) is sometimes offline: keep the archive in a mirror.
    homepage = "https://netpipe.cs.ksu.edu"
    url = "http://bitspjoule.org/netpipe/code/NetPIPE-3.7.2.tar.gz"

    license("GPL-2.0-or-later")

    version("3.7.2", sha256="13dac884ff52951636f651c421f5ff4a853218a95aa28a4a852402ee385a2ab8")

    variant("mpi", default=True, description="Build NPmpi")
    variant("tcp", default=True, description="Build NPtcp: start `NPtcp` on one node and `NPtcp -h NODE` on the other")

    depends_on("c", type="build")
    depends_on("mpi", when="+mpi")

    conflicts("~mpi~tcp", msg="choose at least one module: +mpi or +tcp")

    def modules(self):
        """Return the names of the chosen modules. They are the makefile's targets and the endings of the binaries."""
        return [name for name in ("mpi", "tcp") if self.spec.satisfies(f"+{name}")]

    @property
    def build_targets(self):
        # The makefile's default CC is cc, which is Spack's wrapper.
        wrapper = [f"MPICC={self.spec['mpi'].mpicc}"] if self.spec.satisfies("+mpi") else []
        return [*wrapper, *self.modules()]

    def install(self, spec, prefix):
        mkdirp(prefix.bin)
        for name in self.modules():
            install(f"NP{name}", prefix.bin)

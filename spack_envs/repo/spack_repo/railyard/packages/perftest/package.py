"""Spack recipe for perftest: bandwidth and latency of RDMA verbs between two hosts, without MPI."""

from spack.package import conflicts, depends_on, license, variant, version
from spack_repo.builtin.build_systems.autotools import AutotoolsPackage


class Perftest(AutotoolsPackage):
    """ib_send_bw, ib_write_bw, ib_read_bw and others like them: each measures bandwidth or latency of one verb."""

    homepage = "https://github.com/linux-rdma/perftest"
    # The archive of a release has configure, and its commit in its name. A tag's archive has neither, and another
    # checksum.
    url = "https://github.com/linux-rdma/perftest/releases/download/25.01.0-0.80/perftest-25.01.0-0.80.g6730e97.tar.gz"

    license("GPL-2.0-only OR BSD-2-Clause")

    # The checksum is that of Debian's perftest_25.01.0+0.80.orig.tar.gz, which is the release's archive.
    version("25.01.0-0.80", sha256="54e86b131f0b06862b8b9cd692739737295463cfef467bdda5f5aa3dae8c5b05")

    depends_on("c", type="build")
    depends_on("rdma-core")
    depends_on("pciutils")

    # Buffers in the memory of GPUs: ib_write_bw --use_cuda=0, --use_rocm=0.
    variant("cuda", default=False, description="Buffers in the memory of NVIDIA's GPUs")
    variant("rocm", default=False, description="Buffers in the memory of AMD's GPUs")
    depends_on("cuda", when="+cuda")
    depends_on("hip", when="+rocm")

    conflicts("+cuda", when="+rocm", msg="one kind of GPU at a time")
    conflicts("platform=darwin", msg="verbs exist only on Linux")

    def configure_args(self) -> list[str]:
        """Return where the headers of CUDA or ROCm are (README of perftest, GPUDirect usage)."""
        args: list[str] = []
        if self.spec.satisfies("+cuda"):
            args.append(f"CUDA_H_PATH={self.spec['cuda'].prefix.include.join('cuda.h')}")
        if self.spec.satisfies("+rocm"):
            args += ["--enable-rocm", f"--with-rocm={self.spec['hip'].prefix}"]
        return args

"""Where the build finds CUDA's headers: in a toolkit, in NVIDIA's Python packages, or nowhere."""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

CUDA = Path(__file__).resolve().parents[2] / "cmake/cuda.cmake"
HEADERS = ("cuda.h", "nvrtc.h", "cublasLt.h", "cudnn.h")
PROJECT = f"""cmake_minimum_required(VERSION 3.22)
project(headers NONE)
option(TENON_CUDA "" ON)
include({CUDA})
message(STATUS "have: ${{TENON_HAVE_CUDA}}")
"""


class CudaHeaders(unittest.TestCase):
    def configure(self, files: list[str], *options: str) -> tuple[int, str]:
        """A configuration where only these files of the folder `root` are there."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "CMakeLists.txt").write_text(PROJECT)
            for name in files:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).touch()
            environment = {name: value for name, value in os.environ.items() if name != "CUDA_HOME"}
            command = ["cmake", "-S", root, "-B", root / "build", f"-DTENON_VENV={root}/venv", f"-DTENON_CUDA_ROOT={root}/cuda"]
            done = subprocess.run([*command, *options], capture_output=True, text=True, env=environment)
            return done.returncode, done.stdout + done.stderr

    def test_of_a_toolkit(self):
        code, text = self.configure([f"cuda/include/{name}" for name in HEADERS])
        self.assertIn("have: TRUE", text)
        self.assertIn("cuda/include", text)

    def test_of_python_packages(self):
        packages = ("cu13", "cu13", "cu13", "cudnn")
        code, text = self.configure([f"venv/lib/python3.12/site-packages/nvidia/{package}/include/{name}"
                                     for package, name in zip(packages, HEADERS)])
        self.assertIn("have: TRUE", text)
        self.assertIn("nvidia/cudnn/include", text)
        self.assertIn("profilers will not see the names of layers", text)

    def test_a_toolkit_and_packages_complement_each_other(self):
        files = [f"cuda/include/{name}" for name in HEADERS[:3]]
        self.assertIn("have: TRUE", self.configure([*files, "venv/lib/python3.12/site-packages/nvidia/cudnn/include/cudnn.h"])[1])

    def test_names_of_layers_need_nvtx(self):
        files = [f"cuda/include/{name}" for name in HEADERS]
        packages = ["venv/lib/python3.12/site-packages/nvidia/nvtx/include/nvtx3/nvToolsExt.h"]
        self.assertIn("nvidia/nvtx/include", self.configure(files + packages)[1])

    def test_without_either_the_rest_is_built_and_it_is_said(self):
        code, text = self.configure([])
        self.assertEqual(code, 0)
        self.assertIn("have: FALSE", text)
        self.assertIn("libtenon_cuda is not built, everything else is", text)
        code, text = self.configure([f"cuda/include/{name}" for name in HEADERS[:3]])
        self.assertEqual(code, 0)
        self.assertIn("CUDA: cudnn.h not found", text)

    def test_what_is_required_is_an_error(self):
        self.assertNotEqual(self.configure([], "-DTENON_REQUIRE_CUDA=ON")[0], 0)

    def test_it_can_be_switched_off(self):
        code, text = self.configure([f"cuda/include/{name}" for name in HEADERS], "-DTENON_CUDA=OFF")
        self.assertIn("switched off", text)
        self.assertIn("have: FALSE", text)


if __name__ == "__main__":
    unittest.main()

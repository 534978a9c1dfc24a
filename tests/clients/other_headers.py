#!/usr/bin/env python3
"""Compile with TensorRT's own headers, link with lib/compat, run: programs that were never compiled with ours.

Two programs: the one of tests/api/abi, which compares every row of src/surface/abi.tsv with the headers, and all of tests/api,
which builds networks, plugins, engines and contexts, reads and refits plans. Nothing of the headers is kept.

usage: other_headers.py TENSORRT_INCLUDE CUDA_INCLUDE LIB [--jobs=N]
       TENSORRT_INCLUDE and CUDA_INCLUDE are folders with NvInfer.h (10.16) and cuda_runtime_api.h, LIB is build/release/lib
"""
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
COUNT = """#include <cstdio>
#include "probe.h"
int main() {
  layout::Comparison comparison;
  layout::compare_all(comparison);
  for (const auto& difference : comparison.differences) std::puts(difference.c_str());
  std::printf("%d rows compared, %zu differences\\n", comparison.rows, comparison.differences.size());
  return comparison.differences.empty() ? 0 : 1;
}
"""


def run(*command: str | Path, **settings) -> None:
    subprocess.run([str(word) for word in command], check=True, **settings)


def compile_all(sources: list[Path], flags: list[str], folder: Path, jobs: int) -> list[Path]:
    def one(source: Path) -> Path:
        out = folder / (source.stem + ".o")
        run("g++", "-std=c++20", "-O0", "-w", *flags, "-c", source, "-o", out)
        return out

    with ThreadPoolExecutor(jobs) as threads:
        return list(threads.map(one, sources))


def compare_rows(includes: list[str], work: Path) -> None:
    rows, main = work / "rows.cpp", work / "count.cpp"
    run(sys.executable, ROOT / "tools/abi_test.py", rows, work / "compat_symbols.inc")
    main.write_text(COUNT)
    objects = compile_all([rows, main], [*includes, "-fno-access-control", f"-I{ROOT / 'tests/api/abi'}"], work, 2)
    run("g++", *objects, "-o", work / "rows")
    run(work / "rows")


def run_api_tests(includes: list[str], lib: Path, work: Path, jobs: int) -> None:
    # Our own extension headers include NvInfer.h, which must be the other one.
    shutil.copytree(ROOT / "include/tenon", work / "include/tenon")
    flags = [*includes, f"-I{work / 'include'}", f"-I{ROOT / 'tests/api'}", f"-I{ROOT / 'tests'}", f"-I{ROOT / 'src'}",
             f'-DTENON_SOURCE_DIR="{ROOT}"']
    objects = compile_all(sorted((ROOT / "tests/api").glob("*.cpp")), flags, work, jobs)
    compat = lib / "compat"
    run("g++", *objects, "-o", work / "api_test", f"-L{compat}", "-lnvinfer", "-lnvonnxparser", "-lnvinfer_plugin",
        lib / "libtenon.so.0", f"-Wl,-rpath,{compat}:{lib}", "-lgtest", "-lgtest_main", "-lpthread", "-ldl")
    run(work / "api_test", "--gtest_brief=1", cwd=ROOT)


def main() -> None:
    folders = [Path(word).resolve() for word in sys.argv[1:] if not word.startswith("--")]
    jobs = next((int(word[7:]) for word in sys.argv[1:] if word.startswith("--jobs=")), os.cpu_count() or 1)
    if len(folders) != 3:
        sys.exit(__doc__)
    tensorrt, cuda, lib = folders
    includes = [f"-I{tensorrt}", f"-I{cuda}"]
    with tempfile.TemporaryDirectory() as work:
        compare_rows(includes, Path(work))
        run_api_tests(includes, lib, Path(work), jobs)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Compile, link and run public programs for TensorRT: NVIDIA's samples, trtexec, Python bindings and plugins; tensorrtx.

Each source is compiled twice, with the headers that its own checkout brings and with ours. A source that does not compile with its
own headers says nothing about ours (a library is missing here); every other one must compile with ours. Programs are then linked
with lib/compat, as an application that was never compiled with ours. Nothing of the checkouts is kept.

usage: clients.py CHECKOUTS BUILD [--group=NAME]... [--jobs=N] [--device-code] [--link=FOLDER] [--json=FILE]
       CHECKOUTS: a folder with checkouts named TensorRT (release/10.16) and tensorrtx, and where they are wanted
                  those of GROUPS below, named as their repositories (triton-backend, -core and -common are
                  headers of tensorrt_backend); BUILD: our build folder
       --device-code: also *.cu, with nvcc
       --link: programs, compiled with their own headers, into FOLDER; tests/clients/run_trtexec.py runs the first
"""
import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CUDA = Path("/usr/local/cuda")
ARCHITECTURE = "sm_90"


@dataclass(frozen=True)
class Group:
    """Sources that are compiled in the same way; folders and patterns are relative to the checkout."""

    name: str
    checkout: str
    sources: tuple[str, ...]
    includes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    own_folders: bool = True  # a source finds headers in its own folder, its parent's include/ and plugin/


SHARED = ("shared", "samples", "samples/common")
GROUPS = [
    Group("samples", "TensorRT", ("samples/common/*.cpp", "samples/*/*.cpp", "samples/*/*.cu", "shared/utils/*.cpp"), SHARED),
    Group("bindings", "TensorRT", ("python/src/**/*.cpp",),
          ("python/include", "python/docstrings", "python/src", "shared", "plugin", "parsers/onnx"),
          ("-DTENSORRT_MODULE=tensorrt",)),
    Group("plugins", "TensorRT", ("plugin/**/*.cpp", "plugin/**/*.cu"),
          ("plugin", "plugin/common", "plugin/common/kernels", "plugin/api", "shared", "third_party")),
    Group("quickstart", "TensorRT", ("quickstart/**/*.cpp",), ("quickstart/common",)),
    Group("tensorrtx", "tensorrtx", ("**/*.cpp", "**/*.cu")),
    Group("depth", "depth-anything-tensorrt", ("*.cpp",)),
    Group("trtyolo", "TensorRT-YOLO", ("modules/trtyolo/*/*.cpp", "modules/plugin/**/*.cpp"),
          ("modules/trtyolo", "modules/plugin", "modules/plugin/common")),
    Group("plugin-example", "TensorRT-Custom-Plugin-Example", ("src/**/*.cpp",), ("src/plugins/PluginUtils",)),
    Group("amirstan", "amirstan_plugin", ("src/plugin/**/*.cpp",),
          ("include", "include/plugin", "src", "src/plugin", "src/plugin/common", "third_party/cub")),
    Group("mmdeploy", "mmdeploy", ("csrc/mmdeploy/backend_ops/tensorrt/**/*.cpp",),
          tuple(f"csrc/mmdeploy/backend_ops/tensorrt/{folder}" for folder in ("common", "common_impl", "common_impl/nms"))),
    Group("bevformer", "BEVFormer_tensorrt", ("TensorRT/**/*.cpp",), ("TensorRT/common", "TensorRT/plugin")),
    Group("deepstream", "DeepStream-Yolo", ("nvdsinfer_custom_impl_Yolo/**/*.cpp",), ("nvdsinfer_custom_impl_Yolo",)),
    Group("fastertransf", "FasterTransformer", ("src/fastertransformer/tensorrt_plugin/**/*.cpp",),
          (".", "src/fastertransformer/tensorrt_plugin", "3rdparty/trt_fused_multihead_attention", "3rdparty")),
    Group("lidar", "Lidar_AI_Solution", ("CUDA-BEVFusion/src/**/*.cpp", "CUDA-CenterPoint/src/*.cpp", "libraries/**/*.cpp"),
          ("CUDA-BEVFusion/src", "CUDA-CenterPoint/include", "libraries/3DSparseConvolution/libspconv/include")),
    Group("alpha", "TensorRT-Alpha", ("*/*.cpp",), ("utils", *(f"../TensorRT/{folder}" for folder in SHARED))),
    Group("tiny", "tiny-tensorrt", ("src/*.cpp", "plugin/**/*.cpp", "tests/*.cpp"), (".", "third_party", "include")),
    Group("triton", "tensorrt_backend", ("src/*.cc",),
          ("src", *(f"../triton-{name}/include" for name in ("backend", "core", "common"))), ("-DTRITON_ENABLE_GPU=1",)),
    Group("starter", "tensorrt_starter", ("chapter*/**/*.cpp",)),
    Group("learning", "tensorrt_learning", ("trt_cpp/src/**/*.cpp", "*/*.cpp"), ("trt_cpp/src", "trt_cpp/src/trt")),
    Group("yolo", "yolo-tensorrt", ("modules/*.cpp",), ("modules",)),
    Group("lite", "lite.ai.toolkit", ("lite/trt/**/*.cpp",), (".", "lite"), ("-DENABLE_TENSORRT",)),
    Group("inference", "tensorrt_inference", ("code/**/*.cpp", "project/**/*.cpp"),
          ("code/includes", "depends/yaml-cpp/include")),
    Group("examples", "TensorRT_Examples", ("**/*.cpp",), ("calibrator", "utils")),
    Group("rust", "tensorrt-rs", ("tensorrt-sys/trt-sys/**/*.cpp",), ("tensorrt-sys/trt-sys",)),
    Group("autoware", "autoware.universe", ("perception/autoware_tensorrt_common/src/*.cpp",),
          ("perception/autoware_tensorrt_common/include",), ("-include", "array")),  # GCC before 12 includes it by itself.
    Group("edge-llm", "TensorRT-Edge-LLM", ("cpp/*/*.cpp", "cpp/plugins/*/*.cpp", "cpp/kernels/*/*.cpp", "examples/llm/*.cpp"),
          ("cpp", "examples/utils", *(f"3rdParty/{folder}" for folder in ("nlohmannJson", "NVTX/c/include", "stb")))),
    Group("holoscan", "holoscan-sdk", ("modules/holoinfer/src/infer/trt/*.cpp",),
          ("include", "modules/holoinfer/src", "modules/holoinfer/src/include")),
    Group("qec", "cudaqx", ("libs/qec/lib/decoders/plugins/trt_decoder/*.cpp",),
          ("libs/qec/include", "libs/core/include"), ("-std=c++20",)),
    Group("mlir-tensorrt", "TensorRT-Incubator", ("mlir-tensorrt/executor/lib/Runtime/StandaloneCPP/*TensorRT.cpp",)),
    Group("dinov3", "DINOv3-TRT-Acceleration", ("Code/cpp/src/*.cpp", "Code/cpp/tools/*.cpp"), ("Code/cpp/include",), ("-std=c++20",)),
]
SYSTEM_INCLUDES = ["/usr/include/opencv4", "/usr/include/eigen3", f"{CUDA}/include", f"{CUDA}/include/cccl"]


COMMON = ("samples/common/*.cpp", "shared/utils/*.cpp")
# Each sample folder whose sources compile with the public headers; the others need those of DLA or the safety runtime.
PROGRAMS = ["trtexec", "sampleCharRNN", "sampleDynamicReshape", "sampleEditableTimingCache", "sampleINT8API", "sampleIOFormats",
            "sampleNamedDimensions", "sampleNonZeroPlugin", "sampleOnnxMNIST", "sampleOnnxMnistCoordConvAC",
            "sampleProgressMonitor"]


@dataclass
class Row:
    group: str
    source: str
    theirs: bool
    ours: bool
    error: str = ""
    extra: dict = field(default_factory=dict)


def own_folders(source: Path, top: Path) -> list[Path]:
    folder, found = source.parent, []
    while True:
        found += [folder, folder / "include", folder / "plugin", folder / "src"]
        if folder == top or folder.parent == folder:
            return [path for path in found if path.is_dir()]
        folder = folder.parent


def command(group: Group, source: Path, checkout: Path, headers: Path) -> list[str]:
    includes = [headers, *(checkout / folder for folder in group.includes)]
    if group.own_folders:
        includes += [path for path in own_folders(source, checkout) if path != checkout / "include"]
    system = [path for path in SYSTEM_INCLUDES if source.suffix != ".cu" or not path.startswith(str(CUDA))]  # nvcc knows its own
    words = [f"-I{path}" for path in includes] + [word for path in system for word in ("-isystem", path)]
    python = subprocess.run([sys.executable, "-c", "import sysconfig; print(sysconfig.get_path('include'))"],
                            capture_output=True, text=True, check=True).stdout.strip()
    words += ["-isystem", python, "-std=c++17", "-w", "-DENABLE_FEATURE_DISABLE_RUNTIME_ALLOCATION=0", *group.flags]
    if source.suffix == ".cu":
        return [str(CUDA / "bin/nvcc"), f"-arch={ARCHITECTURE}", "-c", "-o", "/dev/null", *words, str(source)]
    return ["g++", "-fsyntax-only", *words, str(source)]


def first_error(text: str) -> str:
    lines = [line for line in text.splitlines() if "error" in line]
    return lines[0][-300:] if lines else text[-300:]


def compile_source(group: Group, source: Path, checkout: Path) -> Row:
    own = checkout / "include" if (checkout / "include/NvInfer.h").exists() else checkout.parent / "TensorRT/include"
    theirs = subprocess.run(command(group, source, checkout, own), capture_output=True, text=True)
    ours = subprocess.run(command(group, source, checkout, ROOT / "include"), capture_output=True, text=True)
    failed = ours if ours.returncode else theirs
    return Row(group.name, str(source.relative_to(checkout)), theirs.returncode == 0, ours.returncode == 0,
               first_error(failed.stderr) if failed.returncode else "")


def sources_of(group: Group, checkout: Path, device_code: bool) -> list[Path]:
    found = {path for pattern in group.sources for path in checkout.glob(pattern)}
    return sorted(path for path in found if device_code or path.suffix != ".cu")


def compile_all(options: argparse.Namespace) -> list[Row]:
    work = []
    for group in GROUPS:
        checkout = options.checkouts / group.checkout
        if (not options.group or group.name in options.group) and checkout.is_dir():
            work += [(group, source, checkout) for source in sources_of(group, checkout, options.device_code)]
    with ThreadPoolExecutor(options.jobs) as threads:
        return list(threads.map(lambda item: compile_source(*item), work))


def objects_of(patterns: tuple[str, ...], checkout: Path, folder: Path, jobs: int) -> list[Path]:
    group = next(group for group in GROUPS if group.name == "samples")

    def one(source: Path) -> Path:
        out = folder / f"{source.parent.name}.{source.name}.o"
        words = command(group, source, checkout, checkout / "include")
        words = [word for word in words if word not in ("-fsyntax-only", "-c", "-o", "/dev/null")]
        subprocess.run([*words, "-O1", "-c", "-o", str(out)], check=True)
        return out

    with ThreadPoolExecutor(jobs) as threads:
        return list(threads.map(one, sorted(path for pattern in patterns for path in checkout.glob(pattern))))


def link_all(options: argparse.Namespace) -> None:
    checkout, folder, compat = options.checkouts / "TensorRT", options.link, options.build.absolute() / "lib/compat"
    folder.mkdir(parents=True, exist_ok=True)
    common = objects_of(COMMON, checkout, folder, options.jobs)
    for name in PROGRAMS:
        own = objects_of((f"samples/{name}/*.cpp", f"samples/{name}/*.cu"), checkout, folder, options.jobs)
        subprocess.run(["g++", *map(str, [*own, *common]), "-o", str(folder / name), f"-L{compat}", f"-L{CUDA}/lib64",
                        f"-Wl,-rpath-link,{compat.parent}", "-lnvinfer", "-lnvonnxparser", "-lnvinfer_plugin", "-lcudart",
                        "-lcuda", f"-L{CUDA}/lib64/stubs", "-ldl", "-lpthread", "-lrt"], check=True)
    print(f"{len(PROGRAMS)} programs linked in {folder}")


def show(rows: list[Row]) -> int:
    print(f"{'group':<12}{'sources':>8}{'theirs':>8}{'ours':>8}{'only theirs':>13}")
    for name in dict.fromkeys(row.group for row in rows):
        of = [row for row in rows if row.group == name]
        print(f"{name:<12}{len(of):>8}{sum(row.theirs for row in of):>8}{sum(row.ours for row in of):>8}"
              f"{sum(row.theirs and not row.ours for row in of):>13}")
    wrong = [row for row in rows if row.theirs and not row.ours]
    for row in wrong:
        print(f"{row.group}: {row.source}: {row.error}")
    return 1 if wrong or not rows else 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("build", type=Path)
    parser.add_argument("--group", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--device-code", action="store_true")
    parser.add_argument("--link", type=Path)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main() -> int:
    options = parse()
    if options.link:
        link_all(options)
        return 0
    rows = compile_all(options)
    if options.json:
        options.json.write_text(json.dumps([vars(row) for row in rows], indent=1))
    return show(rows)


if __name__ == "__main__":
    sys.exit(main())

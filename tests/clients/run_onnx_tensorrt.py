#!/usr/bin/env python3
"""Compile onnx-tensorrt's parser and run ONNX's node cases through it and NVIDIA's trtexec: their parser over our network API.

Each source is compiled with TensorRT's headers and with ours; the former are linked with lib/compat in place of our own parser.
A case that the parser refuses says nothing about us, and neither does one of THEIRS; every other one must give the right numbers.

usage: run_onnx_tensorrt.py CHECKOUTS BUILD WORK CASES [--only=TEXT]
       CHECKOUTS: a folder with checkouts named TensorRT and onnx-tensorrt; BUILD: our build folder
       WORK: a folder in which run_all.py has linked programs; CASES: what tests/onnx/generate_cases.py wrote
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import clients
import numpy as np
import onnx
import run_all
from onnx import numpy_helper

NOT_OF_THE_PARSER = {"getSupportedAPITest.cpp", "onnx_trt_backend.cpp"}
# Inputs whose numbers are extents; trtexec takes these by --shapes. By operator, the operand.
SHAPES = {"Reshape": 1, "Expand": 1, "Tile": 1, "Pad": 1, "Resize": 3, "TopK": 1, "ConstantOfShape": 0, "Split": 1}
# Of an element, relative and absolute: two steps of the narrower type, and what trtexec's decimals leave of the others.
TOLERANCES = {"float32": (2e-3, 1e-3), "bfloat16": (1.6e-2, 4e-3)}
# Wrong in the parser or in trtexec whatever library is below, each with the reason.
THEIRS = {
    r"gridsample": "modes are called linear and cubic since operator set 20",
    r"triu": "upper is 0 by default",
    r"batchwise": "layout 1 is not read", r"_crd_": "mode CRD is not read",
    r"INT4|int4|FLOAT8|e4m3": "trtexec reads and writes numbers below 8 bits, and of FP8, as others",
    r"castlike_(BFLOAT16|FLOAT16|FLOAT)_": "an input whose numbers are unused has no extents",
    r"zero|empty": "trtexec gives a tensor without elements one",
    r"bernoulli": "its numbers are random",
    r"loop11|if_seq": "an unused input",
    r"negative": "--shapes takes no -1", r"center_crop_pad": "trtexec takes the input of extents for data",
    r"matmul_1d_3d": "another axis is removed than was added",
}


def headers(folder: Path) -> Path:
    """<onnx/onnx_pb.h> of the installed onnx package."""
    made = folder / "onnx"
    made.mkdir(parents=True, exist_ok=True)
    proto = (Path(onnx.__file__).parent / "onnx-ml.proto").read_text()
    (made / "onnx-ml.proto").write_text(proto.replace("option optimize_for = LITE_RUNTIME;", ""))
    subprocess.run(["protoc", "--cpp_out=.", "onnx/onnx-ml.proto"], cwd=folder, check=True)
    (made / "onnx_pb.h").write_text('#include "onnx/onnx-ml.pb.h"\n')
    (folder / "NvInferSafeRuntime.h").write_text("")  # Named by a source that uses nothing of it.
    return folder


def compiled(source: Path, include: Path, made: Path, output: Path | None) -> str:
    """Nothing, or the first error."""
    flags = ["-c", "-fPIC", "-o", str(output)] if output else ["-fsyntax-only"]
    words = ["g++", "-std=c++17", "-w", *flags, "-DSOURCE_LENGTH=1", "-DONNX_NAMESPACE=onnx", "-include", "NvInferRuntime.h",
             f"-I{include}", f"-I{source.parent}", f"-I{made}", "-isystem", f"{clients.CUDA}/include", str(source)]
    done = subprocess.run(words, capture_output=True, text=True)
    return clients.first_error(done.stderr) if done.returncode else ""


def parser_of(options: argparse.Namespace) -> Path:
    """Compiles all twice and links; prints a line of figures."""
    folder, made = options.work / "onnx-tensorrt", headers(options.work / "onnx-tensorrt/headers")
    objects, theirs, ours = [], 0, []
    for source in sorted((options.checkouts / "onnx-tensorrt").glob("*.cpp")):
        if source.name in NOT_OF_THE_PARSER:
            continue
        objects.append(folder / f"{source.stem}.o")
        theirs += not compiled(source, options.checkouts / "TensorRT/include", made, objects[-1])
        ours.append(compiled(source, clients.ROOT / "include", made, None))
    objects.append(folder / "onnx.o")
    subprocess.run(["g++", "-c", "-fPIC", f"-I{made}", "-o", str(objects[-1]), str(made / "onnx/onnx-ml.pb.cc")], check=True)
    subprocess.run(["g++", "-shared", "-Wl,-soname,libnvonnxparser.so.10", "-o", str(folder / "libnvonnxparser.so.10"),
                    *map(str, objects), f"-L{options.build}/lib/compat", "-lnvinfer", "-lprotobuf"], check=True)
    print(f"{len(ours)} sources: {theirs} compile with TensorRT's headers, {ours.count('')} with ours, linked")
    print("".join(f"{error}\n" for error in ours if error), end="")
    return folder


def arrays(case: Path, kind: str, count: int) -> list[np.ndarray]:
    return [numpy_helper.to_array(onnx.load_tensor(case / "data_0" / f"{kind}_{i}.pb")) for i in range(count)]


def flags_of(graph: onnx.GraphProto, inputs: list[np.ndarray], folder: Path) -> list[str]:
    shaped = {node.input[SHAPES[node.op_type]] for node in graph.node if len(node.input) > SHAPES.get(node.op_type, 99)}
    files, shapes = [], []
    for info, array in zip(graph.input, inputs):
        if info.name in shaped and array.ndim == 1 and array.size and (array >= 0).all():
            shapes.append(f"{info.name}:{'x'.join(map(str, array))}")
            continue
        (folder / f"{len(files)}.bin").write_bytes(np.ascontiguousarray(array).tobytes())
        files.append(f"{info.name}:{folder}/{len(files)}.bin")
    return [f"--{flag}={','.join(words)}" for flag, words in (("loadInputs", files), ("shapes", shapes)) if words]


def outputs_of(file: Path) -> dict[str, np.ndarray]:
    text = re.sub(r'(?<![A-Za-z"])(-?)inf(?![A-Za-z"])', r"\1Infinity", file.read_text())
    found = json.loads(re.sub(r'(?<![A-Za-z"])-?nan(?![A-Za-z"])', "NaN", text))
    return {one["name"]: np.array(one["values"], np.float64) for one in found}


def outcome(case: Path, program: Path, around: dict[str, str]) -> str:
    """right, refused, or what is wrong."""
    graph = onnx.load(case / "model.onnx").graph
    inputs, expected = arrays(case, "input", len(graph.input)), arrays(case, "output", len(graph.output))
    if any(array.dtype.kind in "OUS" or array.dtype == np.float64 for array in inputs + expected):
        return "refused"
    with tempfile.TemporaryDirectory() as name:
        words = [program, f"--onnx={case}/model.onnx", "--iterations=1", "--duration=0", "--warmUp=0", "--avgRuns=1",
                 "--builderOptimizationLevel=0", f"--exportOutput={name}/out.json", *flags_of(graph, inputs, Path(name))]
        done = subprocess.run(words, env=around, capture_output=True, text=True, timeout=120)
        errors = [line for line in (done.stdout + done.stderr).splitlines() if "[E]" in line]
        if done.returncode != 0:
            parsed = not any("ailed to parse" in line for line in errors)
            by_us = any("layer '" in line for line in errors)
            return "refused" if not parsed and not by_us else f"exit code {done.returncode}: {errors[:1]}"
        found = outputs_of(Path(name) / "out.json")
    for info, wanted in zip(graph.output, expected):
        values = wanted.astype(np.float64).ravel()
        relative, absolute = TOLERANCES.get(str(wanted.dtype), TOLERANCES["float32"])
        if found[info.name].size != values.size or not np.allclose(found[info.name], values, relative, absolute, equal_nan=True):
            return f"{info.name} is {found[info.name][:4]}, not {values[:4]}"
    return "right"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("checkouts", "build", "work", "cases"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--only", default="")
    return parser.parse_args()


def main() -> int:
    options, counts = parse(), collections.Counter()
    folder = parser_of(options)
    around = run_all.environment(options, run_all.has_gpu())
    around["LD_LIBRARY_PATH"] = os.pathsep.join([str(folder.absolute()), around["LD_LIBRARY_PATH"]])
    for case in sorted((options.cases / "node").iterdir()):
        if options.only not in case.name:
            continue
        try:
            what = outcome(case, (options.work / "programs/trtexec").absolute(), around)
        except (ValueError, OSError, KeyError) as error:  # No tensors, or numbers that are not JSON.
            what = f"unreadable: {error}"
        known = next((why for pattern, why in THEIRS.items() if re.search(pattern, case.name)), None)
        kind = what if what in ("right", "refused") else "unreadable" if what.startswith("unreadable") else "theirs" if known else "wrong"
        counts[kind] += 1
        if kind == "wrong":
            print(f"{case.name}: {what[:300]}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())

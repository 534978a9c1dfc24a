#!/usr/bin/env python3
"""Runs the Python example of a page with installed packages alone, asks the console commands for their help, and measures
how long importing takes.

usage: try_wheel.py PAGE      PAGE's first block of Python reads model.onnx, which takes 1x3x224x224 numbers """
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import tenon
import tensorrt
import tensorrt_dispatch
import tensorrt_lean
from onnx import TensorProto, helper, numpy_helper

LONGEST_IMPORT_S = 0.15

weights = np.random.default_rng(0).standard_normal((4, 3, 7, 7)).astype(np.float32)
graph = helper.make_graph([helper.make_node("Conv", ["input", "w"], ["c"], strides=[4, 4]),
                           helper.make_node("GlobalAveragePool", ["c"], ["p"]), helper.make_node("Relu", ["p"], ["output"])],
                          "small", [helper.make_tensor_value_info("input", TensorProto.FLOAT, ("batch", 3, 224, 224))],
                          [helper.make_tensor_value_info("output", TensorProto.FLOAT, ("batch", 4, 1, 1))],
                          [numpy_helper.from_array(weights, "w")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), "model.onnx")
example = re.search(r"```python\n(.*?)```", Path(sys.argv[1]).read_text(), re.S).group(1)
assert len(example.splitlines()) <= 10, "the example has more than ten lines"
values = {}
exec(compile(example, sys.argv[1], "exec"), values)
wanted = np.maximum(weights.sum((1, 2, 3)), 0).reshape(1, 4, 1, 1)
np.testing.assert_allclose(values["y"], wanted, rtol=1e-3, atol=1e-3)

assert tenon.load("model.plan").device in ("cpu", "cuda")
assert tensorrt.Builder(tensorrt.Logger()).create_network(0).num_layers == 0
for runtime in (tensorrt_lean, tensorrt_dispatch):
    engine = runtime.Runtime(runtime.Logger()).deserialize_cuda_engine(Path("model.plan").read_bytes())
    assert engine.num_io_tensors == 2 and not hasattr(runtime, "Builder"), runtime

# Time of the processor, which other programs on the machine do not lengthen as they do the clock's.
MEASURE = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"
took = {module: min(float(subprocess.run([sys.executable, "-c", MEASURE.format(module)], capture_output=True, check=True).stdout)
                    for _ in range(5)) for module in ("tenon", "tensorrt")}
assert max(took.values()) < LONGEST_IMPORT_S, took

scripts = Path(sys.executable).parent
for command in ("tenon", "trtexec"):
    done = subprocess.run([scripts / command, "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout, (command, done)
package = Path(tenon.__file__).parent
for binary in [*package.glob("*.so"), *package.glob("lib/*"), package / "bin/tenon"]:
    folders = re.findall(r"R(?:UN)?PATH.*\[(.*)\]", subprocess.run(["readelf", "-d", binary], capture_output=True, text=True,
                                                                check=True).stdout)
    wrong = [folder for path in folders for folder in path.split(":") if not folder.startswith("$ORIGIN")]
    assert not wrong, f"{binary} looks for libraries in {wrong}"
print(f"the wheels work in Python {sys.version.split()[0]}: tenon {tenon.__version__}, tensorrt {tensorrt.__version__}; imported in",
      " and ".join(f"{seconds * 1e3:.0f} ms" for seconds in took.values()))

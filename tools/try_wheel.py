#!/usr/bin/env python3
"""Builds, saves, loads and runs a model with installed packages alone, and asks the console commands for their help."""
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import tenon
import tensorrt
from onnx import TensorProto, helper

graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu",
                          [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 3))],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, (2, 3))])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
tenon.build(model, device="cpu").save("relu.plan")
x = np.array([[-1, 0, 1], [2, -2, 3]], np.float32)
assert (tenon.load("relu.plan").session()(x) == np.maximum(x, 0)).all()
assert tensorrt.Builder(tensorrt.Logger()).create_network(0).num_layers == 0

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
print("the wheels work: tenon", tenon.__version__, "tensorrt", tensorrt.__version__)

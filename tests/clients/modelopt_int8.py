#!/usr/bin/env python3
"""NVIDIA ModelOpt as PyPI has it: its ONNX quantizer's output, built and run in 8-bit integers or floats.

Quantizes a small convolutional network, builds it for this machine's CPU (or --device=cuda) and compares with ONNX's reference,
which computes the same quantized model. ONNX Runtime is told beside it: on a CPU it gives other numbers for 8-bit floats.

usage: modelopt_int8.py [--device DEVICE] [--mode int8|fp8]      needs nvidia-modelopt[onnx], torch, onnx, onnxruntime
"""
import argparse
import os
import sys
import tempfile

import numpy as np


def model() -> bytes:
    """Convolutions of 16 to 32 channels, a sum, a pool, a product."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(1)

    def weights(name, *shape):
        return numpy_helper.from_array((random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32), name)

    nodes = [helper.make_node("Conv", ["x", "w1"], ["c1"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c1"], ["r1"]),
             helper.make_node("Conv", ["r1", "w2"], ["c2"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c2"], ["r2"]),
             helper.make_node("Conv", ["r2", "w3"], ["c3"], pads=[1, 1, 1, 1]), helper.make_node("Add", ["c3", "r1"], ["s"]),
             helper.make_node("GlobalAveragePool", ["s"], ["p"]), helper.make_node("Flatten", ["p"], ["f"]),
             helper.make_node("Gemm", ["f", "w4"], ["y"], transB=1)]
    graph = helper.make_graph(nodes, "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 16, 24, 24))],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, (2, 10))],
                              [weights("w1", 32, 16, 3, 3), weights("w2", 32, 32, 3, 3), weights("w3", 32, 32, 3, 3),
                               weights("w4", 10, 32)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9).SerializeToString()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--mode", default="int8", choices=("int8", "fp8"))
    options = parser.parse_args()
    import modelopt
    import onnx.reference
    import onnxruntime
    import tenon
    from modelopt.onnx.quantization import quantize

    x = np.random.default_rng(0).random((2, 16, 24, 24), dtype=np.float32)
    with tempfile.TemporaryDirectory() as folder:
        plain, quantized = os.path.join(folder, "plain.onnx"), os.path.join(folder, "quantized.onnx")
        with open(plain, "wb") as file:
            file.write(model())
        quantize(plain, quantize_mode=options.mode, calibration_data={"x": x}, calibration_method="max", calibration_eps=["cpu"],
                 output_path=quantized, high_precision_dtype="fp32")
        other = onnxruntime.InferenceSession(quantized).run(None, {"x": x})[0]
        wanted = onnx.reference.ReferenceEvaluator(quantized).run(None, {"x": x})[0]
        exact = onnxruntime.InferenceSession(plain).run(None, {"x": x})[0]
        plan = tenon.build(quantized, device=options.device, precision=options.mode)
        got = np.asarray(plan(x))
    off, lost, others = (float(np.linalg.norm(a - b) / np.linalg.norm(b)) for a, b in ((got, wanted), (wanted, exact), (other, wanted)))
    print(f"ModelOpt {modelopt.__version__}, {options.mode}: {off:.1e} from ONNX's reference, which is {lost:.1e} from FP32; "
          f"ONNX Runtime {others:.1e}")
    return 0 if off < max(1e-5, 0.1 * lost) else 1


if __name__ == "__main__":
    sys.exit(main())

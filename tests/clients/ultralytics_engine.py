#!/usr/bin/env python3
"""Ultralytics as PyPI has it: a detector's export to an engine and its prediction, with the packages `tenon` and `tensorrt`.

With a GPU: YOLO(...).export(format="engine") and the engine behind the same YOLO class, beside PyTorch's module. Without one,
where Ultralytics refuses to export: its function that builds the engine, and the engine in it beside ONNX Runtime.

usage: ultralytics_engine.py [--size N] [--model yolov8n.yaml]      needs ultralytics, torch, onnx, onnxruntime; nothing is fetched:
                                                                    weights are random
"""
import argparse
import os
import sys
import tempfile

os.environ.update(YOLO_OFFLINE="1", YOLO_AUTOINSTALL="false")


def distance(got, wanted) -> float:
    import numpy as np

    return float(np.linalg.norm(got - wanted) / np.linalg.norm(wanted))


def on_gpu(model, size: int) -> bool:
    """Engines of both precisions, by the exporter, read by Ultralytics' own backend."""
    import numpy as np
    import torch
    from ultralytics import YOLO
    from ultralytics.nn.autobackend import AutoBackend

    image = torch.rand(1, 3, size, size, device="cuda")
    wanted = YOLO("model.pt").model.float().eval().cuda()(image)[0].detach().cpu().numpy()
    good = True
    for half in (False, True):
        file = YOLO("model.pt").export(format="engine", imgsz=size, half=half, simplify=False, device=0)
        backend = AutoBackend(file, device=torch.device("cuda:0"), fp16=half)
        got = backend(image.half() if half else image)
        got = (got[0] if isinstance(got, (list, tuple)) else got).float().cpu().numpy()
        off = distance(got, wanted)
        print(f"engine, {'FP16' if half else 'FP32'}: distance to PyTorch's module {off:.1e}")
        good &= off < 1e-2
        results = YOLO(file, task="detect").predict(np.zeros((size, size, 3), np.uint8), imgsz=size, conf=1e-6, verbose=False)
        print(f"predict(): {len(results)} result with {len(results[0].boxes)} boxes")
        good &= len(results) == 1
    return good


def on_cpu(model, size: int) -> bool:
    import numpy as np
    import onnxruntime
    import tenon
    from ultralytics.utils.export.engine import onnx2engine

    file = model.export(format="onnx", imgsz=size, simplify=False, device="cpu")
    image = np.random.default_rng(0).random((1, 3, size, size), np.float32)
    wanted, good = onnxruntime.InferenceSession(file).run(None, {"images": image})[0], True
    for quantize in (None, 16):
        onnx2engine(file, "model.engine", quantize=quantize, shape=image.shape, metadata={"task": "detect"})
        with open("model.engine", "rb") as engine:
            engine.read(int.from_bytes(engine.read(4), "little"))  # Ultralytics' own header, in front of the plan.
            off = distance(tenon.load(engine.read())(image), wanted)
        print(f"engine, {'FP16' if quantize else 'FP32'}: distance to ONNX Runtime {off:.1e}")
        good &= off < 1e-2
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=160)
    parser.add_argument("--model", default="yolov8n.yaml")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("YOLO_CONFIG_DIR", folder)
        os.chdir(folder)
        import torch
        import ultralytics

        torch.manual_seed(0)
        print(f"Ultralytics {ultralytics.__version__}")
        ultralytics.YOLO(options.model).save("model.pt")
        good = (on_gpu if torch.cuda.is_available() else on_cpu)(ultralytics.YOLO("model.pt"), options.size)
        os.chdir("/")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

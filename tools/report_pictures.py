#!/usr/bin/env python3
"""The pictures of docs/report.md: reports of two models and a comparison, as headless Chromium shows them, those of a GPU
from the JSON that tests/browser/gpu keeps.

usage: report_pictures.py [--build DIR] [--models DIR] [--output DIR] [--gpu]
"""
import argparse
import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from browser import NARROW, WIDE, Page, missing  # noqa: E402
from worker_client import materialized, shapes_text  # noqa: E402

# File, page, view, size, dark, and what to do before.
CHOOSE_SLOWEST = "openLayer(state.report.timed.reduce((a, b) => (a.ms > b.ms ? a : b)))"
HIDE_DRAWER = "; document.getElementById('drawer').hidden = true; document.body.classList.remove('beside')"
PICTURES = [
    ("summary", "bert_base", "summary", WIDE, False, ""),
    ("time", "bert_base", "time", WIDE, False, CHOOSE_SLOWEST),
    ("graph", "yolo_s", "graph", WIDE, True, CHOOSE_SLOWEST + HIDE_DRAWER),
    ("memory", "yolo_s", "memory", WIDE, False, ""),
    ("accuracy", "mobilenet_16", "accuracy", WIDE, True, ""),
    ("compare", "compare", "compare", WIDE, False, ""),
    ("phone", "yolo_s", "time", NARROW, True, ""),
]
BY_KERNEL = "const s = document.getElementById('group'); s.value = 'launch'; s.dispatchEvent(new Event('change'))"
GPU_PICTURES = [
    ("gpu_kernels", "gpu_yolo_s_16", "time", WIDE, True, BY_KERNEL),
    ("gpu_layer", "gpu_bert_base", "time", WIDE, False, BY_KERNEL + "; document.querySelector('main tbody tr').click()"),
    ("gpu_compare", "gpu_compare", "compare", WIDE, False, ""),
]


def make_reports(build: Path, models: Path, folder: Path):
    def report(name: str, case: str, *flags: str):
        model = materialized(name, models)
        subprocess.run([build / "bin/trtexec", "--device=-1", f"--onnx={model}", f"--shapes={shapes_text(model, 1)}", "--duration=1", *flags,
                        f"--html={folder / case}.html", f"--exportReport={folder / case}.json"], check=True, stdout=subprocess.DEVNULL)
    report("bert_base", "bert_base")
    report("yolo_s", "yolo_s")
    report("yolo_s", "yolo_s_16", "--fp16")
    report("mobilenet_v3_large", "mobilenet_16", "--fp16", "--selfCheckRegions")
    subprocess.run([build / "bin/tenon", "report", folder / "yolo_s_16.json", folder / "yolo_s.json",
                    f"--html={folder / 'compare.html'}"], check=True)


def make_gpu_reports(build: Path, folder: Path):
    for case in ("bert_base", "yolo_s", "yolo_s_16"):
        packed = ROOT / "tests/browser/gpu" / f"{case}.json.gz"
        (folder / f"gpu_{case}.json").write_bytes(gzip.decompress(packed.read_bytes()))
        subprocess.run([build / "bin/tenon", "report", folder / f"gpu_{case}.json", f"--html={folder / f'gpu_{case}.html'}"], check=True)
    subprocess.run([build / "bin/tenon", "report", folder / "gpu_yolo_s_16.json", folder / "gpu_yolo_s.json",
                    f"--html={folder / 'gpu_compare.html'}"], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--models", type=Path, default=ROOT / "build/models")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/pictures")
    parser.add_argument("--reports", type=Path, help="a folder with the reports, which are not made again")
    parser.add_argument("--gpu", action="store_true", help="the pictures of the GPU alone: their figures are those of its run")
    arguments = parser.parse_args()
    if missing():
        sys.exit(f"report_pictures: {missing()}")
    arguments.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        reports = (arguments.reports or Path(folder)).resolve()
        if not arguments.reports and not arguments.gpu:
            make_reports(arguments.build.resolve(), arguments.models.resolve(), reports)
        make_gpu_reports(arguments.build.resolve(), reports)
        for name, page, view, size, dark, script in GPU_PICTURES + ([] if arguments.gpu else PICTURES):
            with Page(size, dark) as shown:
                shown.open(reports / f"{page}.html", view)
                shown.run(script)
                shown.run("return new Promise((done) => setTimeout(done, 300))")
                shown.picture(arguments.output / f"report_{name}.png")
                if errors := shown.errors():
                    sys.exit(f"report_pictures: {name}: {errors}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Run the architectures of bench/zoo_models.py on a GPU: is each built, which nodes run on the host for want of a
kernel, how far are FP16 (weak typing) and FP32 from our CPU's FP32, and how long does it take beside PyTorch in half
precision, both replayed as CUDA graphs.

Models are exported here, several at a time in processes of their own, which keep their modules for PyTorch's part; or
exported elsewhere without weights (bench/zoo_graphs.py, then errors are not those of PyTorch's module). In FP32 an
error (relative L2, the worst output's) may be 5e-5. In FP16 it may be 1.5 times that of an evaluation by PyTorch in
which the result of every operator is rounded; the error of PyTorch's own half precision is printed beside it. Models
that choose by comparing numbers (detectors) have no bound where the rounded evaluation chooses otherwise. Plans are
built several at a time, so that a tactic may be chosen by a disturbed time; --rebuild builds each again with nothing
beside it, from the same compiled kernels, before it is timed. Models that are not prepared in time are stopped, left
out and told.

usage: zoo_gpu.py [--seconds N] [--share F] [--jobs N] [--builds N] [--graphs DIR] [--precisions fp16,fp32]
                  [--no-bound] [--no-times] [--rebuild] [--compile PATTERN,...] [--batch N,...] [--profile RATIO] [--json FILE]
                  [PATTERN...]
"""
import argparse
import fnmatch
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from threading import Lock, Semaphore

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "bench")]
import check_gpu  # noqa: E402
import compare_gpu  # noqa: E402
import layer_floors  # noqa: E402
import zoo  # noqa: E402
from worker_client import Worker, WorkerError  # noqa: E402

# Common architectures, kinds that differ most first: a deadline leaves out the last ones.
USUAL = """efficientnet_b0 convnext_tiny swin_t llama_past distilbert segformer whisper_decoder diffusion_unet t5_decoder
detr wav2vec2 r3d_18 seq2seq_gru gan_generator pointnet mamba maxvit_t deberta mixtral_prefill mobilevit_s dinov2
sam_prompt clip_text densenet121 regnet_y_400mf vae_decoder gpt_neox_past lstm_stack fcn_resnet50 graph_net
whisper_encoder yolos roberta t5_encoder deit_tiny_patch16_224 rt_detr levit_128s style_generator
deeplabv3_mobilenet_v3_large mistral_past gemma2_past llama_prefill raft_small unet_transposed ssdlite320_mobilenet_v3_large
fasterrcnn_mobilenet_v3_large_320_fpn swin_v2_t modernbert inception_v3 shufflenet_v2_x1_0 fastvit_t8 poolformer_s12
convnextv2_atto ranking_dcn ctc_crnn wavenet_vocoder dcgan tcn super_resolution deberta_v2 hrnet_w18_small
mobilenet_v2 resnext50_32x4d eva02_tiny_patch14_224 xcit_nano_12_p16_224 efficientvit_b0 halonet26t wav2vec2_conformer
phi_past qwen2_prefill retinanet_resnet50_fpn edgenext_xx_small mambaout_femto nerf_mlp lstm_cell_loop albert
electra""".split()


class GpuCase(zoo.Case):
    """`half`: inputs and outputs of 32-bit reals are bound as 16-bit ones, as those of a module after .half()."""

    def __init__(self, file: Path, folder: Path, half: bool = False):
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(file, 1, folder)
        self.half = half
        if half:
            self.arrays = {n: a.astype(np.float16) if a.dtype == np.float32 else a for n, a in self.arrays.items()}
            self.outputs = {n: np.dtype(np.float16) if t == np.float32 else t for n, t in self.outputs.items()}

    def build_options(self, precision: str) -> list[str]:
        shapes = [f"--{which}Shapes={self.shapes}" for which in ("min", "opt", "max")]
        formats = check_gpu.half_io_options(self.file) if self.half else []
        return [f"--onnx={self.file}", *shapes, *formats, *check_gpu.PRECISIONS[precision]]

    def named(self, arrays: list[np.ndarray]) -> dict[str, np.ndarray]:
        """PyTorch's outputs, which come in the order of the file's."""
        if len(arrays) != len(self.outputs):
            raise WorkerError(f"PyTorch gives {len(arrays)} outputs, the file {len(self.outputs)}")
        return dict(zip(self.outputs, arrays))


class OnGpu:
    """A plan of ours in a process of its own, bound."""

    def __init__(self, arguments: argparse.Namespace, case: GpuCase, precision: str, started=lambda worker: None):
        self.case = case
        self.worker = Worker(arguments.tenon, "worker")
        started(self.worker)
        options = [*case.build_options(precision), "--profilingVerbosity=detailed", *arguments.device.split()]
        try:
            self.build_ms = self.worker.ask("build", name="m", options=options)["build_ms"]
            case.bind(self.worker, graph=True)
        except WorkerError:
            self.worker.close()
            raise

    def found(self, expected: dict) -> dict:
        got = self.case.results(self.worker)
        finite = all(np.isfinite(a).all() or not np.isfinite(expected[n]).all() for n, a in got.items())
        hosted = [f"{layer['Kind']} {layer['Name']}" for layer in check_gpu.hosted_layers(self.worker)]
        return {"error": zoo.distance(got, expected), "finite": bool(finite), "hosted": hosted,
                "build_s": self.build_ms / 1000}

    def time(self, count: int) -> list[float]:
        return self.worker.ask("run", name="m", count=count)["ms"]


class TorchPeer:
    def __init__(self, process, name: str):
        self.process, self.name = process, name

    def time(self, count: int) -> list[float]:
        return self.process.ask("time", self.name, count)


class Model:
    """The steps of one model; `result` holds its figures."""

    def __init__(self, entry, batch: int, arguments: argparse.Namespace, folder: Path):
        from zoo_torch import ArchitectureProcess

        self.name = entry.name if batch == 1 else f"{entry.name}:{batch}"
        self.arguments, self.folder = arguments, folder / f"{entry.name}.{batch}"
        self.torch, self.ours, self.peers, self.exact = ArchitectureProcess(entry, batch), None, {}, None
        self.ready, self.stopped, self.workers = False, False, []
        compiled = any(fnmatch.fnmatch(entry.name, p) for p in arguments.compile.split(","))
        self.compiler = ArchitectureProcess(entry, batch) if compiled else None
        self.result: dict = {"model": self.name}

    def attempt(self, what: str, function, *arguments):
        """Nothing where it fails: that is a result."""
        start = time.monotonic()
        try:
            return function(*arguments)
        except (WorkerError, OSError, ValueError) as error:
            self.result.setdefault("failures", {})[what] = str(error)[:400]
            return None
        finally:
            self.result.setdefault("seconds", {})[what] = round(time.monotonic() - start, 1)

    def prepare(self, builds: Semaphore) -> None:
        self.folder.mkdir()
        self.go_through(builds)
        self.ready = not self.stopped

    def go_through(self, builds: Semaphore) -> None:
        self.file = self.attempt("export", self.torch.ask, "export", self.folder, self.arguments.graphs)
        if self.file is None:
            return
        self.expected = self.attempt("cpu", self.on_cpu)
        if self.expected is None:
            return
        for precision in self.arguments.precisions.split(","):
            with builds:
                if not self.stopped:
                    self.attempt(precision, self.check, precision)
        if self.arguments.bound:
            self.attempt("bound", self.evaluate)
        if self.arguments.times and self.ours is not None:
            self.attempt("eager", self.add_eager)

    def on_cpu(self) -> dict[str, np.ndarray]:
        case = GpuCase(self.file, self.folder / "cpu")
        options = [*case.build_options("fp32"), "--device=-1", "--cpuThreads=2", "--builderOptimizationLevel=0",
                   "--noSelfCheck"]
        with Worker(self.arguments.tenon, "worker") as worker:
            self.workers.append(worker)
            worker.ask("build", name="m", options=options)
            case.bind(worker)
            return case.results(worker)

    def check(self, precision: str) -> None:
        case = GpuCase(self.file, self.folder / precision, half=precision == "fp16")
        plan = OnGpu(self.arguments, case, precision, self.workers.append)
        try:
            self.result[precision] = plan.found(self.expected)
        finally:
            if precision == "fp16" and self.arguments.times:
                self.ours = plan
            else:
                plan.worker.close()

    def evaluate(self) -> None:
        case = GpuCase(self.file, self.folder / "cpu")
        found = {kind: case.named(arrays) for kind, arrays in self.torch.ask("evaluations").items()}
        self.exact = found["exact"]
        self.result["torch_exact"] = zoo.distance(self.exact, self.expected)
        self.result["torch_rounded"] = zoo.distance(found["rounded"], self.exact)

    def add_eager(self) -> None:
        name = self.torch.ask("prepare", False, seconds=300)
        self.peers[name] = TorchPeer(self.torch, name)
        if self.exact:
            case = GpuCase(self.file, self.folder / "cpu")
            self.result["torch_half"] = zoo.distance(case.named(self.torch.ask("outputs", name)), self.exact)

    def add_compiled(self) -> None:
        name = self.compiler.ask("prepare", True, seconds=600)
        self.peers[name] = TorchPeer(self.compiler, name)

    def compiled(self) -> bool:
        """Or why it is not."""
        return "compile" in self.result.get("failures", {}) or any(p.process is self.compiler for p in self.peers.values())

    def compare(self) -> None:
        """Times, by turns. Runs that wait for the host are no graph."""
        if self.arguments.rebuild:
            self.ours.worker.close()
            self.ours = OnGpu(self.arguments, self.ours.case, "fp16", self.workers.append)
            self.result["rebuild_s"] = self.ours.build_ms / 1000
        self.ours.case.bind(self.ours.worker, graph=True, transfers=False)
        times = compare_gpu.take_turns({"tenon": self.ours, **self.peers}, self.arguments.count)
        self.result |= {"ms": times.pop("tenon"), "peers": times}
        if times:
            self.result["ratio"] = self.result["ms"] / min(times.values())

    def slowest(self) -> None:
        self.result["slowest"] = slowest_steps(self.arguments, self.ours, 4)

    def stop(self) -> None:
        """Ends its processes, whatever they are doing."""
        self.stopped = True
        for worker in self.workers:
            worker.process.kill()
        for process in filter(None, (self.torch, self.compiler)):
            process.close()

    def wrong(self) -> list[str]:
        """The cases to be mended."""
        found = [f"{what}: {why}" for what, why in self.result.get("failures", {}).items() if what != "compile"]
        if self.result.get("fp32", {}).get("error", 0) > check_gpu.FP32_BOUND and self.result.get("torch_exact", 1) < 1e-3:
            found.append(f"FP32 error {self.result['fp32']['error']:.1e}")
        bound = bound_of(self.result)
        if bound and self.result.get("fp16", {}).get("error", 0) > bound:
            found.append(f"FP16 error {self.result['fp16']['error']:.1e} above {bound:.1e}")
        for precision in ("fp16", "fp32"):
            if not self.result.get(precision, {}).get("finite", True):
                found.append(f"{precision} not finite")
        if hosted := self.result.get("fp16", {}).get("hosted"):
            found.append(f"{len(hosted)} on the host: {'; '.join(hosted)[:200]}")
        return found


def bound_of(result: dict) -> float | None:
    """None where rounding alone makes another result of it, or PyTorch has other weights."""
    rounded = result.get("torch_rounded")
    if result.get("torch_exact", 1) > 1e-3:
        return None
    return max(check_gpu.FP32_BOUND, check_gpu.FACTOR * rounded) if rounded is not None and rounded < 0.3 else None


def slowest_steps(arguments: argparse.Namespace, plan: OnGpu, count: int) -> list[str]:
    """Steps of one shape and tactic together."""
    folder = plan.case.folder
    plan.worker.ask("save", name="m", plan=str(folder / "plan"))
    done = subprocess.run([Path(arguments.tenon).with_name("trtexec"), f"--loadEngine={folder / 'plan'}",
                           f"--shapes={plan.case.shapes}", f"--loadInputs={plan.case.inputs}", "--dumpProfile",
                           "--separateProfileRun", f"--exportProfile={folder / 'profile.json'}",
                           f"--exportLayerInfo={folder / 'layers.json'}", "--noDataTransfers", "--warmUp=20",
                           "--duration=0.05", "--iterations=10", *arguments.device.split()],
                          capture_output=True, text=True)
    if done.returncode:
        raise WorkerError((done.stdout + done.stderr)[-300:])
    layers = {layer["Name"]: layer for layer in json.loads((folder / "layers.json").read_text())["Layers"]
              if layer.get("TacticName") != "view"}
    groups: dict[str, list[float]] = {}
    for row in json.loads((folder / "profile.json").read_text())[1:]:
        if layer := layers.get(row["name"]):
            groups.setdefault(f"{layer_floors.described(layer)} {layer['TacticName']}", []).append(row["medianMs"])
    order = sorted(groups, key=lambda key: -sum(groups[key]))
    total = sum(map(sum, groups.values()))
    return [f"{len(layers)} steps, {total * 1000:.0f} us"] + [
        f"{sum(groups[key]) * 1000:.1f} us {len(groups[key])} {key}"[:170] for key in order[:count]]


def line_of(model: Model) -> str:
    result = model.result
    show = lambda value, form: format(value, form) if value is not None else "-"  # noqa: E731
    half, single = result.get("fp16", {}), result.get("fp32", {})
    peers = ", ".join(f"{name} {ms:.3f}" for name, ms in result.get("peers", {}).items())
    return (f"{model.name:30.30} {show(result.get('ratio'), '.3f'):>6} {show(result.get('ms'), '.3f'):>7} ms | {peers or '-'} | "
            f"fp16 {show(half.get('error'), '.1e')} rounded {show(result.get('torch_rounded'), '.1e')} torch "
            f"{show(result.get('torch_half'), '.1e')} fp32 {show(single.get('error'), '.1e')} torch "
            f"{show(result.get('torch_exact'), '.1e')} | {show(half.get('build_s'), '.1f')} s"
            f"{' again ' + show(result.get('rebuild_s'), '.1f') if 'rebuild_s' in result else ''}")


def print_model(model: Model) -> None:
    print(line_of(model))
    for text in model.wrong():
        print(f"      {text}", flush=True)


def report(models: list[Model], arguments: argparse.Namespace) -> None:
    print("by ratio:", *[f"{m.name} {m.result['ratio']:.2f}" for m in
                         sorted(models, key=lambda m: -m.result.get("ratio", 0)) if "ratio" in m.result])
    ratios = [m.result["ratio"] for m in models if "ratio" in m.result]
    if ratios:
        print(f"geometric mean of {len(ratios)} ratios {statistics.geometric_mean(ratios):.3f}, above 1 in "
              f"{sum(r > 1 for r in ratios)}")
    save(models, arguments)


def save(models: list[Model], arguments: argparse.Namespace) -> None:
    if arguments.json:
        arguments.json.write_text(json.dumps([m.result for m in models], indent=1) + "\n")


def chosen(arguments: argparse.Namespace) -> list[str]:
    import zoo_models

    if not arguments.patterns:
        return [name for name in USUAL if name in zoo_models.MODELS]
    return list(dict.fromkeys(name for p in arguments.patterns for name in fnmatch.filter(zoo_models.MODELS, p)))


def run(arguments: argparse.Namespace, folder: Path) -> list[Model]:
    start = time.monotonic()
    import timm  # noqa: F401  shared by forks
    import torchvision  # noqa: F401
    import transformers  # noqa: F401
    import zoo_models
    import zoo_torch  # noqa: F401

    passed = lambda: time.monotonic() - start  # noqa: E731
    entries = [zoo_models.MODELS[name] for name in chosen(arguments)]
    batches = [int(batch) for batch in arguments.batch.split(",")]
    models = [Model(entry, batch, arguments, folder) for entry in entries for batch in batches if batch == 1 or entry.dynamic]
    fixed = [entry.name for entry in entries if max(batches) > 1 and not entry.dynamic]
    print(f"{len(models)} models [{passed():.0f} s]{', of one batch alone: ' + ' '.join(fixed) if fixed else ''}", flush=True)
    builds, lock, late = Semaphore(arguments.builds), Lock(), []

    def prepare(model: Model) -> None:
        if passed() > arguments.seconds * arguments.share:
            return
        model.prepare(builds)
        with lock:
            if model.ready:
                print(f"{model.name} [{passed():.0f} s] {'; '.join(model.wrong())[:400] or 'right'}", flush=True)
                save(models, arguments)

    compilers = [m for m in models if m.compiler]
    with ThreadPoolExecutor(arguments.jobs) as pool, ThreadPoolExecutor(max(1, len(compilers))) as more:
        waiting = [more.submit(m.attempt, "compile", m.add_compiled) for m in compilers]
        waiting += [pool.submit(prepare, model) for model in models]
        wait(waiting, max(0, arguments.seconds * arguments.share - passed()))
        for model in models:
            if not model.ready:
                model.stop()
            elif model.compiler and not model.compiled():
                model.compiler.close()
                late.append(f"{model.name}:compile")
    late += [m.name for m in models if not m.ready]
    print(f"prepared [{passed():.0f} s]", flush=True)
    models = [m for m in models if m.ready]
    for model in [m for m in models if m.ours is not None]:
        if passed() < arguments.seconds:
            model.attempt("times", model.compare)
            print_model(model)
            save(models, arguments)
        else:
            late.append(model.name)
    for model in models:
        if model.result.get("ratio", 0) > arguments.profile and passed() < arguments.seconds:
            model.attempt("profile", model.slowest)
            print(f"{model.name}: ", *model.result.get("slowest", []), sep="\n      ", flush=True)
        model.stop()
    if late:
        print(f"left out for want of time: {' '.join(late)}")
    return models


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", help="of names in bench/zoo_models.py; none: those that people bring")
    parser.add_argument("--seconds", type=float, default=3600, help="the deadline of all")
    parser.add_argument("--share", type=float, default=0.6, help="of that, behind which nothing is prepared any more")
    parser.add_argument("--jobs", type=int, default=12, help="models at a time")
    parser.add_argument("--builds", type=int, default=4, help="builds at a time")
    parser.add_argument("--precisions", default="fp16,fp32")
    parser.add_argument("--graphs", type=Path, help="a folder of bench/zoo_graphs.py: nothing is exported then")
    parser.add_argument("--no-bound", dest="bound", action="store_false")
    parser.add_argument("--no-times", dest="times", action="store_false")
    parser.add_argument("--rebuild", action="store_true")
    parser.add_argument("--compile", default="", help="patterns of models that are also timed with torch.compile")
    parser.add_argument("--batch", default="1", help="of models whose first axes are batches, several by commas; others are left out")
    parser.add_argument("--count", type=int, default=compare_gpu.COUNT, help="runs of a turn")
    parser.add_argument("--profile", type=float, default=0.9, help="tell the slowest steps where the ratio is above this")
    parser.add_argument("--tenon", default=str(ROOT / "build/release/bin/tenon"))
    parser.add_argument("--device", default="", help="more options of builds, e.g. --device=--device=-1")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "2")
        os.environ.setdefault("TENON_CACHE_DIR", str(Path(folder) / "cache"))
        models = run(arguments, Path(folder))
        report(models, arguments)
    bad = sum(bool(m.wrong()) for m in models)
    print(f"{len(models) - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

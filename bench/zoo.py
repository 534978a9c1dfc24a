#!/usr/bin/env python3
"""A zoo of real architectures with random weights: exports them, compares results and times, shows the slowest steps.

usage: zoo.py export  [--folder DIR] [--exporter dynamo|script|both] [PATTERN...]
       zoo.py compare [--folder DIR] [--build DIR] [--threads N] [--turns N] [--steps N] [--json FILE] [PATTERN...]

`export` writes DIR/NAME.dynamo.onnx and DIR/NAME.script.onnx with both exporters of PyTorch, and the inputs beside them.
No weights are downloaded: they are random from a fixed seed, statistics of batch normalization are those of a random
image, and parameters that start constant (gates of residuals, say) are disturbed so that they take part.
`compare` builds each for Tenon, runs it beside ONNX Runtime and OpenVINO in turns, also with another batch where that is
dynamic, and prints the distance (relative L2) to ONNX Runtime, times, the number of steps, and which steps the reference
implementation runs. It exits 1 if a model does not build or is further away than 5e-5 (5e-4 with Winograd).

`export` needs the packages of bench/requirements-zoo.txt, `compare` only requirements-test.txt.
"""
import argparse
import fnmatch
import inspect
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
LIMIT, WINOGRAD_LIMIT = 5e-5, 5e-4
RIVALS = ["onnxruntime", "openvino"]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["export", "compare"])
    parser.add_argument("patterns", nargs="*", default=["*"], help="of names of models, or of files for compare")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/zoo")
    parser.add_argument("--exporter", choices=["dynamo", "script", "both"], default="both")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=6, help="0 compares results alone")
    parser.add_argument("--seconds", type=float, default=0.1, help="of each turn")
    parser.add_argument("--cpu-time", action="store_true", help="processor time in place of time: where others use the machine")
    parser.add_argument("--steps", type=int, default=0, help="how many of the slowest steps to print")
    parser.add_argument("--limit", type=float, default=240, help="seconds for one model before it counts as failed")
    parser.add_argument("--json", type=Path, help="write the results to this file as well")
    return parser.parse_intermixed_args()


# ---- export ------------------------------------------------------------------------------------------------------


def keep_where_single(norm, inputs) -> None:
    """One value a channel has no statistics."""
    if inputs[0].numel() == inputs[0].shape[1]:
        norm.eval()


def calibrate(net, inputs) -> None:
    """Gives normalizations the statistics of these inputs, and disturbs parameters that are constant."""
    import torch

    with torch.no_grad():
        for parameter in net.parameters():
            if parameter.numel() > 1 and parameter.std() == 0:
                parameter.add_(0.1 * torch.randn_like(parameter))
        batch_norms = [m for m in net.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
        for norm in batch_norms:
            norm.momentum = 1.0
            norm.train()
            norm.register_forward_pre_hook(keep_where_single)
        if batch_norms:
            net(*inputs)
    net.eval()
    for norm in batch_norms:
        norm._forward_pre_hooks.clear()


def widen(inputs, batch: int):
    """Inputs of another batch: each further one differs from the first."""
    import torch

    rows = [[t.roll(i, -1) if t.dim() > 1 else t + i for t in inputs] for i in range(batch)]
    return tuple(torch.cat(column) for column in zip(*rows))


def dynamic_shapes(net, inputs):
    from torch.export import Dim

    axes = tuple({0: Dim.AUTO} for _ in inputs)
    kinds = [p.kind for p in inspect.signature(net.forward).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        fixed = kinds.index(inspect.Parameter.VAR_POSITIONAL)
        return (*axes[:fixed], axes[fixed:])
    return axes


def write(net, inputs, exporter: str, dynamic: bool, file: Path) -> None:
    import torch

    names = [f"input{i}" for i in range(len(inputs))]
    if exporter == "dynamo":
        more = {"dynamic_shapes": dynamic_shapes(net, inputs)} if dynamic else {}
        torch.onnx.export(net, inputs, file, dynamo=True, input_names=names, verbose=False, **more)
    else:
        more = {"dynamic_axes": {name: {0: "batch"} for name in names}} if dynamic else {}
        torch.onnx.export(net, inputs, file, dynamo=False, input_names=names, opset_version=17, **more)


def is_dynamic(file: Path) -> bool:
    import onnx

    graph = onnx.load(file, load_external_data=False).graph
    return any(d.dim_param for value in graph.input for d in value.type.tensor_type.shape.dim)


def calibrated(entry, batch: int = 1):
    """The module and its inputs, the same in every process; `batch` is that many times the architecture's own."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    net, inputs = entry.make()
    net.eval()
    calibrate(net, inputs)
    return net, inputs if batch == 1 else widen(inputs, batch)


def export(entry, net, inputs, exporter: str, folder: Path) -> Path:
    import torch

    file = folder / f"{entry.name}.{exporter}.onnx"
    inputs_of = {1: inputs}
    with torch.no_grad():
        if entry.dynamic:
            try:
                write(net, widen(inputs, 2), exporter, True, file)
                if is_dynamic(file):
                    inputs_of[3] = widen(inputs, 3)
            except Exception as error:  # the exporter's own limits
                print(f"{file.stem}: no dynamic batch: {str(error).splitlines()[0][:150]}", flush=True)
        if 3 not in inputs_of:
            write(net, inputs, exporter, False, file)
    for batch, tensors in inputs_of.items():
        arrays = {f"input{i}": t.numpy() for i, t in enumerate(tensors)}
        np.savez(folder / f"{file.stem}.{batch}.npz", **arrays)
    return file


def export_all(arguments: argparse.Namespace) -> int:
    import contextlib
    import io
    import warnings

    import zoo_models

    arguments.folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for exporter in ["dynamo", "script"] if arguments.exporter == "both" else [arguments.exporter]:
        for entry in zoo_models.MODELS.values():
            if not any(fnmatch.fnmatch(entry.name, p) for p in arguments.patterns):
                continue
            start, child = time.time(), os.fork()  # leftovers of one do not disturb the next
            if child == 0:
                warnings.simplefilter("ignore")
                said = io.StringIO()
                try:
                    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                        export(entry, *calibrated(entry), exporter, arguments.folder)
                except BaseException as error:
                    print(f"{entry.name}.{exporter}: {type(error).__name__}: {str(error)[:400]}", flush=True)
                    os._exit(1)
                print("\n".join(line for line in said.getvalue().splitlines() if "no dynamic batch" in line), end="")
                print(f"{entry.name}.{exporter}: {time.time() - start:.0f} s", flush=True)
                os._exit(0)
            if os.waitpid(child, 0)[1]:
                failed += 1
                for file in arguments.folder.glob(f"{entry.name}.{exporter}.*"):
                    file.unlink()
    return 1 if failed else 0


# ---- compare -----------------------------------------------------------------------------------------------------


class Case:
    """One exported file with the inputs of one batch, as raw files."""

    def __init__(self, file: Path, batch: int, folder: Path):
        import onnx

        self.file, self.batch, self.folder = file, batch, folder
        graph = onnx.load(file, load_external_data=False).graph
        arrays = np.load(file.with_suffix(f".{batch}.npz"))
        self.arrays = {value.name: arrays[value.name] for value in graph.input}
        self.outputs = {value.name: onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
                        for value in graph.output}
        self.shapes = ",".join(f"{n}:{'x'.join(map(str, a.shape))}" for n, a in self.arrays.items())
        self.inputs = ",".join(f"{n}:{folder / n}.bin" for n in self.arrays)

    def write_inputs(self) -> None:
        for name, array in self.arrays.items():
            np.ascontiguousarray(array).tofile(self.folder / f"{name}.bin")

    def start(self, worker, plan_shapes: list[str]) -> None:
        self.write_inputs()
        worker.ask("build", name="m", options=[f"--onnx={self.file}", *plan_shapes])
        self.bind(worker)

    def bind(self, worker, **how) -> None:
        self.write_inputs()
        worker.ask("bind", name="m", shapes=self.shapes, inputs=self.inputs, **how)
        worker.ask("run", name="m", count=1)

    def results(self, worker) -> dict[str, np.ndarray]:
        found = {}
        for name, dtype in self.outputs.items():
            dims = worker.ask("save", name="m", tensor=name, file=str(self.folder / "out.bin"))["dims"]
            found[name] = np.fromfile(self.folder / "out.bin", dtype).reshape(dims)
        return found


def distance(ours: dict, theirs: dict) -> float:
    """The largest relative L2 distance of an output; infinite for other shapes or non-finite values."""
    worst = 0.0
    for name, b in theirs.items():
        a = ours[name]
        if a.shape != b.shape:
            return float("inf")
        a, b = a.astype(np.float64), b.astype(np.float64)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        difference = a[~same] - b[~same]
        if not np.isfinite(difference).all():
            return float("inf")
        norm = np.linalg.norm(b[np.isfinite(b)]) or 1.0
        worst = max(worst, float(np.linalg.norm(difference) / norm))
    return worst


def layers(case: Case, arguments: argparse.Namespace) -> list[dict]:
    """Steps of the plan with tactic and time; views, which take none, are left out."""
    info, profile = case.folder / "info.json", case.folder / "profile.json"
    case.write_inputs()
    subprocess.run([arguments.build / "bin/trtexec", f"--onnx={case.file}", f"--shapes={case.shapes}",
                    f"--cpuThreads={arguments.threads}", f"--loadInputs={case.inputs}", "--noSelfCheck",
                    "--profilingVerbosity=detailed", f"--exportLayerInfo={info}", f"--exportProfile={profile}",
                    "--iterations=10", "--duration=0.1", "--warmUp=30"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    steps = [l for l in json.loads(info.read_text())["Layers"] if l.get("TacticName") != "view"]
    times = json.loads(profile.read_text())[1:]
    by_name = {}
    for time_of in times:
        by_name.setdefault(time_of["name"], []).append(time_of["medianMs"])
    for step in steps:
        queue = by_name.get(step["Name"], [0.0])
        step["ms"] = queue.pop(0) if len(queue) > 1 else queue[0]
    return steps


def processor_ms(pid: int) -> float:
    """Of all threads of the process and its children."""
    spent = 0.0
    for task in Path(f"/proc/{pid}/task").iterdir():
        spent += int((task / "schedstat").read_text().split()[0]) / 1e6
        spent += sum(processor_ms(int(child)) for child in (task / "children").read_text().split())
    return spent


def turn(worker, count: int, by_processor: bool) -> list[float]:
    """The time of each run; with the processor's time there is only their mean."""
    before = processor_ms(worker.process.pid) if by_processor else 0.0
    times = worker.ask("run", name="m", count=count)["ms"]
    return [(processor_ms(worker.process.pid) - before) / count] if by_processor else times


def take_turns(workers: dict, arguments: argparse.Namespace) -> dict[str, list[list[float]]]:
    times, counts = {name: [] for name in workers}, {}
    for name, worker in workers.items():
        counts[name] = max(1, int(arguments.seconds * 1000 / min(worker.ask("run", name="m", count=2)["ms"])))
    for i in range(arguments.turns):
        names = list(workers)
        for name in names[i % len(names):] + names[:i % len(names)]:
            times[name].append(turn(workers[name], counts[name], arguments.cpu_time))
    return times


def start_workers(case: Case, plan_shapes: list[str], arguments: argparse.Namespace) -> tuple[dict, dict]:
    """The workers that could build the model, and the others' messages."""
    from worker_client import Worker, WorkerError

    workers, errors = {}, {}
    commands = {"tenon": ["timeout", f"{arguments.limit:.0f}", str(arguments.build / "bin/tenon"), "worker"]}
    for rival in RIVALS:
        commands[rival] = [sys.executable, str(ROOT / "bench/rival_worker.py"), rival, str(arguments.threads)]
    for name, command in commands.items():
        worker = Worker(*command)
        try:
            case.start(worker, plan_shapes + [f"--cpuThreads={arguments.threads}", "--noSelfCheck"])
            workers[name] = worker
        except WorkerError as error:
            errors[name] = str(error)
    return workers, errors


def profile_shapes(cases: list[Case]) -> list[str]:
    """Flags of one plan for all the batches."""
    if len(cases) == 1:
        return [f"--shapes={cases[0].shapes}"]
    return [f"--minShapes={cases[0].shapes}", f"--optShapes={cases[0].shapes}", f"--maxShapes={cases[-1].shapes}"]


def dynamic_distance(cases: list[Case], arguments: argparse.Namespace) -> float:
    """The worst distance over the batches, all from one plan."""
    workers, errors = start_workers(cases[0], profile_shapes(cases), arguments)
    if "tenon" in errors:
        raise RuntimeError(f"dynamic batch: {errors['tenon']}")
    worst = 0.0
    for case in cases:
        case.bind(workers["tenon"])
        case.bind(workers["onnxruntime"])
        worst = max(worst, distance(case.results(workers["tenon"]), case.results(workers["onnxruntime"])))
    for worker in workers.values():
        worker.close()
    return worst


def compare(file: Path, arguments: argparse.Namespace, folder: Path) -> dict:
    cases = [Case(file, batch, folder) for batch in (1, 3) if file.with_suffix(f".{batch}.npz").exists()]
    result = {"model": file.stem, "dynamic": None, "openvino": None, "ratio_min": None, "ratio_median": None}
    workers, errors = start_workers(cases[0], [f"--shapes={cases[0].shapes}"], arguments)
    if "tenon" in errors:
        return {**result, "error": errors["tenon"]}
    results = {name: cases[0].results(worker) for name, worker in workers.items()}
    if "onnxruntime" not in results:
        return {**result, "error": f"onnxruntime: {errors['onnxruntime']}"}
    result["distance"] = distance(results["tenon"], results["onnxruntime"])
    if "openvino" in results:
        result["openvino"] = distance(results["openvino"], results["onnxruntime"])
    if arguments.turns:
        times = take_turns(workers, arguments)
        best = {name: (min(t for turn in all_turns for t in turn), statistics.median(t for turn in all_turns for t in turn))
                for name, all_turns in times.items()}
        result["times"] = best
        result["ratio_min"] = best["tenon"][0] / min(best[r][0] for r in RIVALS if r in best)
        result["ratio_median"] = best["tenon"][1] / min(best[r][1] for r in RIVALS if r in best)
    for worker in workers.values():
        worker.close()
    if len(cases) > 1:
        result["dynamic"] = dynamic_distance(cases, arguments)
    return {**result, "layers": layers(cases[0], arguments)}


def verdict(result: dict) -> str:
    if "error" in result:
        return "FAILED"
    winograd = any("winograd" in l.get("TacticName", "") for l in result["layers"])
    worst = max(result["distance"], result["dynamic"] or 0.0)
    return "ok" if worst <= (WINOGRAD_LIMIT if winograd else LIMIT) else "WRONG"


def print_result(result: dict, arguments: argparse.Namespace) -> None:
    if "error" in result:
        print(f"{result['model']:44} FAILED {result['error'][:600]}", flush=True)
        return
    show = lambda value, form: format(value, form) if value is not None else "-"  # noqa: E731
    steps = result["layers"]
    slow = [l for l in steps if l.get("TacticName", "").endswith("reference")]
    times = " ".join(f"{n[:6]} {t[0]:.3f}/{t[1]:.3f}" for n, t in result.get("times", {}).items())
    kinds = {}
    for step in slow:
        kinds[step["Kind"]] = kinds.get(step["Kind"], 0) + 1
    print(f"{result['model']:44} {verdict(result):6} {result['distance']:8.1e} dyn {show(result['dynamic'], '.1e')} "
          f"ratio {show(result['ratio_min'], '.3f')}/{show(result['ratio_median'], '.3f')} steps {len(steps)} | {times}"
          f" | reference {sum(l['ms'] for l in slow):.3f} ms {kinds or ''}", flush=True)
    for step in sorted(steps, key=lambda l: -l["ms"])[:arguments.steps]:
        dims = [t["Dimensions"] for t in step["Inputs"] + step["Outputs"]]
        print(f"      {step['ms']:8.3f} {step['Kind']:14} {step['TacticName']:28} {step['Name'][:70]:70} {dims}")


def compare_all(arguments: argparse.Namespace) -> int:
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for file in sorted(arguments.folder.glob("*.onnx")):
            if not any(fnmatch.fnmatch(file.stem, p) or fnmatch.fnmatch(file.stem.split(".")[0], p)
                       for p in arguments.patterns):
                continue
            try:
                results.append(compare(file, arguments, Path(folder)))
            except Exception as error:
                results.append({"model": file.stem, "error": f"{type(error).__name__}: {error}"})
            print_result(results[-1], arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    good = sum(verdict(r) == "ok" for r in results)
    ratios = [r["ratio_min"] for r in results if r.get("ratio_min")]
    if ratios:
        print(f"geometric mean of the ratios {statistics.geometric_mean(ratios):.3f}, slower than the better rival in "
              f"{sum(r > 1 for r in ratios)} of {len(ratios)}")
    print(f"{good} passed, {len(results) - good} failed")
    return 0 if good == len(results) else 1


def main() -> int:
    arguments = parse()
    return export_all(arguments) if arguments.command == "export" else compare_all(arguments)


if __name__ == "__main__":
    sys.exit(main())

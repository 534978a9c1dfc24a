#!/usr/bin/env python3
"""Run NVIDIA's own trtexec over lib/compat on this machine's GPU: command lines of every group of its flags.

Each line must end with PASSED and exit code 0, or, where it is marked, with FAILED and an error that names the flag.

usage: run_trtexec.py TRTEXEC LIBRARIES MODEL...     (LIBRARIES: lib/compat; MODEL: ONNX files with weights, resnet18 first)
"""
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

SHORT = "--duration=0 --iterations=5 --warmUp=0 --avgRuns=1"
# {m}: the model; {w}: a folder of our own. A line that begins with "!" must fail with a reason.
LINES = """
--onnx={m} {s}
--onnx={m} {s} --fp16
--onnx={m} {s} --bf16
--onnx={m} {s} --noTF32
--onnx={m} {s} --best
--onnx={m} {s} --int8
--onnx={m} {s} --stronglyTyped
--onnx={m} {s} --fp16 --saveEngine={w}/a.plan
--loadEngine={w}/a.plan {s}
--loadEngine={w}/a.plan {s} --useCudaGraph
--loadEngine={w}/a.plan {s} --useCudaGraph --noDataTransfers --useSpinWait
--loadEngine={w}/a.plan {s} --infStreams=2
--loadEngine={w}/a.plan {s} --infStreams=2 --threads
--loadEngine={w}/a.plan {s} --exposeDMA
--loadEngine={w}/a.plan {s} --useManagedMemory
--loadEngine={w}/a.plan {s} --noDataTransfers --sleepTime=1 --idleTime=1
--loadEngine={w}/a.plan {s} --dumpOutput
--loadEngine={w}/a.plan {s} --dumpRawBindingsToFile
--loadEngine={w}/a.plan {s} --dumpProfile --separateProfileRun
--loadEngine={w}/a.plan {s} --dumpProfile --exportProfile={w}/profile.json
--loadEngine={w}/a.plan {s} --exportTimes={w}/times.json --exportOutput={w}/output.json
--loadEngine={w}/a.plan {s} --dumpLayerInfo --exportLayerInfo={w}/layers.json
--loadEngine={w}/a.plan {s} --percentile=90,95,99
--loadEngine={w}/a.plan {s} --persistentCacheRatio=0.5
--loadEngine={w}/a.plan {s} --allocationStrategy=profile
--loadEngine={w}/a.plan {s} --allocationStrategy=runtime
--loadEngine={w}/a.plan {s} --timeDeserialize
--loadEngine={w}/a.plan {s} --getPlanVersionOnly
--loadEngine={w}/a.plan {s} --asyncFileReader
--onnx={m} {s} --profilingVerbosity=detailed --dumpLayerInfo --dumpProfile --separateProfileRun
--onnx={m} {s} --profilingVerbosity=none
--onnx={m} {s} --timingCacheFile={w}/timing.cache
--onnx={m} {s} --timingCacheFile={w}/timing.cache --errorOnTimingCacheMiss
--onnx={m} {s} --noBuilderCache
--onnx={m} {s} --skipInference --saveEngine={w}/b.plan
--onnx={m} {s} --refit --saveEngine={w}/c.plan
--loadEngine={w}/c.plan {s} --timeRefit
--onnx={m} {s} --stripWeights --saveEngine={w}/d.plan --skipInference
--onnx={m} {s} --stripAllWeights --saveEngine={w}/e.plan --skipInference
--onnx={m} {s} --versionCompatible --saveEngine={w}/f.plan
--loadEngine={w}/f.plan {s}
--onnx={m} {s} --hardwareCompatibilityLevel=ampere+
--onnx={m} {s} --builderOptimizationLevel=0
--onnx={m} {s} --builderOptimizationLevel=5 --avgTiming=2
--onnx={m} {s} --maxAuxStreams=2
--onnx={m} {s} --memPoolSize=workspace:256
--onnx={m} {s} --tacticSources=-CUBLAS,-CUDNN
--onnx={m} {s} --fp16 --precisionConstraints=obey --layerPrecisions=*:fp32
--onnx={m} {s} --fp16 --precisionConstraints=prefer --layerOutputTypes=*:fp16
--onnx={m} {s} --fp16 --inputIOFormats=fp16:chw --outputIOFormats=fp16:chw
--onnx={m} {s} --sparsity=enable --fp16
--onnx={m} {s} --sparsity=force --fp16
--onnx={m} {s} --markDebug=nothing_of_that_name
--onnx={m} {s} --markUnfusedTensorsAsDebugTensors --saveAllDebugTensors=summary
--onnx={m} {s} --tempdir={w} --tempfileControls=in_memory:allow,temporary:deny
--onnx={m} {s} --device=0 --verbose
--onnx={m} {s} --weightStreamingBudget=50% --allowWeightStreaming --stronglyTyped
! --onnx={w}/not_there.onnx {s}
! --loadEngine={m} {s}
! --onnx={m} {s} --consistency --safe
! --onnx={m} {s} --device=99
! --onnx={m} {s} --useDLACore=0
! --onnx={m} {s} --fp8 --int8
""".strip().splitlines()


def run(program: str, line: str, environment: dict[str, str], work: Path) -> tuple[bool, str]:
    words = line.lstrip("! ").split()
    try:
        done = subprocess.run([program, *words], cwd=work, env=environment, capture_output=True, text=True, timeout=100)
    except subprocess.TimeoutExpired:
        return False, "no end within 100 s"
    text = done.stdout + done.stderr
    passed = done.returncode == 0 and "&&&& PASSED" in text
    failed = done.returncode != 0 and re.search(r"\[E\]|ERROR|&&&& FAILED|Cannot find", text) is not None
    errors = [word for word in text.splitlines() if "[E]" in word] or text.splitlines()[-1:]
    ok = failed if line.startswith("!") else passed
    return ok, "" if ok else f"exit code {done.returncode}: {errors[0][:240] if errors else 'nothing printed'}"


def results(program: Path, model: Path, environment: dict[str, str]) -> Iterator[tuple[str, bool, str]]:
    """Each command line, whether it ended as it should, and how else."""
    with tempfile.TemporaryDirectory() as folder:
        for line in LINES:
            ok, why = run(str(program), line.format(m=model, w=folder, s=SHORT), environment, Path(folder))
            yield line.format(m=model.name, w=".", s=""), ok, why


def main() -> int:
    program, libraries, models = Path(sys.argv[1]).absolute(), sys.argv[2], [Path(path).absolute() for path in sys.argv[3:]]
    environment = dict(os.environ, LD_LIBRARY_PATH=f"{Path(libraries).absolute()}:{os.environ.get('LD_LIBRARY_PATH', '')}")
    rows = []
    for model in models:
        for line, ok, why in results(program, model, environment):
            rows.append(ok)
            if not ok:
                print(f"{line}: {why}", flush=True)
    print(f"{len(rows)} command lines, {rows.count(False)} not as expected")
    return 0 if all(rows) else 1


if __name__ == "__main__":
    sys.exit(main())

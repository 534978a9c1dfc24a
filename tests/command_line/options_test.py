"""Every flag of src/tools/options.def: it has an effect that is looked at here, or the remark that its row promises is
printed, or it is refused with the row's reason."""
import json
import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from command_line_test import inputs, write_model
from conftest import QUICK
from onnx import TensorProto, helper, numpy_helper

SOURCE = Path(__file__).resolve().parents[2]
ROW = re.compile(r'^TENON_OPTION\((\w+), (\w+), "([^"]*)", (\w+), (\w+), "([^"]*)", "([^"]*)"\)', re.MULTILINE)
ROWS = {m[0]: dict(zip(("kind", "default", "group", "support", "argument", "help"), m[1:]))
        for m in ROW.findall((SOURCE / "src/tools/options.def").read_text())}
VALUES = {"minShapesCalib": "x:4", "optShapesCalib": "x:4", "maxShapesCalib": "x:4", "layerDeviceTypes": "mul:GPU",
          "preview": "+runtimeActivationResize", "tempfileControls": "in_memory:allow,temporary:deny", "sparsity": "enable",
          "tacticSources": "+cublas,-CublasLT", "persistentCacheRatio": "0.5", "tilingOptimizationLevel": "1"}


def of(support: str) -> list[str]:
    return [name for name, row in ROWS.items() if row["support"] == support]


def typed(name: str) -> str:
    if ROWS[name]["kind"] == "kFlag":
        return f"--{name}"
    usual = "0" if ROWS[name]["kind"] in ("kInteger", "kReal") else "any"
    return f"--{name}={VALUES.get(name, usual)}"


def reason(name: str) -> str:
    return ROWS[name]["help"].split(" | ")[1]


def test_the_table_is_read():
    assert len(ROWS) > 120 and {"kWorks", "kGpuOnly", "kNoEffect", "kRefused"} == {row["support"] for row in ROWS.values()}


def test_flags_without_effect_say_why(trtexec, tmp_path: Path):
    write_model(tmp_path / "m.onnx", 2)
    text = trtexec("--onnx=m.onnx", "--skipInference", "--stronglyTyped", *map(typed, of("kNoEffect")))
    for name in of("kNoEffect"):
        assert f"--{name} has no effect: {reason(name)}" in text


def test_flags_of_gpus_say_why_they_have_no_effect(trtexec, tmp_path: Path):
    write_model(tmp_path / "m.onnx", 2)
    text = trtexec("--onnx=m.onnx", "--skipInference", *map(typed, of("kGpuOnly")))
    for name in of("kGpuOnly"):
        assert f"--{name} has no effect on the CPU: {reason(name)}" in text


@pytest.mark.parametrize("level, word", [("ampere+", "kAMPERE_PLUS"), ("sameComputeCapability", "kSAME_COMPUTE_CAPABILITY")])
def test_a_level_of_gpus_is_remarked_once(trtexec, tmp_path: Path, level: str, word: str):
    write_model(tmp_path / "m.onnx", 2)
    text = trtexec("--onnx=m.onnx", "--skipInference", "--device=-1", f"--hardwareCompatibilityLevel={level}")
    assert [f"compatibility level {word} has no effect" in line for line in text.splitlines() if "has no effect" in line] == [True]


@pytest.mark.parametrize("name", of("kRefused"))
def test_flags_that_are_refused_say_why(trtexec, tmp_path: Path, name: str):
    write_model(tmp_path / "m.onnx", 2)
    assert f"--{name} cannot be used: {reason(name)}" in trtexec("--onnx=m.onnx", typed(name), passes=False)


def write_dynamic(file: Path) -> Path:
    """y = x + z, of any batch."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph([helper.make_node("Add", ["x", "z"], ["y"], "add")], "g",
                              [value(n, TensorProto.FLOAT, ["n", 3]) for n in "xz"], [value("y", TensorProto.FLOAT, ["n", 3])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), file)
    return file


def write_convolution(file: Path) -> Path:
    value = helper.make_tensor_value_info
    node = helper.make_node("Conv", ["x", "w"], ["y"], "conv")
    weights = [numpy_helper.from_array(np.full((16, 16, 3, 3), 0.01, np.float32), "w")]
    graph = helper.make_graph([node], "g", [value("x", TensorProto.FLOAT, [1, 16, 32, 32])],
                              [value("y", TensorProto.FLOAT, [1, 16, 30, 30])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), file)
    return file


# Flag: arguments, and the output (a pattern), or "!" and the error. MODEL, DYNAMIC, CONV are written for each case;
# PLAN is a plan of MODEL, made with --refit.
CASES = {
    "onnx": (["--onnx=none.onnx"], "!none.onnx"),
    "minShapes": (["DYNAMIC", "--minShapes=x:2x3,z:2x3", "--maxShapes=x:8x3,z:8x3", "--dumpOptimizationProfile"],
                  r"input x, min 2x3, opt 8x3, max 8x3"),
    "optShapes": (["DYNAMIC", "--minShapes=x:2x3", "--optShapes=x:4x3", "--maxShapes=x:8x3", "--dumpOptimizationProfile"],
                  r"input z, min 2x3, opt 4x3, max 8x3"),
    "maxShapes": (["DYNAMIC", "--maxShapes=x:8x3,z:8x3", "--dumpOptimizationProfile"], r"input x, min 8x3, opt 8x3, max 8x3"),
    "profile": (["DYNAMIC", "--profile=0", "--optShapes=x:2x3,z:2x3", "--profile=1", "--optShapes=x:5x3,z:5x3",
                 "--dumpOptimizationProfile"], r"Optimization Profile 1: input x, min 5x3"),
    "inputIOFormats": (["MODEL", "--inputIOFormats=fp16:chw", "--exportLayerInfo=l.json", "--profilingVerbosity=detailed",
                        "--dumpLayerInfo"], r"Name: x, Location: Device, Dimensions: \[4\], Format/Datatype: Row major linear FP16"),
    "outputIOFormats": (["MODEL", "--outputIOFormats=fp16:chw", "--profilingVerbosity=detailed", "--dumpLayerInfo"],
                        r"Name: y, Location: Device, Dimensions: \[4\], Format/Datatype: Row major linear FP16"),
    "directIO": (["MODEL", "--directIO", "--inputIOFormats=fp32:dla_linear"], "!kLINEAR"),
    "allowWeightStreaming": (["MODEL", "--allowWeightStreaming"], "!--stronglyTyped"),
    "weightStreamingBudget": (["MODEL", "--stronglyTyped", "--allowWeightStreaming", "--weightStreamingBudget=50%"],
                              r"Weight streaming: \d+ of \d+ bytes of weights"),
    "memPoolSize": (["MODEL", "--memPoolSize=dlaSRAM:1M"], r"kDLA_MANAGED_SRAM has no effect"),
    "profilingVerbosity": (["MODEL", "--profilingVerbosity=detailed", "--dumpLayerInfo"], r"Name: .*, LayerType: "),
    "avgTiming": (["MODEL", "--avgTiming=0"], "!--avgTiming=0 is out of range"),
    "refit": (["MODEL", "--refit", "--dumpRefit"], r"Weights that can be refitted: 2"),
    "stripWeights": (["MODEL", "--stripWeights"], "!refit"),
    "stripAllWeights": (["MODEL", "--stripAllWeights"], "!refit the engine before it runs"),
    "versionCompatible": (["MODEL", "--versionCompatible"], r"PASSED"),
    "hardwareCompatibilityLevel": (["MODEL", "--hardwareCompatibilityLevel=ampere+"], r"kAMPERE_PLUS has no effect"),
    "tilingOptimizationLevel": (["MODEL", "--tilingOptimizationLevel=3"], r"Tiling: turns of 1 sample \(of "),
    "l2LimitForTiling": (["MODEL", "--l2LimitForTiling=-2"], "!--l2LimitForTiling=-2 is out of range"),
    "enablePluginOverride": (["MODEL", "--enablePluginOverride"], r"PASSED"),
    "useRuntime": (["--loadEngine=PLAN", "--useRuntime=lean"], r"one runtime library serves all plans"),
    "monitorMemory": (["MODEL", "--monitorMemory"], r"\[MemUsageStats\] Peak memory usage of the process: CPU [1-9]\d* MiB"),
    "fp16": (["CONV", "--fp16"], r"FP16 on this CPU means BF16|no 16-bit arithmetic"),
    "bf16": (["CONV", "--bf16", "--profilingVerbosity=detailed", "--dumpLayerInfo"], r"BFloat16|no 16-bit arithmetic"),
    "int8": (["MODEL", "--int8"], r"INT8 is allowed, but no layer uses it"),
    "calib": (["CONV", "--int8", "--calib=none.cache"], r"none.cache: there is no such file: ranges are made up"),
    "fp8": (["MODEL", "--fp8"], r"FP8 is allowed, but no layer uses it"),
    "int4": (["MODEL", "--int4"], r"INT4 is allowed, but no layer uses it"),
    "best": (["MODEL", "--best"], r"FP16 on this CPU means BF16|no 16-bit arithmetic"),
    "stronglyTyped": (["MODEL", "--stronglyTyped", "--fp16"], r"--fp16 is switched off by --stronglyTyped"),
    "precisionConstraints": (["MODEL", "--layerPrecisions=mul:fp16", "--precisionConstraints=obey"], "!--fp16"),
    "layerPrecisions": (["MODEL", "--layerPrecisions=mul:fp32"], r"--layerPrecisions takes effect only with --precisionConstraints"),
    "layerOutputTypes": (["MODEL", "--layerOutputTypes=none:fp32", "--precisionConstraints=obey"], r"no layer is called 'none'"),
    "saveEngine": (["MODEL", "--saveEngine=p.plan"], r"Saved engine to p.plan"),
    "loadEngine": (["--loadEngine=PLAN", "--fp16", "--noFuse=a"], r"--fp16 has no effect with --loadEngine(.|\n)*--noFuse has no"),
    "getPlanVersionOnly": (["--loadEngine=PLAN", "--getPlanVersionOnly"], r"was built by version: \d+\.\d+"),
    "noBuilderCache": (["CONV", "--noBuilderCache", "--timingCacheFile=t.cache", "--errorOnTimingCacheMiss"], "!timing cache miss"),
    "timingCacheFile": (["CONV", "--timingCacheFile=t.cache"], r"Saved [1-9]\d+ bytes of timing cache to t.cache"),
    "errorOnTimingCacheMiss": (["CONV", "--errorOnTimingCacheMiss", "--timingCacheFile=t.cache"], "!timing cache miss"),
    "builderOptimizationLevel": (["MODEL", "--builderOptimizationLevel=17"], "!--builderOptimizationLevel=17 is out of range"),
    "maxTactics": (["CONV", "--maxTactics=1", "--timingCacheFile=t.cache"], r"Saved 32 bytes of timing cache"),
    "runtimePlatform": (["MODEL", "--runtimePlatform=WindowsAMD64"], "!--runtimePlatform=WindowsAMD64 cannot be used: plans are"),
    "markDebug": (["MODEL", "--markDebug=sum", "--saveAllDebugTensors=summary"], r"sum: \(4\) min"),
    "device": (["MODEL", "--device=-1"], r"Selected Device ID: -1"),
    "staticPlugins": (["MODEL", "--staticPlugins=none.so"], "!--staticPlugins=none.so"),
    "setPluginsToSerialize": (["MODEL", "--setPluginsToSerialize=m.onnx"], "!is no shared library"),
    "tempdir": (["MODEL", "--tempdir=none"], "!--tempdir: there is no folder 'none'"),
    "tempfileControls": (["MODEL", "--tempfileControls=in_memory:deny,temporary:deny"], r"PASSED"),
    "dynamicPlugins": (["MODEL", "--dynamicPlugins=none.so"], "!--dynamicPlugins=none.so"),
    "shapes": (["DYNAMIC", "--shapes=x:5x3"], r"Input binding for z with dimensions 5x3"),
    "loadInputs": (["MODEL", "INPUTS", "--dumpOutput"], r"3 0 7 9"),
    "iterations": (["MODEL", "--iterations=7"], r"Timing trace has 7 queries"),
    "warmUp": (["MODEL", "--warmUp=30"], r"Warmup completed [1-9]\d* queries over 30 ms"),
    # With pauses: a summary covers the last 2^18 queries, which a small model takes less time for.
    "duration": (["MODEL", "--duration=0.25", "--idleTime=1"], r"over 0\.2"),
    "idleTime": (["MODEL", "--iterations=5", "--idleTime=20"], r"Total Host Walltime: 0\.0[89]|Total Host Walltime: 0\.1"),
    "infStreams": (["MODEL", "--infStreams=2"], r"With 2 inference streams"),
    "noDataTransfers": (["MODEL", "--noDataTransfers"], r"H2D Latency: min = 0 ms, max = 0 ms"),
    "useSpinWait": (["MODEL", "--useSpinWait"], r"useSpinWait: Enabled"),
    "threads": (["MODEL", "--threads", "--infStreams=2"], r"threads: Enabled"),
    "timeDeserialize": (["MODEL", "--timeDeserialize"], r"(?i)deserializ.* (time|sec|ms)"),
    "timeRefit": (["MODEL", "--refit", "--timeRefit"], r"Engine refitted in"),
    "separateProfileRun": (["MODEL", "--separateProfileRun"], r"--separateProfileRun has no effect without"),
    "skipInference": (["MODEL", "--skipInference"], r"Skipped inference phase"),
    "useProfile": (["MODEL", "--useProfile=3"], "!--useProfile=3: the engine has"),
    "allocationStrategy": (["MODEL", "--allocationStrategy=runtime"], r"allocation strategy runtime"),
    "markUnfusedTensorsAsDebugTensors": (["MODEL", "--markUnfusedTensorsAsDebugTensors", "--saveAllDebugTensors=summary"],
                                         r"y: \(4\) min"),
    "saveDebugTensors": (["MODEL", "--markDebug=sum", "--saveDebugTensors=sum:sum.bin", "INPUTS"], r"sum\.bin"),
    "saveAllDebugTensors": (["MODEL", "--saveAllDebugTensors=summary"], "!--markDebug"),
    "refitFromOnnx": (["--loadEngine=PLAN", "--refitFromOnnx=none.onnx"], "!none.onnx"),
    "verbose": (["MODEL", "--verbose"], r"\[V\] "),
    "avgRuns": (["MODEL", "--avgRuns=2", "--iterations=4"], r"Average on 2 runs"),
    "percentile": (["MODEL", "--percentile=42"], r"percentile\(42%\) = "),
    "dumpRefit": (["MODEL", "--dumpRefit"], "!--refit"),
    "dumpOutput": (["MODEL", "--dumpOutput"], r"Output Tensors:"),
    "dumpRawBindingsToFile": (["MODEL", "--dumpRawBindingsToFile"], r"Wrote y to y\.output\.4\.fp32\.raw"),
    "dumpProfile": (["MODEL", "--dumpProfile"], r"=== Profile \(1 iterations \) ==="),
    "dumpLayerInfo": (["MODEL", "--dumpLayerInfo"], r"Layer Information:\n"),
    "dumpOptimizationProfile": (["MODEL", "--dumpOptimizationProfile"], r"Optimization Profile Information:"),
    "exportTimes": (["MODEL", "--exportTimes=none/x"], "!--exportTimes: cannot write"),
    "exportOutput": (["MODEL", "--exportOutput=none/x"], "!--exportOutput: cannot write"),
    "exportProfile": (["MODEL", "--exportProfile=none/x"], "!--exportProfile: cannot write"),
    "exportLayerInfo": (["MODEL", "--exportLayerInfo=none/x"], "!--exportLayerInfo: cannot write"),
    "html": (["MODEL", "--html=none/x"], "!--html: cannot write"),
    "exportReport": (["MODEL", "--exportReport=none/x"], "!--exportReport: cannot write"),
    "exportTimeline": (["MODEL", "--exportTimeline=none/x"], "!--exportTimeline: cannot write"),
    "help": (["--help"], r"--onnx=file"),
    "cpuThreads": (["MODEL", "--cpuThreads=9999"], "!--cpuThreads=9999 is out of range"),
    "deviceDescription": (["MODEL", "--deviceDescription=none.txt"], "!none.txt"),
    "passes": (["--passes=list"], r"fuse_\w+: "),
    "disablePass": (["MODEL", "--disablePass=fold_constants:none*"], r"No node of the network is called 'none\*', where fold_constants"),
    "dump": (["CONV", "--dump=network,graph:after-fuse_*,tactics"], r"// network\n(.|\n)*// graph:after-fuse_epilogue\n(.|\n)*// tactics\n"),
    "noFuse": (["MODEL", "--noFuse=none*"], r"No node of the network is called 'none\*', which is to stay unfused"),
    "numerics": (["CONV", "--numerics=exact", "--builderOptimizationLevel=0", "--dumpLayerInfo", "--profilingVerbosity=detailed"], r"cpu\.conv\.windows"),
    "noSelfCheck": (["CONV", "--noSelfCheck", "--verbose"], r"PASSED"),
    "allowFailedSelfCheck": (["MODEL", "--allowFailedSelfCheck"], r"PASSED"),
    "selfCheckRegions": (["MODEL", "--selfCheckRegions"], r"PASSED"),
    "selfCheckCost": (["MODEL", "--selfCheckCost=0"], r"PASSED"),
    "budget": (["CONV", "--budget=1ms"], r"The build's budget is used up"),
    "recordCandidates": (["CONV", "--recordCandidates"], r"PASSED"),
    "helpMarkdown": (["--helpMarkdown"], r"\| `--onnx=file` \|"),
}
# These only show that they are taken: their effects have tests of their own (self_check_test, plugin_test,
# stored_library_test, settings_table_test), or is
# always so.
TAKEN = {"allowFailedSelfCheck", "enablePluginOverride", "noSelfCheck", "recordCandidates", "selfCheckRegions", "selfCheckCost", "tempfileControls", "useSpinWait", "threads", "noDataTransfers",
         "versionCompatible"}


def test_every_flag_that_works_has_a_case():
    assert set(CASES) == set(of("kWorks"))
    assert {name for name, (_, found) in CASES.items() if found == "PASSED"} <= TAKEN


@pytest.mark.parametrize("name", sorted(CASES))
def test_flags_that_work_do_something(trtexec, tmp_path: Path, name: str):
    arguments, found = CASES[name]
    words = {"MODEL": lambda: f"--onnx={write_model(tmp_path / 'm.onnx', 2)}",
             "DYNAMIC": lambda: f"--onnx={write_dynamic(tmp_path / 'd.onnx')}",
             "CONV": lambda: f"--onnx={write_convolution(tmp_path / 'c.onnx')}",
             "INPUTS": lambda: inputs(tmp_path)}
    arguments = [words[a]() if a in words else a for a in arguments]
    if any("PLAN" in a for a in arguments):
        trtexec(f"--onnx={write_model(tmp_path / 'm.onnx', 2)}", "--refit", "--saveEngine=PLAN", "--skipInference")
    fails = found.startswith("!")
    text = trtexec(*arguments, passes=not fails)
    assert found[1:] in text if fails else re.search(found, text), text[-2000:]


@pytest.mark.parametrize("words, error", [
    (["--preview=+nonsense"], "'+nonsense' is not + or - and one of aliasedPluginIO1003"),
    (["--preview=runtimeActivationResize"], "'runtimeActivationResize' is not + or -"),
    (["--tacticSources=+CUDNN,-cudnn"], "a source is added and left out"),
    (["--tacticSources=+MAGIC"], "'+MAGIC' is not + or - and the name of a source"),
    (["--tempfileControls=in_memory:perhaps"], "'in_memory:perhaps'"),
    (["--stronglyTyped", "--precisionConstraints=obey"], "--precisionConstraints and --stronglyTyped exclude each other"),
    (["--useRuntime=lean"], "--useRuntime=lean needs --loadEngine"),
    (["--memPoolSize=cellar:1M"], "there is no pool 'cellar'"),
    (["--layerPrecisions=mul:fp61"], "--layerPrecisions: 'fp61' is no type"),
    (["--layerOutputTypes=mul:fp32+fp61"], "--layerOutputTypes: 'fp61' is no type"),
    (["--layerPrecisions=mul:fp32,mul:fp16"], "--layerPrecisions: 'mul' is given twice in 'mul:fp32,mul:fp16'"),
    (["--precisionConstraints=obey", "--layerOutputTypes=mul:fp32+fp32"], "--layerOutputTypes: 2 types for the 1 outputs of 'mul'"),
    (["--memPoolSize=workspace:1M,workspace:2M"], "--memPoolSize: 'workspace' is given twice"),
    (["--loadInputs=x"], "--loadInputs: 'x' is not of the form name:value"),
    (["--saveDebugTensors=x"], "--saveDebugTensors: 'x' is not of the form name:value"),
    (["--precisionConstraints=obey", "--layerOutputTypes=*:"], "--layerOutputTypes: '*:' is not of the form name:value"),
    (["--selfCheckCost=-7"], "--selfCheckCost=-7 is out of range"),
    (["--passes=many"], "--passes=many: expected one of list, applied\n"),
])
def test_values_that_make_no_sense_are_errors(trtexec, tmp_path: Path, words: list[str], error: str):
    write_model(tmp_path / "m.onnx", 2)
    assert error in trtexec("--onnx=m.onnx", *words, passes=False)


@pytest.mark.parametrize("words, remark", [
    (["--noSelfCheck", "--selfCheckRegions"], "--selfCheckRegions has no effect with --noSelfCheck"),
    (["--noSelfCheck", "--selfCheckCost=5"], "--selfCheckCost has no effect with --noSelfCheck"),
    (["--noSelfCheck", "--allowFailedSelfCheck"], "--allowFailedSelfCheck has no effect with --noSelfCheck"),
    (["--noBuilderCache", "--timingCacheFile=t.cache"], "--timingCacheFile has no effect with --noBuilderCache"),
    (["--precisionConstraints=prefer"], "--precisionConstraints has no effect without --layerPrecisions or --layerOutputTypes"),
])
def test_flags_that_others_leave_without_effect_say_so(trtexec, tmp_path: Path, words: list[str], remark: str):
    write_model(tmp_path / "m.onnx", 2)
    assert remark in trtexec("--onnx=m.onnx", "--skipInference", *words)


@pytest.mark.parametrize("constraints", ["obey", "prefer"])
@pytest.mark.parametrize("flag", ["--layerOutputTypes=*:fp32", "--layerPrecisions=*:fp32"])
def test_types_that_layers_have_anyway_change_no_weights(trtexec, tmp_path: Path, flag: str, constraints: str):
    """Weights of a megabyte: memory that was given back holds them no longer."""
    value, random = helper.make_tensor_value_info, np.random.default_rng(3)
    weights = [numpy_helper.from_array(random.normal(size=(512, 512)).astype(np.float32), "w")]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"], "product")], "g", [value("x", TensorProto.FLOAT, [2, 512])],
                              [value("y", TensorProto.FLOAT, [2, 512])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "m.onnx")
    random.normal(size=(2, 512)).astype(np.float32).tofile(tmp_path / "x.bin")
    results = []
    for flags in ([], [flag, f"--precisionConstraints={constraints}"]):
        trtexec("--onnx=m.onnx", "--loadInputs=x:x.bin", "--exportOutput=o.json", "--builderOptimizationLevel=0", *flags)
        results.append((tmp_path / "o.json").read_text())
    assert results[0] == results[1]


@pytest.mark.parametrize("kind", ["fp16", "bf16"])
def test_layers_of_two_types_of_results_meet(trtexec, tmp_path: Path, kind: str):
    """The result of one layer has 16 bits; the layers that take it beside weights of 32 widen it, bodies too."""
    value, random = helper.make_tensor_value_info, np.random.default_rng(3)
    numbers = {name: random.normal(size=shape).astype(np.float32) for name, shape in
               {"x": (2, 8), "w": (8, 8), "b": (8,), "v": (8, 8)}.items()}
    branch = helper.make_graph([helper.make_node("Mul", ["m", "b"], ["t"], "inside")], "branch", [], [value("t", TensorProto.FLOAT, [2, 8])])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"], "mm"), helper.make_node("Add", ["m", "b"], ["s"], "bias"),
             helper.make_node("MatMul", ["m", "v"], ["p"], "again"), helper.make_node("Einsum", ["m", "v"], ["e"], "sum", equation="ij,jk->ik"),
             helper.make_node("If", ["taken"], ["i"], "choice", then_branch=branch, else_branch=branch),
             helper.make_node("Concat", ["m", "s", "p", "e", "i"], ["y"], "all", axis=1)]
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, [2, 8]), value("taken", TensorProto.BOOL, [])],
                              [value("y", TensorProto.FLOAT, [2, 40])], [numpy_helper.from_array(numbers[name], name) for name in "wbv"])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "m.onnx")
    numbers["x"].tofile(tmp_path / "x.bin")
    trtexec("--onnx=m.onnx", "--loadInputs=x:x.bin", "--exportOutput=o.json", f"--{kind}", "--precisionConstraints=obey",
            f"--layerOutputTypes=mm:{kind}")
    product = numbers["x"] @ numbers["w"]
    again = product @ numbers["v"]
    expected = np.concatenate([product, product + numbers["b"], again, again, product * numbers["b"]], axis=1)
    result = np.array(json.loads((tmp_path / "o.json").read_text())[0]["values"]).reshape(2, 40)
    assert np.abs(result - expected).max() < 0.02 * np.abs(expected).max()


def test_profiles_out_of_order_are_named(trtexec, tmp_path: Path):
    write_dynamic(tmp_path / "d.onnx")
    text = trtexec("--onnx=d.onnx", "--minShapes=x:3x3", "--optShapes=x:2x3", "--maxShapes=x:8x3", passes=False)
    assert "input 'x' is not valid: it needs min <= opt <= max on each axis, not min 3x3, opt 2x3, max 8x3" in text


def test_batches_are_inferred_where_plans_are_loaded(trtexec, tmp_path: Path):
    write_dynamic(tmp_path / "d.onnx")
    trtexec("--onnx=d.onnx", "--minShapes=x:1x3", "--optShapes=x:2x3", "--maxShapes=x:8x3", "--saveEngine=d.plan", "--skipInference")
    text = trtexec("--loadEngine=d.plan", "--shapes=x:6x3", "--exportOutput=o.json")
    assert "Input binding for z with dimensions 6x3" in text
    assert json.loads((tmp_path / "o.json").read_text())[0]["dimensions"] == "6x3"
    assert QUICK


def test_16_bits_with_a_budget_name_what_stays(trtexec, pytestconfig, tmp_path: Path):
    """(x + 1000) - 1000 in 16 bits is noise; --fp16 computes it so, --fp16=auto does not."""
    value = helper.make_tensor_value_info
    constants = [numpy_helper.from_array(np.float32(1000), "c")]
    nodes = [helper.make_node("Add", ["x", "c"], ["s"], "far"), helper.make_node("Relu", ["s"], ["r"], "relu"),
             helper.make_node("Sub", ["r", "c"], ["y"], "back")]
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, [1, 16])], [value("y", TensorProto.FLOAT, [1, 16])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "m.onnx")
    for flag in ("--fp16=auto", "--bf16=auto"):
        text = trtexec("--onnx=m.onnx", flag, "--exportOutput=o.json", "--saveEngine=m.plan")
        if "no 16-bit arithmetic" in text:
            continue
        for name in ("far", "back"):
            assert f"'{name}' stays in f32: rounding it to bf16 alone moves the outputs by" in text
        assert re.search(r"Budget for precision: [23] layers stay in f32", text)
        # What stays makes the difference: outputs lie on a grid of 4 otherwise.
        assert max(abs(v - round(v)) for v in json.loads((tmp_path / "o.json").read_text())[0]["values"]) > 1e-2
        # The same on the page of a build.
        program = Path(pytestconfig.getoption("build")).resolve() / "bin/tenon"
        page = re.sub(r"\s+", " ", subprocess.run([program, "build", "m.onnx", flag, "--device=-1"], capture_output=True, text=True, cwd=tmp_path).stdout)
        inside = re.sub(r"\s+", " ", subprocess.run([program, "inspect", "m.plan"], capture_output=True, text=True, cwd=tmp_path).stdout)
        for line in re.findall(r"\[TRT\] (.*(?:stays? in f32|layers with products).*)", text):
            assert line in page and line in inside
    assert "takes no value" in trtexec("--onnx=m.onnx", "--fp16=always", passes=False)


@pytest.mark.parametrize("flag, kind, coarse", [("--int8", TensorProto.INT8, 8.0), ("--fp8", TensorProto.FLOAT8E4M3FN, 3000.0)])
def test_8_bits_with_a_budget_name_what_stays(trtexec, tmp_path: Path, flag, kind, coarse):
    """Of two quantized products the second reads steps that leave hardly a number."""
    random, nodes, constants = np.random.default_rng(3), [], []

    def pair(value, step, name):
        constants.extend([numpy_helper.from_array(np.float32(step), name + "_step"), helper.make_tensor(name + "_zero", kind, [], [0])])
        nodes.append(helper.make_node("QuantizeLinear", [value, name + "_step", name + "_zero"], [name + "_q"]))
        nodes.append(helper.make_node("DequantizeLinear", [name + "_q", name + "_step", name + "_zero"], [name + "_d"]))
        return name + "_d"

    value = "x"
    for name, step in (("fine", 0.02), ("coarse", coarse)):
        constants.append(numpy_helper.from_array(random.normal(0, 0.2, (32, 32)).astype(np.float32), name + "_w"))
        nodes.append(helper.make_node("MatMul", [pair(value, step, name + "_x"), pair(name + "_w", 0.006, name + "_y")], [name], name))
        value = name
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [info("x", TensorProto.FLOAT, [4, 32])], [info("coarse", TensorProto.FLOAT, [4, 32])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), tmp_path / "m.onnx")
    text = trtexec("--onnx=m.onnx", flag + "=auto", "--exportOutput=o.json")
    assert "Budget for quantization: 1 layer stays unquantized" in text
    assert "'coarse' stays unquantized: rounding its operands to" in text and "'fine' stays" not in text
    assert np.abs(json.loads((tmp_path / "o.json").read_text())[0]["values"]).max() > 0
    trtexec("--onnx=m.onnx", flag, "--exportOutput=o.json")
    assert np.abs(json.loads((tmp_path / "o.json").read_text())[0]["values"]).max() == 0
    assert "Budget for" not in trtexec("--onnx=m.onnx", flag + "=auto", "--stronglyTyped")


def test_summaries_say_what_each_precision_came_to(trtexec, tmp_path: Path):
    """How many layers got it, and why the others did not."""
    write_convolution(tmp_path / "c.onnx")
    text = trtexec("--onnx=c.onnx", "--best", "--sparsity=enable", "--builderOptimizationLevel=2")
    assert "made-up ranges" in text
    assert "INT8: 1 of 1 layers with products compute in 8-bit integers" in text
    assert re.search(r"Sparsity: 0 of 1 layers with products have weights with two of four zero", text)
    kept = trtexec("--onnx=c.onnx", "--int8", "--builderOptimizationLevel=2", "--precisionConstraints=obey", "--layerPrecisions=conv:fp32")
    assert "INT8 is allowed, but no layer uses it" in kept and "INT8: 1 does not, since setPrecision asks for f32: 'conv'" in kept
    assert "INT4 is allowed, but no layer uses it" in trtexec("--onnx=c.onnx", "--int4")
    assert "FP8 is allowed, but no layer uses it" in trtexec("--onnx=c.onnx", "--fp8")
    assert re.search(r"Sparsity: 1 does not, since the weights .*: 'conv'", text)
    assert text.count("--sparsity has no effect") + text.count("kSPARSE_WEIGHTS has no effect") <= 1
    forced = trtexec("--onnx=c.onnx", "--sparsity=force", "--builderOptimizationLevel=2")
    assert "--sparsity=force: weights of 1 of 1 convolutions and products were changed" in forced
    assert "Sparsity: 1 of 1 layers with products have weights with two of four zero" in forced


@pytest.mark.parametrize("flag, words", [("--int8", "INT8: 1 does not, since ranges quantize .* alone: 'up'"),
                                         ("--fp8", "FP8 is allowed, but no layer uses it: the network has no QuantizeLinear"),
                                         ("--int4", "INT4 is allowed, but no layer uses it: the network has no QuantizeLinear"),
                                         ("--best", "INT8: 1 does not, since ranges quantize .* alone: 'up'"),
                                         ("--sparsity=enable", "Sparsity: 0 of 1 layers")])
def test_summaries_of_layers_that_no_flag_reaches(flag: str, words: str, trtexec, tmp_path: Path):
    value = helper.make_tensor_value_info
    graph = helper.make_graph([helper.make_node("ConvTranspose", ["x", "w"], ["y"], "up", strides=[2, 2])], "g",
                              [value("x", TensorProto.FLOAT, [1, 4, 8, 8])], [value("y", TensorProto.FLOAT, [1, 4, 16, 16])],
                              [numpy_helper.from_array(np.ones((4, 4, 2, 2), np.float32), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "up.onnx")
    text = trtexec("--onnx=up.onnx", flag, "--builderOptimizationLevel=2")
    assert re.search(words, text)
    assert text.count("INT8 is allowed") <= 1
    for contradiction in ("made-up", "no calibrator", "no convolution", "kINT8 has no effect"):
        assert contradiction not in text


def test_summaries_of_networks_quantized_as_they_run(trtexec, tmp_path: Path):
    """As onnxruntime.quantization's quantize_dynamic writes them: they need no ranges."""
    value, random = helper.make_tensor_value_info, np.random.default_rng(3)
    nodes = [helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), helper.make_node("MatMulInteger", ["q", "w", "z"], ["i"], "product"),
             helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT), helper.make_node("Mul", ["s", "t"], ["u"]),
             helper.make_node("Mul", ["f", "u"], ["y"])]
    constants = [numpy_helper.from_array(random.integers(-127, 128, (32, 16)).astype(np.int8), "w"),
                 numpy_helper.from_array(np.float32(0.01), "t")]
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, [64, 32])], [value("y", TensorProto.FLOAT, [64, 16])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "d.onnx")
    text = trtexec("--onnx=d.onnx", "--int8", "--builderOptimizationLevel=2")
    assert "INT8: 1 of 1 layers with products compute in 8-bit integers" in text and "made-up" not in text
    text = trtexec("--onnx=d.onnx", "--int8", "--builderOptimizationLevel=2", "--disablePass=fuse_quantized")
    assert "INT8: 1 does not, since the pass fuse_quantized is switched off" in text


def test_summaries_of_strongly_typed_networks(trtexec, pytestconfig, tmp_path: Path):
    """The network's own types count, with or without flags, which such networks switch off."""
    write_convolution(tmp_path / "c.onnx")
    tenon = Path(pytestconfig.getoption("build")).resolve() / "bin/tenon"
    subprocess.run([tenon, "quantize", "--onnx_path=c.onnx", "--output_path=q.onnx"], cwd=tmp_path, check=True)
    for flags in ([], ["--int8"]):
        text = trtexec("--onnx=q.onnx", "--stronglyTyped", "--builderOptimizationLevel=2", *flags)
        assert "INT8: 1 of 1 layers with products compute in 8-bit integers" in text


def test_made_up_ranges_fit_the_network(trtexec, tmp_path: Path):
    """Small numbers are not rounded to zero."""
    value, random = helper.make_tensor_value_info, np.random.default_rng(3)
    weights = random.normal(0, 1e-4, (8, 8, 3, 3)).astype(np.float32)
    nodes = [helper.make_node("Conv", ["x", "w"], ["h"], "first"), helper.make_node("Conv", ["h", "w"], ["y"], "second")]
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, [1, 8, 16, 16])],
                              [value("y", TensorProto.FLOAT, [1, 8, 12, 12])], [numpy_helper.from_array(weights, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "m.onnx")
    random.uniform(-1, 1, (1, 8, 16, 16)).astype(np.float32).tofile(tmp_path / "x.bin")
    results = []
    for flags in ([], ["--int8"], ["--best"]):
        text = trtexec("--onnx=m.onnx", "--loadInputs=x:x.bin", "--exportOutput=o.json", "--builderOptimizationLevel=2", *flags)
        results.append(np.array(json.loads((tmp_path / "o.json").read_text())[0]["values"], np.float64))
        assert ("INT8: 2 of 2 layers with products compute in 8-bit integers" in text) == bool(flags)
    exact = results[0]
    for found in results[1:]:
        assert 0 < np.linalg.norm(found - exact) < 0.1 * np.linalg.norm(exact)


@pytest.mark.parametrize("flag, words", [("--int4", r"INT4: 1 of 1 layers with products read weights of 4 bits"),
                                         ("--best", r"INT8 is allowed, but no layer uses it"),
                                         ("--fp8", r"FP8 is allowed, but no layer uses it")])
def test_summaries_of_weights_of_4_bits(flag: str, words: str, trtexec, pytestconfig, tmp_path: Path):
    """Decoding multiplies few rows by weights that stay as small as they are."""
    value, random = helper.make_tensor_value_info, np.random.default_rng(3)
    model = helper.make_model(helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], "product")], "g", [value("x", TensorProto.FLOAT, [1, 256])],
        [value("y", TensorProto.FLOAT, [1, 64])], [numpy_helper.from_array(random.normal(0, 1, (256, 64)).astype(np.float32), "w")]),
        opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(model, tmp_path / "p.onnx")
    tenon = Path(pytestconfig.getoption("build")).resolve() / "bin/tenon"
    subprocess.run([tenon, "quantize", "--onnx_path=p.onnx", "--quantize_mode=int4", "--output_path=q.onnx"], cwd=tmp_path, check=True)
    assert re.search(words, trtexec("--onnx=q.onnx", flag, "--builderOptimizationLevel=2"), re.DOTALL)

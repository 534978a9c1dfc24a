"""The catalogue of errors of tenon's subcommands: each row that a command line can bring about on the CPU is brought
about here, ends with the exit status of its number and shows number, place and remedy."""
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from command_line_test import write_model
from commands_test import CPU, tenon  # noqa: F401
from gpu_test import H200
from interrupt_test import heed_interrupts, write_convolutions
from onnx import TensorProto, helper, numpy_helper

SOURCE = Path(__file__).resolve().parents[2]
TABLE = {int(number): name for name, number in
         re.findall(r"^TENON_ERROR\((\w+), (\d+),", (SOURCE / "src/tools/commands/errors.def").read_text(), re.M)}

# By number: the words, and a piece of the message. MODEL, PLAN and others are files that the fixture makes.
CASES = {
    100: (["compare", "MODEL", "MODEL", "MODEL"], "3 words were given"),
    101: (["buidl"], "did you mean 'build'"),
    102: (["build", "MODEL", "--shape=x:4"], "did you mean --shapes"),
    103: (["build", "MODEL", "--workspace=64"], "--memPoolSize=workspace:N"),
    104: (["bench", "MODEL", "--avgRuns=some"], "--avgRuns=some is not a whole number"),
    105: (["run", "PLAN", "-o", "x.plan"], "-o and a plan exclude each other"),
    106: (["build", "MODEL", "--safe"], "there is no safety runtime"),
    107: (["build"], "usage: tenon build MODEL"),
    108: (["build", "MODEL", "-o", "none/x.plan"], "cannot write 'none/x.plan'"),
    109: (["explain", "E-999"], "'E-999'"),
    110: (["run", "MODEL", "--compare=onnxruntime"], "python3"),
    111: (["build", "MODEL", "--shapes=x:axb"], "'x:axb'"),
    112: (["build", "PLAN", "-o", "x.plan"], "is a plan already; build takes a model"),
    113: (["build", "MODEL", "--deviceDescription=none.txt"], "none.txt"),
    114: (["quantize", "MODEL", "--calibration_data=EXPORT"], "export.json"),
    115: (["debug", "precision", "MODEL", "--bf16", "--check=no_such_program"], "not found"),
    200: (["check", "ODD_TWICE"], "2 problems"),
    201: (["build", "none.onnx"], "none.onnx"),
    202: (["build", "GARBAGE"], "ModelProto"),
    203: (["build", "ODD"], "Mystery"),
    204: (["check", "OLD"], "opset 5"),
    205: (["build", "WITHOUT_WEIGHTS"], "gone.bin"),
    206: (["build", "DUPLICATE"], "INVALID_GRAPH"),
    207: (["build", "STRINGS"], "STRING"),
    208: (["build", "LP_NORM"], "p is 3"),
    209: (["build", "MISFIT"], "misfit"),
    210: (["why", "PLAN", "absent"], "'absent'"),
    300: (["build", "MODEL", "--deviceDescription=GARBAGE"], "no description of a GPU"),
    301: (["build", "MODEL", "--shapes=z:4"], "no input 'z'"),
    303: (["build", "CONV", "--timingCacheFile=new.cache", "--errorOnTimingCacheMiss"], "timing cache miss"),
    304: (["build", "MODEL", "--timingCacheFile=GARBAGE"], "timing cache"),
    306: (["build", "MODEL", "--device=5"], "NVIDIA"),
    307: (["build", "OUTER", "--shapes=x:4000000x1,z:1x4000000"], "'y' would take 64000000000000 bytes"),
    308: (["build", "MODEL", "--layerPrecisions=mul:fp16", "--precisionConstraints=obey"], "which the configuration does not allow"),
    309: (["build", "MODEL", "--markDebug=absent"], "'absent'"),
    400: (["run", "PLAN", "--saveAllDebugTensors=summary"], "no debug tensors"),
    401: (["run", "GARBAGE_PLAN"], "plan"),
    402: (["run", "DAMAGED"], "the plan is damaged"),
    403: (["run", "OTHER_FORMAT"], "format"),
    404: (["run", "GPU_PLAN"], "NVIDIA"),
    405: (["run", "PLAN", "--shapes=x:5"], "x"),
    406: (["run", "PLAN", "--loadInputs=x:GARBAGE"], "bytes, but input 'x'"),
    407: (["run", "PLAN", "--shapes=z:4"], "no input 'z'"),
    408: (["run", "STRIPPED"], "stripped of its weights"),
    409: (["run", "PLAN", "--useProfile=3"], "profiles"),
    410: (["run", "none.plan"], "none.plan"),
    412: (["run", "CARRYING"], "plugin libraries (true)"),
    413: (["report", "EXPORT"], "is no report"),
    414: (["run", "BY_ZERO", "--compare=onnxruntime"], "ONNX Runtime failed on 'zero.onnx'"),
    500: (["compare", "MODEL", "OTHER"], "1 of 1 outputs"),
    502: (["nan-hunt", "LOG"], "log"),
    504: (["debug", "precision", "MODEL", "--bf16", "--tolerance=0", "--against=OTHER"], "all 3 layers in fp32"),
    503: (["compare", "MODEL", "DOUBLE"], "none of 1 output is among"),
}
# Ctrl-C, in tests of their own below.
STOPPED = {305, 411}
# These take a fault of Tenon: tests/tools/commands looks at their signs, tests/api/self_check_test.cpp plants such faults.
ELSEWHERE = {302, 501}


def save(file: Path, nodes: list, weights: list = (), extents: list = (4,), opset: int = 18, type: int = TensorProto.FLOAT) -> None:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value("x", type, list(extents))], [value("y", TensorProto.FLOAT, None)], list(weights))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9), file)


def node(kind: str, name: str, inputs: list = ("x",), outputs: list = ("y",), **attributes) -> onnx.NodeProto:
    return helper.make_node(kind, list(inputs), list(outputs), name, **attributes)


@pytest.fixture
def files(tenon, tmp_path: Path) -> dict:
    """What the words of the cases stand for, made when a case names it."""

    def plan(name: str, *flags: str) -> Path:
        write_model(tmp_path / "m.onnx", 2, 1000 if flags else 4)
        tenon("build", "m.onnx", "-o", name, *flags, *CPU)
        return tmp_path / name

    def changed(name: str, place: int) -> str:
        data = bytearray(plan(name).read_bytes())
        data[place] ^= 0x10
        (tmp_path / name).write_bytes(data)
        return name

    def garbage(name: str) -> str:
        (tmp_path / name).write_bytes(b"no model, no plan, no cache " * 40)
        return name

    def without_weights(name: str) -> str:
        weights = numpy_helper.from_array(np.ones(4, np.float32), "w")
        weights.ClearField("raw_data")
        weights.data_location = TensorProto.EXTERNAL
        weights.external_data.add(key="location", value="gone.bin")
        save(tmp_path / name, [node("Mul", "mul", ["x", "w"])], [weights])
        return name

    def saved(name: str, *args, **kwargs) -> str:
        save(tmp_path / name, *args, **kwargs)
        return name

    def text(name: str, content: str) -> str:
        (tmp_path / name).write_text(content)
        return name

    def gpu_plan() -> str:
        """Of a GPU that is described, and not here."""
        write_model(tmp_path / "m.onnx", 2)
        (tmp_path / "gpu.txt").write_text(H200)
        tenon("build", "m.onnx", "-o", "gpu.plan", "--deviceDescription=gpu.txt")
        return "gpu.plan"

    def outer_product() -> str:
        value = helper.make_tensor_value_info
        graph = helper.make_graph([node("MatMul", "outer", ["x", "z"])], "g",
                                  [value("x", TensorProto.FLOAT, ["n", 1]), value("z", TensorProto.FLOAT, [1, "m"])],
                                  [value("y", TensorProto.FLOAT, None)])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "outer.onnx")
        return "outer.onnx"

    conv = numpy_helper.from_array(np.ones((8, 3, 3, 3), np.float32), "w")
    wide = numpy_helper.from_array(np.ones(5, np.float32), "w")
    zeros = numpy_helper.from_array(np.zeros(4, np.int32), "w")
    return {
        "MODEL": lambda: write_model(tmp_path / "m.onnx", 2).name, "OTHER": lambda: write_model(tmp_path / "o.onnx", 3).name,
        "CONV": lambda: saved("conv.onnx", [node("Conv", "conv", ["x", "w"])], [conv], [1, 3, 32, 32]),
        "BY_ZERO": lambda: saved("zero.onnx", [
            node("Cast", "whole", ["x"], ["i"], to=TensorProto.INT32), node("Mod", "mod", ["i", "w"], ["r"]),
            node("Cast", "real", ["r"], ["y"], to=TensorProto.FLOAT)], [zeros]),
        "EXPORT": lambda: text("export.json", '{"a": 1}'), "GPU_PLAN": gpu_plan, "OUTER": outer_product,
        "PLAN": lambda: plan("m.plan").name, "CARRYING": lambda: plan("c.plan", "--setPluginsToSerialize=/bin/true").name,
        "STRIPPED": lambda: plan("s.plan", "--stripAllWeights").name,
        "GARBAGE": lambda: garbage("garbage.onnx"), "GARBAGE_PLAN": lambda: garbage("garbage.plan"),
        "DAMAGED": lambda: changed("d.plan", -1), "OTHER_FORMAT": lambda: changed("f.plan", 5),
        "ODD": lambda: saved("odd.onnx", [node("Mystery", "odd")]),
        "ODD_TWICE": lambda: saved("odd2.onnx", [node("Mystery", "odd", outputs=["z"]), node("Riddle", "odder", ["z"])]),
        "OLD": lambda: saved("old.onnx", [node("Upsample", "up")], opset=5), "WITHOUT_WEIGHTS": lambda: without_weights("e.onnx"),
        "DUPLICATE": lambda: saved("dup.onnx", [node("Relu", "a"), node("Abs", "b")]),
        "STRINGS": lambda: saved("str.onnx", [node("Identity", "i")], type=TensorProto.STRING),
        "LP_NORM": lambda: saved("lp.onnx", [node("LpNormalization", "lp", p=3)]),
        "MISFIT": lambda: saved("misfit.onnx", [node("Add", "misfit", ["x", "w"])], [wide]),
        "DOUBLE": lambda: saved("double.onnx", [node("Concat", "twice", ["x", "x"], axis=0)]),
        "LOG": lambda: saved("log.onnx", [node("Sub", "nothing", ["x", "x"], ["zero"]), node("Log", "log", ["zero"])]),
    }


def test_each_error_has_a_case():
    assert sorted([*CASES, *STOPPED, *ELSEWHERE]) == sorted(TABLE)


@pytest.mark.parametrize("number", CASES)
def test_errors_show_their_number_place_and_remedy(tenon, files, number: int):
    words, piece = CASES[number]
    typed = [re.sub(r"[A-Z][A-Z_]+$", lambda m: files[m[0]]() if m[0] in files else m[0], word) for word in words]
    environment = {110: {"PATH": "/nowhere"}, 404: {**os.environ, "CUDA_VISIBLE_DEVICES": "-1"},
                   414: {**os.environ, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}}.get(number)
    chooses = number in (306, 404) or words[0] not in ("build", "run", "bench", "compare")
    device = [] if chooses else CPU
    text = tenon(*typed, *device, status=number // 100, environment=environment)
    assert f"error E-{number}: " in text and piece in text
    assert re.search(r"^  try   \S", text, re.M) and f"tenon explain E-{number}" in text


@pytest.mark.parametrize("number", STOPPED)
def test_what_ctrl_c_ends_says_so(pytestconfig, tmp_path: Path, number: int):
    if number == 305:
        write_convolutions(tmp_path / "m.onnx", 120)
        words, piece = ["build", "m.onnx"], "stopped"
    else:
        write_model(tmp_path / "m.onnx", 2)
        words, piece = ["bench", "m.onnx", "--duration=60"], "stopped before"
    process = subprocess.Popen([Path(pytestconfig.getoption("build")).resolve() / "bin/tenon", *words, *CPU], cwd=tmp_path, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=heed_interrupts)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    text = process.communicate(timeout=60)[0]
    assert f"error E-{number}: " in text and piece in text and f"tenon explain E-{number}" in text
    assert process.returncode == number // 100


@pytest.mark.parametrize("number", TABLE)
def test_errors_are_explained(tenon, number: int):
    text = tenon("explain", f"E-{number}")
    assert text.startswith(f"E-{number}  ") and "\nTry\n" in text and max(map(len, text.split("\n"))) <= 100


def test_other_files_than_timing_caches_are_not_to_be_deleted(tenon, tmp_path: Path):
    write_model(tmp_path / "m.onnx", 2)
    text = tenon("cache", "ls", "m.onnx", status=3)
    assert "'m.onnx': this is not a timing cache" in text and "delete it" not in text


def test_of_several_timing_caches_the_wrong_one_is_named(tenon, tmp_path: Path):
    write_model(tmp_path / "m.onnx", 2)
    tenon("build", "m.onnx", "--timingCacheFile=good.cache", *CPU)
    text = tenon("cache", "merge", "all.cache", "good.cache", "m.onnx", status=3)
    assert "error E-304: " in text and "'m.onnx': this is not a timing cache" in text
    (tmp_path / "notes").write_text("no cache")
    text = tenon("build", "m.onnx", "--timingCacheFile=notes", *CPU, status=3)
    assert "error E-304: " in text and "--timingCacheFile=notes: this is not a timing cache" in text


def test_the_page_of_errors_is_current(tenon):
    assert tenon("explain", "--markdown").strip() == (SOURCE / "docs/errors.md").read_text().strip()


def test_instruction_sets_are_limited_by_name(trtexec, monkeypatch, tmp_path: Path):
    write_model(tmp_path / "m.onnx", 2)
    monkeypatch.setenv("TENON_CPU_ISA", "avx3")
    assert "TENON_CPU_ISA is 'avx3', which is none of generic, avx2" in trtexec("--onnx=m.onnx", passes=False)
    monkeypatch.setenv("TENON_CPU_ISA", "generic")
    assert "(used up to generic: TENON_CPU_ISA)" in trtexec("--onnx=m.onnx")

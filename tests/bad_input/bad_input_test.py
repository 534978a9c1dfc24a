"""Bad input gives one clear error, the exit status 1 and no crash. Run by ctest, or:
pytest tests/bad_input --build build/release [-k external]"""
import signal
import subprocess
import sys
import time
from pathlib import Path

import onnx
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from bad_models import CASES  # noqa: E402
import make_corpus  # noqa: E402
from worker_client import Worker, WorkerError  # noqa: E402

SECONDS = 60


@pytest.fixture(scope="session")
def build(pytestconfig) -> Path:
    return Path(pytestconfig.getoption("build")).resolve()


def trtexec(build: Path, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([build / "bin/trtexec", *arguments], capture_output=True, text=True, errors="replace",
                          timeout=SECONDS, stdin=subprocess.DEVNULL)


def check_refused(done: subprocess.CompletedProcess, mentioned) -> None:
    errors = [line for line in done.stderr.splitlines() if "] [E] " in line]
    print("\n".join(errors) or done.stderr[-2000:])
    assert done.returncode == 1, f"status {done.returncode}"
    assert errors, "no error was printed"
    assert "&&&& FAILED TensorRT.trtexec" in done.stdout
    assert any(word.lower() in " ".join(errors).lower() for word in mentioned), f"the error mentions none of {mentioned}"


@pytest.mark.parametrize("name", CASES)
def test_model(name: str, build: Path, tmp_path: Path):
    make, mentioned = CASES[name]
    done = trtexec(build, f"--onnx={make(tmp_path)}", "--skipInference")
    check_refused(done, mentioned)


def good_model(tmp_path: Path) -> Path:
    onnx.save(make_corpus.convolution(), tmp_path / "good.onnx")
    return tmp_path / "good.onnx"


FLAGS = {
    "unknown": (["--nonsense"], "--nonsense"),
    "unknown with a value": (["--nonsense=3"], "--nonsense 3"),
    "word": (["nonsense"], "nonsense"),
    "value for a flag": (["--fp16=yes"], "--fp16"),
    "no value": (["--iterations"], "--iterations"),
    "no number": (["--iterations=ten"], "--iterations"),
    "out of range": (["--infStreams=0"], "--infStreams"),
    "percentile": (["--percentile=101"], "--percentile"),
    "word outside the set": (["--profilingVerbosity=loud"], "--profilingVerbosity"),
    "wrong input": (["--shapes=nothing:1x2x5x5"], "nothing"),
    "wrong rank": (["--shapes=x:1x2x5"], "x"),
    "wrong extent": (["--shapes=x:1x3x5x5"], "x"),
    "no shape": (["--shapes=x"], "--shapes"),
    "negative extent": (["--shapes=x:-1x2x5x5"], "--shapes"),
    "min above max": (["--minShapes=x:4x2x5x5", "--optShapes=x:2x2x5x5", "--maxShapes=x:1x2x5x5"], "x"),
    "gap in profiles": (["--profile=1", "--optShapes=x:1x2x5x5"], "--profile"),
    "input file": (["--loadInputs=x:/nowhere/x.bin"], "/nowhere/x.bin"),
    "save": (["--saveEngine=/nowhere/a.plan"], "/nowhere/a.plan"),
    "save nowhere": (["--saveEngine="], "--saveEngine"),
    "export": (["--exportTimes=/nowhere/a.json"], "--exportTimes"),
    "timing cache": (["--timingCacheFile=/nowhere/cache"], "--timingCacheFile"),
    "more memory than there is": (["--shapes=x:99999999999x2x5x5"], "memory"),
    "impossible shape": (["--shapes=x:9000000000000000000x2x5x5"], "impossible"),
    "type that is not allowed": (["--layerPrecisions=*:int8", "--precisionConstraints=obey"], "--int8"),
    "format": (["--inputIOFormats=fp32:dla_linear"], "kLINEAR"),
    "both plan and model": (["--loadEngine=a.plan"], "--loadEngine"),
    "pool": (["--memPoolSize=sea:1"], "sea"),
    "size": (["--memPoolSize=workspace:-1"], "workspace"),
    "refused here": (["--safe"], "--safe"),
    "profile that is not there": (["--useProfile=3"], "--useProfile"),
}


@pytest.mark.parametrize("name", FLAGS)
def test_flag(name: str, build: Path, tmp_path: Path):
    words, mentioned = FLAGS[name]
    quick = ["--iterations=1", "--warmUp=0", "--duration=0"]
    kept = [word for word in quick if word.split("=")[0] not in {w.split("=")[0] for w in words}]
    check_refused(trtexec(build, f"--onnx={good_model(tmp_path)}", *kept, *words), [mentioned])


@pytest.fixture
def plan(build: Path, tmp_path: Path) -> bytes:
    file = tmp_path / "good.plan"
    done = trtexec(build, f"--onnx={good_model(tmp_path)}", f"--saveEngine={file}", "--skipInference")
    assert done.returncode == 0, done.stderr
    return file.read_bytes()


def loads(worker: Worker, file: Path) -> bool:
    try:
        worker.ask("load", name="m", plan=str(file))
        return True
    except WorkerError as error:
        assert "the worker ended" not in str(error), error
        return False


def accepted(build: Path, tmp_path: Path, variants) -> list[str]:
    """The variants of a plan that are loaded all the same; ends where the worker does."""
    file, wrong = tmp_path / "damaged.plan", []
    with Worker(str(build / "bin/tenon"), "worker") as worker:
        for name, data in variants:
            file.write_bytes(data)
            if loads(worker, file):
                wrong.append(name)
    return wrong


def test_every_flipped_byte_of_a_plan_is_noticed(build: Path, plan: bytes, tmp_path: Path):
    def variants():
        for i in range(len(plan)):
            yield f"byte {i}", plan[:i] + bytes([plan[i] ^ 0x5A]) + plan[i + 1 :]

    print(f"{len(plan)} bytes")
    assert accepted(build, tmp_path, variants()) == []


def test_every_truncation_of_a_plan_is_noticed(build: Path, plan: bytes, tmp_path: Path):
    assert accepted(build, tmp_path, ((f"{n} bytes", plan[:n]) for n in range(len(plan)))) == []


def test_appended_bytes_are_noticed(build: Path, plan: bytes, tmp_path: Path):
    assert accepted(build, tmp_path, [("one more", plan + b"\0"), ("a page more", plan + bytes(4096))]) == []


def test_a_damaged_timing_cache(build: Path, tmp_path: Path):
    model, cache = good_model(tmp_path), tmp_path / "cache"
    done = trtexec(build, f"--onnx={model}", f"--timingCacheFile={cache}", "--skipInference")
    assert done.returncode == 0, done.stderr
    whole = cache.read_bytes()
    for size in (1, 7, 20, len(whole) // 2, len(whole) - 1):
        cache.write_bytes(whole[:size])
        check_refused(trtexec(build, f"--onnx={model}", f"--timingCacheFile={cache}", "--skipInference"), ["timing cache"])
        assert cache.read_bytes() == whole[:size]


def slow_model(tmp_path: Path) -> Path:
    """A chain of products of different sizes, each of which is measured."""
    sizes = [512 + 24 * i for i in range(25)]
    nodes = [onnx.helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(24)]
    weights = [onnx.helper.make_tensor(f"w{i}", onnx.TensorProto.FLOAT, sizes[i : i + 2], bytes(4 * sizes[i] * sizes[i + 1]), raw=True)
               for i in range(24)]
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [384, size])
            for name, size in (("x0", sizes[0]), ("x24", sizes[24]))]
    graph = onnx.helper.make_graph(nodes, "slow", ends[:1], ends[1:], weights)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), tmp_path / "slow.onnx")
    return tmp_path / "slow.onnx"


@pytest.fixture(scope="module")
def slow_build_seconds(build: Path, tmp_path_factory: pytest.TempPathFactory) -> float:
    """How long its build takes behind the parser."""
    model = slow_model(tmp_path_factory.mktemp("whole"))
    command = [build / "bin/trtexec", f"--onnx={model}", "--builderOptimizationLevel=5", "--skipInference"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as program:
        next(line for line in program.stdout if "Finished parsing" in line)
        start = time.monotonic()
        assert "&&&& PASSED" in program.stdout.read()
    return time.monotonic() - start


def interrupted(command: list, seconds: float) -> str | None:
    """What a build prints that is interrupted so long behind the parser; None where it was over before."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as program:
        next(line for line in program.stdout if "Finished parsing" in line)
        time.sleep(seconds)
        if program.poll() is not None:
            return None
        program.send_signal(signal.SIGINT)
        start = time.monotonic()
        rest = program.stdout.read()
        if "&&&& PASSED" in rest:
            return None
        assert program.wait(SECONDS) == 1
        assert time.monotonic() - start < 10  # Kernels in work are finished first.
    return rest


def test_an_interrupt_behind_the_build_is_too_late(build: Path, tmp_path: Path):
    """The plan is there, and nothing else was asked for."""
    plan = tmp_path / "new.plan"
    command = [build / "bin/trtexec", f"--onnx={slow_model(tmp_path)}", f"--saveEngine={plan}", "--builderOptimizationLevel=0",
               "--skipInference"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as program:
        next(line for line in program.stdout if "Engine built in" in line)
        program.send_signal(signal.SIGINT)
        assert "&&&& PASSED" in program.stdout.read()
        assert program.wait(SECONDS) == 0
    assert plan.read_bytes().startswith(b"ftrt")


@pytest.mark.parametrize("share", [0, 0.1, 0.3, 0.6])
def test_an_interrupted_build_leaves_nothing_behind(share: float, slow_build_seconds: float, build: Path, tmp_path: Path):
    model = slow_model(tmp_path)
    plan, cache = tmp_path / "old.plan", tmp_path / "new.cache"
    command = [build / "bin/trtexec", f"--onnx={model}", f"--saveEngine={plan}", f"--timingCacheFile={cache}",
               "--builderOptimizationLevel=5", "--skipInference"]
    rest = None
    for part in (1, 1 / 2, 1 / 4, 0):  # Beside other work a build may have taken longer when it was timed.
        plan.write_text("as it was")
        cache.unlink(missing_ok=True)
        rest = interrupted(command, share * part * slow_build_seconds)
        if rest is not None:
            break
    assert rest is not None and "&&&& FAILED" in rest, rest
    # Times that were measured so far are kept.
    assert {file.name for file in tmp_path.iterdir()} - {"new.cache"} == {"old.plan", "slow.onnx"}
    assert plan.read_text() == "as it was"


def test_no_plan(build: Path, tmp_path: Path):
    (tmp_path / "text.plan").write_text("this is not a plan")
    check_refused(trtexec(build, f"--loadEngine={tmp_path / 'text.plan'}"), ["plan"])
    check_refused(trtexec(build, f"--loadEngine={tmp_path / 'none.plan'}"), ["none.plan"])
    check_refused(trtexec(build, f"--loadEngine={tmp_path / 'text.plan'}", "--getPlanVersionOnly"), ["text.plan"])


def test_the_plan_version_is_read_without_loading(build: Path, plan: bytes, tmp_path: Path):
    (tmp_path / "head.plan").write_bytes(plan[:32])
    done = trtexec(build, f"--loadEngine={tmp_path / 'head.plan'}", "--getPlanVersionOnly")
    assert done.returncode == 0
    assert "10." in done.stdout

"""Names of any bytes: output and files are UTF-8 without control characters. Run by ctest, or:
pytest tests/bad_input/names_test.py --build build/release"""
import json
import re
import subprocess
from pathlib import Path

import pytest
from bad_input_test import build, trtexec  # noqa: F401
from make_corpus import model, tensor, weights
from onnx import helper

# Clears a terminal, colours it, renames its window; no UTF-8; cut off.
NAMES = {"escape": b"\x1b[2J\x1b[31mred\x1b]0;title\x07", "c1": b"\xc2\x9b31mred", "bytes": b"\xff\xfe\x80", "cut": b"layer\xc3"}


def save(folder: Path, name: bytes) -> Path:
    """The name stands for layer, weights and output, which Python's protobuf would refuse."""
    mark = "N" * len(name)
    nodes = [helper.make_node("MatMul", ["x", f"w{mark}"], [f"p{mark}"], f"product{mark}"),
             helper.make_node("Softmax", [f"p{mark}"], [f"y{mark}"], f"softmax{mark}", axis=-1)]
    proto = model(nodes, [tensor("x", [2, 4])], [tensor(f"y{mark}", [2, 4])], [weights(f"w{mark}", 4, 4)])
    (folder / "model.onnx").write_bytes(proto.SerializeToString().replace(mark.encode(), name))
    return folder / "model.onnx"


def check_clean(data: bytes) -> None:
    text = data.decode("utf-8")  # Fails where it is none.
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text), repr(text[-2000:])


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("verbosity", ["detailed", "layer_names_only"])
def test_what_is_printed_and_written_is_clean(kind: str, verbosity: str, build: Path, tmp_path: Path):
    file = save(tmp_path, NAMES[kind])
    written = [tmp_path / name for name in ("layers.json", "profile.json", "output.json")]
    done = subprocess.run([build / "bin/trtexec", f"--onnx={file}", "--device=-1", "--iterations=2", "--warmUp=0", "--duration=0",
                           f"--profilingVerbosity={verbosity}", "--dumpLayerInfo", "--dumpProfile", "--dumpOutput", "--verbose",
                           f"--exportLayerInfo={written[0]}", f"--exportProfile={written[1]}", f"--exportOutput={written[2]}"],
                          capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr[-2000:]
    check_clean(done.stdout)
    check_clean(done.stderr)
    for path in written:  # For programs: names as they are, as far as they are text.
        json.loads(path.read_bytes().decode("utf-8"))
    assert "softmax" in written[0].read_text()


@pytest.mark.parametrize("name", [b"\0abc", b"a\0bc"])
def test_outputs_that_no_text_names_are_refused(name: bytes, build: Path, tmp_path: Path):
    """Beforehand they ended as: the engine has no tensor ''."""
    done = subprocess.run([build / "bin/trtexec", f"--onnx={save(tmp_path, name)}", "--device=-1"], capture_output=True, timeout=60)
    assert done.returncode == 1
    assert b"holds a zero byte" in done.stderr and b"has no tensor" not in done.stderr
    check_clean(done.stdout)
    check_clean(done.stderr)


@pytest.mark.parametrize("kind", NAMES)
def test_errors_about_such_names_are_clean(kind: str, build: Path, tmp_path: Path):
    file = save(tmp_path, NAMES[kind])
    file.write_bytes(file.read_bytes().replace(b"Softmax", b"Softmix"))
    done = subprocess.run([build / "bin/trtexec", f"--onnx={file}", "--device=-1"], capture_output=True, timeout=60)
    assert done.returncode == 1
    assert b"Softmix" in done.stderr
    check_clean(done.stdout)
    check_clean(done.stderr)

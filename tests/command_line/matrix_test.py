"""Every subcommand of tenon by what a stranger gives it: no words, no file, files of another kind, outputs that take nothing, other
terminals. One table says how each ends; an end with an error names what, where and what to try, and nothing crashes."""
import os
import re
import subprocess
from pathlib import Path

import pytest
from command_line_test import write_model
from terminal import on_a_terminal

# The words of each subcommand; FILE is what the table's column says.
COMMANDS = {
    "build": ["build", "FILE", "-o", "out.plan"],
    "run": ["run", "FILE"],
    "bench": ["bench", "FILE", "--duration=0", "--iterations=1", "--warmUp=0"],
    "inspect": ["inspect", "FILE", "--nodes"],
    "optimize": ["optimize", "FILE", "-o", "out.onnx"],
    "why": ["why", "FILE", "*"],
    "cache": ["cache", "ls", "FILE"],
    "compare": ["compare", "FILE", "FILE"],
    "check": ["check", "FILE"],
    "quantize": ["quantize", "FILE", "-o", "out.onnx"],
    "report": ["report", "FILE"],
    "nan-hunt": ["nan-hunt", "FILE"],
    "debug": ["debug", "precision", "FILE", "--bf16"],
    "explain": ["explain", "FILE"],
}
ON_A_DEVICE = ["build", "run", "bench", "optimize", "why", "compare", "report", "debug"]

# 0: done; else the number of the error, whose first digit is the exit status.
TABLE = """
            missing  empty  folder  model  plan  json  garbage  cut-model  cut-plan  missing.plan
build           201    202     201      0   112   202      202        202       112           201
run             201    202     201      0     0   202      202        202       402           410
bench           201    202     201      0     0   202      202        202       402           410
inspect         201    202     201      0     0   202      202        202       402           410
optimize        201    202     201      0   112   202      202        202       112           201
why             201    202     201      0     0   202      202        202       402           410
cache           410    304     410    304   304   304      304        304       304           410
compare         201    202     201      0     0   202      202        202       402           410
check           201    202     201      0   112   202      202        202       112           201
quantize        201    202     201      0   112   202      202        202       112           201
report          410    401     410    401     0   413      401        401       402           410
nan-hunt        201    202     201      0   112   202      202        202       112           201
debug           201    202     201      0   112   202      202        202       112           201
explain         109    109     109    109   109   109      109        109       109           109
"""


def rows() -> dict[tuple[str, str], int]:
    head, *lines = [line.split() for line in TABLE.strip().split("\n")]
    return {(line[0], column): int(number) for line in lines for column, number in zip(head, line[1:], strict=True)}


@pytest.fixture(scope="module")
def program(pytestconfig) -> Path:
    return Path(pytestconfig.getoption("build")).resolve() / "bin/tenon"


@pytest.fixture(scope="module")
def kinds(program: Path, tmp_path_factory) -> Path:
    """A folder with a file of each kind, by the column's name."""
    folder = tmp_path_factory.mktemp("kinds")
    write_model(folder / "model", 2, 1000)
    subprocess.run([program, "build", "model", "-o", "plan", "--device=-1"], cwd=folder, check=True, capture_output=True)
    (folder / "empty").write_bytes(b"")
    (folder / "folder").mkdir()
    (folder / "json").write_text('{"a": 1}')
    (folder / "garbage").write_bytes(b"no model, no plan, no cache " * 40)
    for name in ("model", "plan"):
        whole = (folder / name).read_bytes()
        (folder / f"cut-{name}").write_bytes(whole[:len(whole) // 2])
    return folder


def run(program: Path, folder: Path, words: list[str], **settings) -> subprocess.CompletedProcess:
    command = [program, *words, *(["--device=-1"] if words and words[0] in ON_A_DEVICE else [])]
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **settings}
    done = subprocess.run(command, cwd=folder, text=True, timeout=60, **settings)
    print(command[1:], done.returncode, (done.stdout or "")[-1500:], (done.stderr or "")[-1500:])
    return done


def number_of(done: subprocess.CompletedProcess) -> int:
    """Of the one error, which is complete and fits the exit status; 0 where there is none."""
    text = done.stdout + done.stderr
    assert done.returncode in range(6)
    numbers = re.findall(r"error E-(\d{3}): \S", text)
    assert len(numbers) == (1 if done.returncode else 0)
    if not numbers:
        return 0
    assert int(numbers[0]) // 100 == done.returncode
    assert re.search(r"^  what  \S", text, re.M) and re.search(r"^  try   \S", text, re.M) and f"tenon explain E-{numbers[0]}" in text
    return int(numbers[0])


@pytest.mark.parametrize("command, column", rows())
def test_files_of_each_kind(program, kinds, tmp_path: Path, command: str, column: str):
    words = [str(kinds / column) if word == "FILE" else word for word in COMMANDS[command]]
    done = run(program, tmp_path, words)
    assert number_of(done) == rows()[command, column]
    if done.returncode:
        assert column in done.stdout + done.stderr or words[0] in ("cache", "inspect", "run", "bench", "why", "compare", "report")
        assert not any((tmp_path / name).exists() for name in ("out.plan", "out.onnx"))


def test_the_table_has_each_subcommand(program):
    listed = re.findall(r"^  ([a-z-]+) {2,}\S", subprocess.run([program], capture_output=True, text=True).stdout, re.M)
    assert {row for row, _ in rows()} | {"exec", "worker"} == set(listed)


@pytest.mark.parametrize("command", [*COMMANDS, "worker"])
def test_without_words_and_with_help(program, tmp_path: Path, command: str):
    number = number_of(run(program, tmp_path, [command])) if command != "worker" else 107
    assert number == (0 if command == "explain" else 107)
    pages = [run(program, tmp_path, words) for words in ([command, "--help"], [command, "-h"], ["help", command])]
    assert all(page.returncode == 0 and f"usage: tenon {command}" in page.stdout and not page.stderr for page in pages)
    assert pages[0].stdout == pages[1].stdout == pages[2].stdout


# A flag that is nearly one, and the one that is meant.
NEAR_MISSES = {
    "build": ("--shape=x:4", "--shapes"), "run": ("--tolerence=1", "--tolerance"), "bench": ("--layer", "--layers"),
    "inspect": ("--node", "--nodes"), "optimize": ("--disablePas=x", "--disablePass"), "why": ("--al", "--all"),
    "cache": ("--devices=x", "--device"), "compare": ("--tensor", "--tensors"), "check": ("--dynamicPlugin=x", "--dynamicPlugins"),
    "quantize": ("--quantise_mode=int8", "--quantize_mode"), "report": ("--markdwn=x", "--markdown"),
    "nan-hunt": ("--loadInput=x", "--loadInputs"), "debug": ("--tolerence=1", "--tolerance"), "explain": ("--markdow", "--markdown"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_flags_that_are_nearly_one(program, kinds, tmp_path: Path, command: str):
    typed, meant = NEAR_MISSES[command]
    done = run(program, tmp_path, [str(kinds / "model") if word == "FILE" else word for word in COMMANDS[command]] + [typed])
    assert number_of(done) == 102 and re.search(rf"{typed} is no flag of .*did you mean {meant}\b", re.sub(r"\s+", " ", done.stderr))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_behind_standard_output(program, kinds, tmp_path: Path, command: str):
    file = kinds / ("plan" if command in ("report", "why") else "model")
    words = [str(file) if word == "FILE" else word for word in COMMANDS[command]]
    with open("/dev/full", "w") as full:
        done = run(program, tmp_path, ["explain"] if command == "explain" else words, stdout=full)
    assert done.returncode == (3 if command == "cache" else 1)


# Flags that write, with OUT in place of the file.
OUTPUTS = [
    ["build", "model", "-o", "OUT"], ["build", "model", "-o", "x.plan", "--progressLog=OUT"],
    ["build", "model", "-o", "x.plan", "--timingCacheFile=OUT"], ["optimize", "model", "-o", "OUT"], ["inspect", "plan", "--json=OUT"],
    ["run", "plan", "--exportOutput=OUT"], ["run", "model", "-o", "OUT"], ["bench", "plan", "--duration=0", "--exportReport=OUT"],
    ["bench", "plan", "--duration=0", "--html=OUT"], ["bench", "plan", "--duration=0", "--exportTimes=OUT"],
    ["report", "plan", "--html=OUT", "--duration=0"], ["report", "plan", "--json=OUT", "--duration=0"],
    ["report", "plan", "--timeline=OUT", "--duration=0"], ["quantize", "model", "-o", "OUT"], ["cache", "merge", "OUT", "times", "times"],
]


@pytest.mark.parametrize("words", OUTPUTS, ids=" ".join)
def test_outputs(program, kinds, tmp_path: Path, words: list[str]):
    for name in ("model", "plan"):
        (tmp_path / name).write_bytes((kinds / name).read_bytes())
    run(program, tmp_path, ["build", "model", "-o", "p", "--timingCacheFile=times"])

    def ends(out: str) -> int:
        return number_of(run(program, tmp_path, [word.replace("OUT", out) for word in words]))
    a_cache = any("Cache" in word or word == "cache" for word in words)
    assert ends("none/out") == 108
    assert ends(str(kinds / "folder")) == 108
    if not a_cache:
        assert ends("/dev/full") == 108
    (tmp_path / "out").write_bytes(b"" if a_cache else b"old")
    assert ends("out") == 0 and (tmp_path / "out").read_bytes() not in (b"", b"old")


def widest(text: str) -> int:
    return max(len(re.sub(r"\x1b\[[0-9;]*[mK]", "", line)) for line in re.split(r"[\r\n]+", text))


@pytest.mark.parametrize("columns", [40, 200])
def test_pages_are_as_wide_as_the_terminal(program, kinds, tmp_path: Path, columns: int):
    terminal = {**os.environ, "TERM": "xterm"}
    status, text = on_a_terminal(program, tmp_path, ["explain", "E-501"], columns, terminal)
    assert status == 0 and (widest(text) <= 40 if columns == 40 else 96 < widest(text) <= 120)
    status, text = on_a_terminal(program, tmp_path, ["build", "none.onnx"], columns, terminal)
    assert status == 2 and widest(text) <= max(columns, 60)
    shown = on_a_terminal(program, tmp_path, ["inspect", str(kinds / "plan"), "--nodes"], columns, terminal)[1]
    table = re.split("Layers in their order", shown)[1]
    assert widest(table) <= columns
    help = on_a_terminal(program, tmp_path, ["build", "--help"], columns, terminal)[1]
    flags = help.split("Flags\r\n")[1]
    assert 96 < widest(flags) <= 120 if columns == 200 else widest(flags.split("Flags without")[0]) <= 60


def test_colors_are_left_out_where_they_are_not_wanted(program, kinds, tmp_path: Path):
    words = ["inspect", str(kinds / "model")]
    assert "\x1b[1m" in on_a_terminal(program, tmp_path, words, 96, {**os.environ, "TERM": "xterm", "NO_COLOR": ""})[1]
    for setting in ({"NO_COLOR": "1", "TERM": "xterm"}, {"TERM": "dumb"}):
        assert "\x1b" not in on_a_terminal(program, tmp_path, words, 96, {**os.environ, **setting})[1]


def test_the_version_and_words_that_are_no_subcommand(program, tmp_path: Path):
    for words in (["--version"], ["-V"], ["version"]):
        assert re.fullmatch(r"tenon \d+\.\d+\.\d+, TensorRT 10\.\d+\.\d+\.\d+\n", run(program, tmp_path, words).stdout)
    for words in (["--verbose"], ["help", "buidl"], ["buidl"]):
        assert number_of(run(program, tmp_path, words)) == 101


def test_wrong_values_are_told_before_the_model_is_read(program, tmp_path: Path):
    """The model is missing, which would be the first error otherwise."""
    for flag in ("--budget=never", "--memPoolSize=workspace:x", "--disablePass=none", "--tacticSources=+X", "--dump=x", "--inputIOFormats=x",
                 "--avgRuns=0", "--preview=x"):
        done = run(program, tmp_path, ["build", "none.onnx", flag])
        assert number_of(done) == 104 and (flag.split("=")[0] in done.stderr or f"'{flag.split('=')[1]}'" in done.stderr)

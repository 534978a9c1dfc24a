"""Reports of bert_base and yolo_s and a comparison of two precisions, made here on the CPU and before on a GPU (the JSON in
gpu/), opened and used in headless Chromium at two widths, light and dark. Run by ctest, or:
pytest tests/browser --build build/release --models build/models"""
import gzip
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from browser import NARROW, WIDE, Page, missing  # noqa: E402
from instruction_set import instruction_set  # noqa: E402
from worker_client import materialized, shapes_text  # noqa: E402

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "there is a browser")

QUICK = ["--device=-1", "--iterations=3", "--warmUp=0", "--duration=0", "--builderOptimizationLevel=2"]
# 1,000 nodes may take so many bytes.
MOST_BYTES = 2 << 20


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=900, stdin=subprocess.DEVNULL)
    print(done.stdout[-2000:], done.stderr[-2000:])
    assert done.returncode == 0


def programs(pytestconfig) -> Path:
    return Path(pytestconfig.getoption("build")).resolve() / "bin"


def cpu_reports(pytestconfig, folder: Path) -> None:
    models = Path(pytestconfig.getoption("models")).resolve()
    for name, case, *flags in (("bert_base", "bert_base"), ("yolo_s", "yolo_s"), ("yolo_s", "yolo_s_16", "--fp16")):
        model = materialized(name, models)
        run(programs(pytestconfig) / "trtexec", f"--onnx={model}", f"--shapes={shapes_text(model, 1)}", *QUICK, *flags,
            f"--html={folder / case}.html", f"--exportReport={folder / case}.json")


def gpu_report(pytestconfig, folder: Path, case: str) -> None:
    """The page of a report that was made on a GPU; its JSON is kept here."""
    packed = Path(__file__).parent / "gpu" / f"{case}.json.gz"
    (folder / f"{case}.json").write_bytes(gzip.decompress(packed.read_bytes()))
    run(programs(pytestconfig) / "tenon", "report", folder / f"{case}.json", f"--html={folder / case}.html")


@pytest.fixture(scope="session", params=["cpu", "gpu"])
def reports(request, pytestconfig, tmp_path_factory) -> dict[str, Path]:
    """Pages by name."""
    folder = tmp_path_factory.mktemp(request.param)
    cases = ("bert_base", "yolo_s", "yolo_s_16")
    if request.param == "cpu":
        cpu_reports(pytestconfig, folder)
    else:
        for case in cases:
            gpu_report(pytestconfig, folder, case)
    pages = {case: folder / f"{case}.html" for case in (*cases, "compare")}
    run(programs(pytestconfig) / "tenon", "report", folder / "yolo_s_16.json", folder / "yolo_s.json", f"--html={pages['compare']}")
    return pages


@pytest.fixture(scope="session", params=[(WIDE, False), (WIDE, True), (NARROW, False), (NARROW, True)],
                ids=["wide light", "wide dark", "narrow light", "narrow dark"])
def page(request):
    size, dark = request.param
    with Page(size, dark) as made:
        made.dark, made.size = dark, size
        yield made


def figures(page: Page, column: int) -> list[str]:
    return page.texts(f"main table.data tbody tr td:nth-child({column})")


@pytest.mark.parametrize("name", ["bert_base", "yolo_s"])
def test_every_view_opens_without_an_error(page, reports, name):
    assert reports[name].stat().st_size < MOST_BYTES
    page.open(reports[name])
    for view in ("summary", "time", "graph", "fusions", "tactics", "memory", "accuracy", "build"):
        page.tab(view)
        assert page.all("main .panel"), view
        assert page.one(f"#tab-{view}").get_attribute("aria-selected") == "true"
        # Nothing is wider than the page, and no text of a chart is cut.
        assert page.run("""return [...document.querySelectorAll('svg.chart text')].filter((text) => {
            const own = text.getBoundingClientRect(), chart = text.ownerSVGElement.getBoundingClientRect();
            return own.left < chart.left - 1 || own.right > chart.right + 1;
        }).map((text) => text.textContent)""") == [], view
        assert page.run("return document.documentElement.scrollWidth") <= page.size[0], view
    assert page.errors() == []


def test_the_color_scheme_is_followed_and_toggled(page, reports):
    page.open(reports["yolo_s"])
    right = "return document.querySelector(arguments[0]).getBoundingClientRect().right"
    assert abs(page.run(right, "#theme") - page.run(right, "main .cards")) < 3
    theme = "return document.documentElement.dataset.theme"
    assert page.run(theme) == ("dark" if page.dark else "light")
    page.one("#theme").click()
    assert page.run(theme) == ("light" if page.dark else "dark")


def write_planted(file: Path) -> None:
    """A network with a value of many readers, and an offset that 16 bits have no digits beside."""
    random, weights, nodes = np.random.default_rng(0), [], []

    def node(op: str, name: str, *inputs: str, weight=None, **attributes) -> str:
        if weight is not None:
            weights.append(numpy_helper.from_array(np.asarray(weight, np.float32), f"{name}_w"))
            inputs = (*inputs, f"{name}_w")
        nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    value = node("Relu", "stem_relu", node("Conv", "stem", "x", weight=random.normal(0, 0.1, (32, 3, 3, 3)), pads=[1] * 4))
    branch = node("Conv", "branch", value, weight=random.normal(0, 0.06, (32, 32, 3, 3)), pads=[1] * 4)
    value = node("Mul", "gated", node("Sigmoid", "gate", branch), node("MaxPool", "pooled", branch, kernel_shape=[3, 3], pads=[1] * 4))
    value = node("Add", "offset", value, weight=np.full((1, 32, 1, 1), 3000))
    cancelling = random.normal(0, 0.06, (32, 32, 1, 1))
    value = node("Conv", "cancels", value, weight=cancelling - cancelling.mean(axis=1, keepdims=True))
    node("GlobalAveragePool", "y", node("Relu", "last_relu", value))
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "planted", [info("x", TensorProto.FLOAT, [1, 3, 96, 96])],
                              [info("y", TensorProto.FLOAT, [1, 32, 1, 1])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), file)


@pytest.fixture(scope="session", params=["cpu", "gpu"])
def planted(request, pytestconfig, tmp_path_factory) -> Path:
    """The report of that network, in half precision."""
    folder = tmp_path_factory.mktemp(f"planted_{request.param}")
    if request.param == "gpu":
        gpu_report(pytestconfig, folder, "planted")
    else:
        write_planted(folder / "planted.onnx")
        run(programs(pytestconfig) / "tenon", "bench", folder / "planted.onnx", "--device=-1", "--fp16", "--selfCheckRegions",
            "--iterations=10", "--warmUp=0", "--duration=0", f"--html={folder / 'planted.html'}",
            f"--exportReport={folder / 'planted.json'}")
    return folder / "planted.html"


# Each of a newcomer's questions is to be answered within so many seconds, of which reading takes most.
PATIENCE = 120


def test_a_newcomer_has_three_answers_on_the_first_page(page, planted):
    start = time.monotonic()
    page.open(planted)
    report = json.loads(planted.with_suffix(".json").read_text())
    text = page.one("main").text
    slowest = max(report["layers"], key=lambda layer: layer.get("ms", 0))["name"]
    assert page.one(".slowest li").text.startswith(slowest)
    assert "is not fused with 'branch'" in text and "is read by 'pooled' too" in text
    if {"BF16", "FP16"} & set(report["got"]):  # Processors without 16-bit arithmetic lose nothing.
        assert "'cancels + last_relu' loses accuracy" in text
        assert "away from fp32" in page.one(".chip.warn").text
    page.one(".slowest button").click()
    assert slowest in page.one("#drawer").text
    assert page.errors() == []
    assert time.monotonic() - start < PATIENCE


def test_a_newcomer_finds_each_answer_in_one_view(page, planted):
    """By the names of the views alone: the slowest operator, a fusion that failed, the layer that lost accuracy."""
    report = json.loads(planted.with_suffix(".json").read_text())
    start = time.monotonic()
    page.open(planted)
    page.tab("time")
    page.run("const s = document.getElementById('group'); s.value = 'operator'; s.dispatchEvent(new Event('change'))")
    totals = {}
    for layer in report["layers"]:
        kind = layer.get("kind", "").split("(")[-1].rstrip(")").lower()
        totals[kind] = totals.get(kind, 0) + layer.get("ms", 0)
    assert figures(page, 1)[0].strip() == max(totals, key=totals.get)
    page.tab("fusions")
    reasons = " ".join(page.texts("main table.data tbody td"))
    assert "is read by 'pooled' too" in reasons
    page.tab("accuracy")
    if {"BF16", "FP16"} & set(report["got"]):
        assert figures(page, 1)[0] == "cancels + last_relu"
    assert page.errors() == []
    assert time.monotonic() - start < PATIENCE


@pytest.mark.parametrize("name", ["bert_base", "yolo_s"])
def test_tables_sort_and_search(page, reports, name):
    page.open(reports[name], "time")
    layers = json.loads(reports[name].with_suffix(".json").read_text())["layers"]
    timed = [layer for layer in layers if layer.get("ms", 0) > 0]
    slowest = max(timed, key=lambda layer: layer["ms"])
    names = figures(page, 1)
    assert len(names) == len(timed) and names[0] == slowest["name"]
    page.one("main th:nth-child(1) button").click()
    assert figures(page, 1)[0] != names[0] or len(names) == 1
    word = slowest["name"].split(" ")[0]
    page.one("main .search").send_keys(word)
    found = figures(page, 1)
    assert 0 < len(found) <= len(names) and slowest["name"] in found
    for by in ("node", "operator", "kernel", "precision"):
        page.run("const s = document.getElementById('group'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))", by)
        assert figures(page, 1), by
    assert page.errors() == []


@pytest.mark.parametrize("name", ["bert_base", "yolo_s"])
def test_a_layer_is_marked_in_both_graphs(page, reports, name):
    page.open(reports[name], "graph")
    fused = page.run("""
        const fused = DATA.layers.find((layer) => (layer.origins || []).length > 1 && layer.ms > 0);
        const node = [...document.querySelectorAll('.pane:last-child .node')].find((n) => n.dataset.layer === fused.name);
        node.dispatchEvent(new MouseEvent('click', {bubbles: true}));
        return fused""")
    drawer = page.one("#drawer")
    assert drawer.is_displayed() and fused["name"] in drawer.text
    marked = [page.run("return document.querySelectorAll(`.pane:nth-child(${arguments[0]}) .node.on`).length", side) for side in (1, 2)]
    assert marked[0] > 1 and marked[1] == 1
    assert "Tactics" in drawer.text
    page.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
    assert not drawer.is_displayed()
    assert page.errors() == []


def test_a_layer_lists_what_was_tried_and_refused(page, reports):
    page.open(reports["compare"], "tactics")
    page.one("main tbody tr").click()
    text = page.one("#drawer").text
    assert "tactics for other operators refused" in text and "undefined" not in text
    assert page.errors() == []


def test_the_buttons_of_a_large_graph_stand_side_by_side(page, reports):
    page.open(reports["yolo_s"], "graph")
    page.run("document.querySelector('.pane h3 .note').textContent = '12345 operators as they were given'")
    tops = page.run("return [...document.querySelectorAll('.pane:first-child h3 button')].map((e) => e.getBoundingClientRect().top)")
    assert len(tops) == 2 and tops[0] == tops[1]


def test_functions_of_elements_have_one_color(page, reports):
    page.open(reports["yolo_s"])
    functions = re.findall(r"^\w+\((\w+)", (ROOT / "src/ops/pointwise.def").read_text(), re.M)
    assert len(functions) > 60
    assert page.run("return arguments[0].filter((name) => familyOf(name) !== 'pointwise')", functions) == []
    assert page.run("return ['order', 'sample'].map(familyOf)") == ["other", "other"]


def test_a_comparison_shows_the_slower_first(page, reports):
    page.open(reports["compare"])
    rows = page.run("return DATA.rows.map((row) => row.slowerBy)")
    assert rows == sorted(rows, reverse=True) and len(rows) > 10
    cells = " ".join(page.texts("main td"))
    if instruction_set() == "avx512_bf16":
        assert "FP32 → BF16" in cells or "FP32 → FP16" in cells
    page.one("main tbody tr").click()
    assert "Before" in page.one("#drawer").text and "Now" in page.one("#drawer").text
    page.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
    page.tab("time")
    slowest = figures(page, 1)[0]
    page.one("#sides button[data-side=a]").click()
    assert page.one("#sides button[data-side=a]").get_attribute("aria-pressed") == "true"
    assert figures(page, 1)[0] and slowest
    assert page.errors() == []


def test_the_keyboard_is_enough(page, reports):
    page.open(reports["yolo_s"])
    body = page.one("body")
    body.send_keys("2")
    assert page.one("#tab-time").get_attribute("aria-selected") == "true"
    page.run("document.querySelector('main tbody tr').focus()")
    page.driver.switch_to.active_element.send_keys("\ue007")
    assert page.one("#drawer").is_displayed()
    page.driver.switch_to.active_element.send_keys("\ue00c")
    assert not page.one("#drawer").is_displayed()
    page.run("document.body.focus(); document.activeElement.blur()")
    body.send_keys("/")
    assert "search" in page.driver.switch_to.active_element.get_attribute("class")


def test_kernels_of_a_gpu_are_shown_with_what_they_took(page, reports):
    report = json.loads(reports["yolo_s_16"].with_suffix(".json").read_text())
    kernels = (report.get("kernels") or {}).get("kernels") or []
    page.open(reports["yolo_s_16"], "time")
    choices = page.run("return [...document.getElementById('group').options].map((option) => option.value)")
    assert ("launch" in choices) == bool(kernels) == (not report["on_cpu"])
    if not kernels:
        return
    page.run("const s = document.getElementById('group'); s.value = 'launch'; s.dispatchEvent(new Event('change'))")
    slowest = max(kernels, key=lambda kernel: kernel["ms"])
    assert len(figures(page, 1)) == len(kernels) and figures(page, 1)[0] == slowest["layer"]
    page.one("main tbody tr").click()
    text = page.one("#drawer").text
    assert "GPU kernels" in text and f"{slowest['registers']} registers" in text and "of the warps that fit" in text
    assert ("counted" in text) == ("bytesRead" in slowest)
    assert page.errors() == []

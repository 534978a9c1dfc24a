#!/usr/bin/env python3
"""Writes the ONNX backend test cases of the installed `onnx` package for tenon_onnx_suite.

    generate_cases.py OUT

OUT/cases.txt has a line a case: set, name, relative tolerance, absolute tolerance, operators, "random" where the expected
values are random numbers, and why the case cannot be written (or nothing). OUT/<set>/<case>/ holds model.onnx and data_<n>/{input,output}_<i>.pb, all tensors.
"""
import pathlib
import shutil
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test import loader
from onnx.backend.test.case.node import collect_testcases

warnings.filterwarnings("ignore")

# Expected values drawn by numpy: only their type and extents can be compared.
RANDOM = {"test_bernoulli"} | {f"test_training_dropout{kind}" for kind in ("", "_mask", "_default", "_default_mask")}


def is_random(name):
    return name in RANDOM or name.startswith("test_bernoulli_")


def operators(graph):
    found = set()
    for node in graph.node:
        found.add((node.domain + "." if node.domain else "") + node.op_type)
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                found |= operators(inner)
    return found


def element_type(kind):
    """The tensor type inside sequences and optionals."""
    while not kind.HasField("tensor_type"):
        kind = getattr(kind, kind.WhichOneof("value")).elem_type
    return kind.tensor_type.elem_type


def type_problem(graph):
    values = list(graph.input) + list(graph.output)
    return "string" if any(element_type(value.type) == onnx.TensorProto.STRING for value in values) else ""


def flattened(value, name):
    """(name, tensor) of a tensor; of a sequence's elements "name[i]"; nothing for an absent optional."""
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [(f"{name}[{i}]", element) for i, element in enumerate(value)]
    return [(name, value)]


def to_proto(value, name):
    if isinstance(value, onnx.TensorProto):
        return value
    return numpy_helper.from_array(np.asarray(value), name)


def write_data(folder, model, data_sets):
    """Tensors in order, the names of the inputs, and the lengths of lists: none where absent."""
    for number, (inputs, outputs) in enumerate(data_sets):
        data = folder / f"data_{number}"
        data.mkdir(parents=True)
        lists = []
        for kind, values, infos in (("input", inputs, model.graph.input), ("output", outputs, model.graph.output)):
            tensors = [pair for value, info in zip(values, infos) for pair in flattened(value, info.name)]
            for i, (name, value) in enumerate(tensors):
                (data / f"{kind}_{i}.pb").write_bytes(to_proto(value, name).SerializeToString())
            (data / f"{kind}s.txt").write_text("".join(name + "\n" for name, _ in tensors))
        for value, info in zip(inputs, model.graph.input):
            if value is None or isinstance(value, (list, tuple)):
                lists.append(f"{0 if value is None else len(value)}\t{info.name}\n")
        (data / "lists.txt").write_text("".join(lists))


def read_value(path, info):
    kind = info.type
    if kind.HasField("optional_type"):
        kind = kind.optional_type.elem_type
    if not kind.HasField("sequence_type"):
        return onnx.TensorProto.FromString(path.read_bytes())
    return numpy_helper.to_list(onnx.SequenceProto.FromString(path.read_bytes()))


def write_node_case(out, case):
    folder = out / "node" / case.name
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    problem = type_problem(case.model.graph)
    if not problem:
        write_data(folder, case.model, case.data_sets)
    return folder, problem


def copy_case(out, kind, case):
    source = pathlib.Path(case.model_dir)
    folder = out / kind / case.name
    folder.mkdir(parents=True)
    shutil.copy(source / "model.onnx", folder)
    model = onnx.load(str(folder / "model.onnx"))
    problem = type_problem(model.graph)
    sets = []
    for data in sorted(source.glob("test_data_set_*")):
        values = [[read_value(data / f"{name}_{i}.pb", info) for i, info in enumerate(infos)
                   if (data / f"{name}_{i}.pb").exists()]
                  for name, infos in (("input", model.graph.input), ("output", model.graph.output))]
        sets.append(values)
    if not problem:
        write_data(folder, model, sets)
    return folder, problem


def main():
    out = pathlib.Path(sys.argv[1])
    stamp = out / "version.txt"
    version = f"{onnx.__version__} {pathlib.Path(__file__).stat().st_mtime_ns}"
    if stamp.exists() and stamp.read_text() == version:
        return
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    lines = []

    def add(kind, case, folder, problem):
        used = ",".join(sorted(operators(onnx.load(str(folder / "model.onnx"), load_external_data=False).graph)))
        lines.append("\t".join([kind, case.name, repr(case.rtol), repr(case.atol), used, "random" * is_random(case.name), problem]))

    for case in collect_testcases(None):
        add("node", case, *write_node_case(out, case))
    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        for case in loader.load_model_tests(kind=kind):
            add(kind, case, *copy_case(out, kind, case))
    (out / "cases.txt").write_text("\n".join(lines) + "\n")
    stamp.write_text(version)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes the ONNX backend test cases of the installed `onnx` package for tenon_onnx_suite.

    generate_cases.py OUT

OUT/cases.txt has a line a case: set, name, relative tolerance, absolute tolerance, operators, and why the case cannot be
written (or nothing). OUT/<set>/<case>/ holds model.onnx and data_<n>/{input,output}_<i>.pb, all tensors.
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


def operators(graph):
    found = set()
    for node in graph.node:
        found.add((node.domain + "." if node.domain else "") + node.op_type)
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                found |= operators(inner)
    return found


def type_problem(graph):
    for value in list(graph.input) + list(graph.output):
        kind = value.type.WhichOneof("value")
        if kind != "tensor_type":
            return {"sequence_type": "sequence", "optional_type": "optional"}.get(kind, kind)
        if value.type.tensor_type.elem_type == onnx.TensorProto.STRING:
            return "string"
    return ""


def to_proto(value, name):
    if isinstance(value, onnx.TensorProto):
        return value
    return numpy_helper.from_array(np.asarray(value), name)


def write_data(folder, model, data_sets):
    for number, (inputs, outputs) in enumerate(data_sets):
        data = folder / f"data_{number}"
        data.mkdir(parents=True)
        for kind, values, names in (("input", inputs, model.graph.input), ("output", outputs, model.graph.output)):
            for i, value in enumerate(values):
                (data / f"{kind}_{i}.pb").write_bytes(to_proto(value, names[i].name).SerializeToString())


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
    for number, data in enumerate(sorted(source.glob("test_data_set_*"))):
        shutil.copytree(data, folder / f"data_{number}")
    return folder, type_problem(onnx.load(str(folder / "model.onnx")).graph)


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
        lines.append("\t".join([kind, case.name, repr(case.rtol), repr(case.atol), used, problem]))

    for case in collect_testcases(None):
        add("node", case, *write_node_case(out, case))
    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        for case in loader.load_model_tests(kind=kind):
            add(kind, case, *copy_case(out, kind, case))
    (out / "cases.txt").write_text("\n".join(lines) + "\n")
    stamp.write_text(version)


if __name__ == "__main__":
    main()

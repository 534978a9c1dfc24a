"""Models that must be refused: each function writes one into a folder and returns its file, and the decorator names
the words that the error must mention."""
import os
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fuzz"))
import make_corpus  # noqa: E402
from make_corpus import BOOL, FLOAT, INT64, model, tensor, weights  # noqa: E402

CASES = {}


def refuses(*mentioned: str):
    """The error must mention one of these words (in any case)."""

    def register(make):
        CASES[make.__name__] = (make, mentioned)
        return make

    return register


def save(folder: Path, proto: onnx.ModelProto) -> Path:
    (folder / "bad.onnx").write_bytes(proto.SerializeToString())
    return folder / "bad.onnx"


def unary(op: str = "Relu", **attributes) -> onnx.ModelProto:
    return model([helper.make_node(op, ["x"], ["y"], "culprit", **attributes)], [tensor("x", [4])], [tensor("y", [4])])


@refuses("empty", "no graph", "not an ONNX", "bad.onnx")
def empty_file(folder):
    (folder / "bad.onnx").write_bytes(b"")
    return folder / "bad.onnx"


@refuses("bad.onnx")
def missing_file(folder):
    return folder / "bad.onnx"


@refuses("bad.onnx")
def folder_in_place_of_a_file(folder):
    (folder / "bad.onnx").mkdir()
    return folder / "bad.onnx"


@refuses("bad.onnx", "protobuf", "ONNX")
def random_bytes(folder):
    (folder / "bad.onnx").write_bytes(np.random.default_rng(1).bytes(5000))
    return folder / "bad.onnx"


def truncated(part: float):
    def make(folder):
        whole = make_corpus.convolution().SerializeToString()
        (folder / "bad.onnx").write_bytes(whole[: int(len(whole) * part)])
        return folder / "bad.onnx"

    make.__name__ = f"truncated_at_{int(part * 100)}_percent"
    refuses("bad.onnx", "protobuf", "ONNX", "damaged", "truncated", "no ", "missing")(make)


for part in (0.02, 0.25, 0.5, 0.75, 0.99):
    truncated(part)


@refuses("cycl", "order", "one", "two")
def cycle(folder):
    nodes = [helper.make_node("Add", ["x", "b"], ["a"], "one"), helper.make_node("Relu", ["a"], ["b"], "two")]
    return save(folder, model(nodes, [tensor("x", [4])], [tensor("b", [4])]))


@refuses("x", "culprit")
def node_feeding_itself(folder):
    return save(folder, model([helper.make_node("Add", ["x", "y"], ["y"], "culprit")], [tensor("x", [4])], [tensor("y", [4])]))


def field(number: int, data: bytes) -> bytes:
    """A length-delimited protobuf field; the Python library refuses to nest as deep as is wanted here."""
    def varint(value: int) -> bytes:
        return bytes([value & 0x7F | 0x80]) + varint(value >> 7) if value > 0x7F else bytes([value])

    return varint(number << 3 | 2) + varint(len(data)) + data


def nested(name: str, levels: int):
    """If within If: the else branch of every level is the next one."""

    def make(folder):
        output = tensor("y", [4]).SerializeToString()
        relu = helper.make_node("Relu", ["x"], ["y"], "leaf").SerializeToString()
        leaf = graph = field(1, relu) + field(2, b"g") + field(12, output)
        for _ in range(levels):
            branches = b""
            for branch, inner in ((b"then_branch", leaf), (b"else_branch", graph)):
                branches += field(5, field(1, branch) + field(6, inner) + b"\xa0\x01\x05")
            node = helper.make_node("If", ["c"], ["y"], "culprit").SerializeToString() + branches
            graph = field(1, node) + field(2, b"g") + field(12, output)
        for value in (tensor("x", [4]), tensor("c", [], BOOL)):
            graph += field(11, value.SerializeToString())
        opset = helper.make_opsetid("", 18).SerializeToString()
        (folder / "bad.onnx").write_bytes(b"\x08\x09" + field(7, graph) + field(8, opset))
        return folder / "bad.onnx"

    make.__name__ = name
    refuses("deep", "nest", "depth", "protobuf", "bad.onnx")(make)


nested("thirty_graphs_deep", 30)
nested("three_thousand_graphs_deep", 3000)


def sized(name: str, dims: list[int]):
    def make(folder):
        proto = model([helper.make_node("Add", ["x", "w"], ["y"], "culprit")], [tensor("x", [4])], [tensor("y", [4])],
                      [weights("w", 4)])
        del proto.graph.initializer[0].dims[:]
        proto.graph.initializer[0].dims.extend(dims)
        return save(folder, proto)

    make.__name__ = name
    refuses("w")(make)


sized("absurd_size", [1 << 40, 1 << 20])
sized("overflowing_size", [1 << 32, 1 << 32])
sized("negative_size", [-4])
sized("more_values_than_there_are", [5])
sized("fewer_values_than_there_are", [3])


@refuses("y", "twice", "duplicate")
def two_nodes_make_one_value(folder):
    nodes = [helper.make_node("Relu", ["x"], ["y"], "one"), helper.make_node("Neg", ["x"], ["y"], "two")]
    return save(folder, model(nodes, [tensor("x", [4])], [tensor("y", [4])]))


@refuses("w", "twice", "duplicate")
def two_weights_of_one_name(folder):
    node = helper.make_node("Add", ["x", "w"], ["y"])
    return save(folder, model([node], [tensor("x", [4])], [tensor("y", [4])], [weights("w", 4), weights("w", 4)]))


@refuses("x", "twice", "duplicate")
def two_inputs_of_one_name(folder):
    node = helper.make_node("Add", ["x", "x"], ["y"])
    return save(folder, model([node], [tensor("x", [4]), tensor("x", [4])], [tensor("y", [4])]))


@refuses("y", "twice", "duplicate")
def two_outputs_of_one_name(folder):
    proto = unary()
    proto.graph.output.append(tensor("y", [4]))
    return save(folder, proto)


@refuses("y", "i64", "int64")
def output_of_another_type_than_declared(folder):
    return save(folder, model([helper.make_node("Relu", ["x"], ["y"], "culprit")], [tensor("x", [4])], [tensor("y", [4], INT64)]))


@refuses("x")
def input_of_impossible_size(folder):
    node = helper.make_node("Relu", ["x"], ["y"], "culprit")
    return save(folder, model([node], [tensor("x", [1 << 40, 1 << 40])], [tensor("y", None)]))


@refuses("culprit")
def types_that_do_not_match(folder):
    node = helper.make_node("Add", ["x", "i"], ["y"], "culprit")
    return save(folder, model([node], [tensor("x", [4]), tensor("i", [4], INT64)], [tensor("y", [4])]))


@refuses("x")
def unknown_type(folder):
    return save(folder, model([helper.make_node("Relu", ["x"], ["y"])], [tensor("x", [4], 99)], [tensor("y", [4])]))


@refuses("culprit")
def shapes_that_do_not_match(folder):
    node = helper.make_node("MatMul", ["x", "w"], ["y"], "culprit")
    return save(folder, model([node], [tensor("x", [2, 3])], [tensor("y", [2, 5])], [weights("w", 4, 5)]))


@refuses("culprit", "NoSuchOperator")
def unknown_operator(folder):
    return save(folder, unary("NoSuchOperator"))


@refuses("one", "NoSuchA")
def every_unknown_operator_is_listed(folder):
    nodes = [helper.make_node("NoSuchA", ["x"], ["a"], "one"), helper.make_node("NoSuchB", ["a"], ["y"], "two")]
    return save(folder, model(nodes, [tensor("x", [4])], [tensor("y", [4])]))


@refuses("nothing", "culprit")
def input_that_nothing_makes(folder):
    node = helper.make_node("Add", ["x", "nothing"], ["y"], "culprit")
    return save(folder, model([node], [tensor("x", [4])], [tensor("y", [4])]))


@refuses("nothing")
def output_that_nothing_makes(folder):
    return save(folder, model([helper.make_node("Relu", ["x"], ["y"])], [tensor("x", [4])], [tensor("nothing", [4])]))


@refuses("culprit")
def too_few_operands(folder):
    return save(folder, model([helper.make_node("Add", ["x"], ["y"], "culprit")], [tensor("x", [4])], [tensor("y", [4])]))


@refuses("culprit")
def attribute_of_another_type(folder):
    return save(folder, unary("Softmax", axis="one"))


@refuses("culprit")
def axis_out_of_range(folder):
    return save(folder, unary("Softmax", axis=7))


@refuses("culprit")
def wrong_convolution(folder):
    node = helper.make_node("Conv", ["x", "w"], ["y"], "culprit", kernel_shape=[3, 3], group=3)
    return save(folder, model([node], [tensor("x", [1, 2, 8, 8])], [tensor("y", None)], [weights("w", 4, 2, 3, 3)]))


@refuses("culprit")
def kernel_larger_than_the_image(folder):
    node = helper.make_node("MaxPool", ["x"], ["y"], "culprit", kernel_shape=[9, 9])
    return save(folder, model([node], [tensor("x", [1, 1, 4, 4])], [tensor("y", None)]))


@refuses("culprit")
def stride_of_zero(folder):
    node = helper.make_node("MaxPool", ["x"], ["y"], "culprit", kernel_shape=[2, 2], strides=[0, 0])
    return save(folder, model([node], [tensor("x", [1, 1, 4, 4])], [tensor("y", None)]))


@refuses("opset", "1000")
def opset_from_the_future(folder):
    proto = unary()
    proto.opset_import[0].version = 1000
    return save(folder, proto)


@refuses("opset")
def no_opset(folder):
    proto = unary()
    del proto.opset_import[:]
    return save(folder, proto)


@refuses("Again", "recurs")
def function_that_calls_itself(folder):
    f = helper.make_function("f", "Again", ["a"], ["b"], [helper.make_node("Again", ["a"], ["b"], domain="f")],
                             [helper.make_opsetid("f", 1)])
    node = helper.make_node("Again", ["x"], ["y"], "culprit", domain="f")
    return save(folder, model([node], [tensor("x", [2])], [tensor("y", [2])], (), [f]))


def external(name: str, location: str, prepare=None, offset: str = "0", length: str = "16", mentions=("w",)):
    def make(folder):
        inner = folder / "inner"
        inner.mkdir()
        (folder / "outside.bin").write_bytes(bytes(1024))
        (inner / "short.bin").write_bytes(bytes(8))
        (inner / "good.bin").write_bytes(bytes(1024))
        if prepare:
            prepare(folder, inner)
        proto = model([helper.make_node("Add", ["x", "w"], ["y"])], [tensor("x", [4])], [tensor("y", [4])])
        stub = proto.graph.initializer.add(name="w", data_type=FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
        for key, value in (("location", location.format(folder=folder)), ("offset", offset), ("length", length)):
            stub.external_data.add(key=key, value=value)
        return save(inner, proto)

    make.__name__ = f"external_{name}"
    refuses(*mentions)(make)


external("missing", "none.bin")
external("short", "short.bin")
external("offset_beyond_the_end", "good.bin", offset="1020")
external("negative_offset", "good.bin", offset="-8")
external("offset_that_overflows", "good.bin", offset="18446744073709551608")
external("absurd_length", "good.bin", length="1125899906842624")
external("length_of_another_size", "good.bin", length="12")
external("length_that_is_no_number", "good.bin", length="many")
external("in_the_folder_above", "../outside.bin")
external("above_by_a_detour", "sub/../../outside.bin")
external("absolute", "{folder}/outside.bin")
external("system_file", "/etc/passwd")
external("link", "link.bin", lambda folder, inner: os.symlink(folder / "outside.bin", inner / "link.bin"))
external("link_in_the_path", "up/outside.bin", lambda folder, inner: os.symlink(folder, inner / "up"))
external("fifo", "fifo.bin", lambda folder, inner: os.mkfifo(inner / "fifo.bin"))
external("device", "/dev/zero")
external("folder", "sub", lambda folder, inner: (inner / "sub").mkdir())
external("no_name", "")
external("very_long_name", "a" * 5000)

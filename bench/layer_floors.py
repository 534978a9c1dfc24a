"""The least time that each layer of a plan can take on a GPU, from shapes in the layer information (trtexec
--exportLayerInfo, detailed) and measured peaks (bench/gpu_peaks.py): the larger one of operations by the rate of matrix
products and bytes (inputs, outputs, weights) by the bandwidth of a copy. An attention counts its two products, and half
of them where it is causal; fast algorithms may be below such a floor."""
import re
from math import prod

SIZES = {"FP32": 4, "FP16": 2, "BF16": 2, "BFloat16": 2, "INT8": 1, "Int8": 1, "UInt8": 1, "INT32": 4, "Int32": 4, "INT64": 8,
         "Int64": 8, "BOOL": 1, "FP8": 1}

# Of peaks, by the type of a layer's first input; else that of FP16.
RATES = {"FP32": "tf32_tflops", "BF16": "bf16_tflops", "BFloat16": "bf16_tflops", "INT8": "int8_tops", "Int8": "int8_tops",
         "UInt8": "int8_tops", "FP8": "fp8_tflops"}


def type_of(tensor: dict) -> str:
    found = re.search("|".join(SIZES), tensor["Format/Datatype"])
    return found.group() if found else "FP16"


def operand_of(layer: dict) -> dict:
    """The activations of a product: of quantized ones the first bytes, since addends come in any order."""
    inputs = layer["Inputs"]
    return next((tensor for tensor in inputs if SIZES[type_of(tensor)] == 1), inputs[0])


def bytes_of(tensor: dict) -> int:
    return prod(tensor["Dimensions"]) * SIZES[type_of(tensor)]


def conv_work(layer: dict) -> tuple[float, float]:
    """Operations and bytes of weights. The output may be that of a pooling behind it: extents come from the input."""
    image, weights = operand_of(layer), layer["Weights"]["Count"]
    pixels = prod((extent + before + after - dilation * (kernel - 1) - 1) // stride + 1
                  for extent, before, after, dilation, kernel, stride in
                  zip(image["Dimensions"][2:], layer["PrePadding"], layer["PostPadding"], layer["Dilation"],
                      layer["Kernel"], layer["Stride"]))
    return 2.0 * image["Dimensions"][0] * pixels * weights, weights * SIZES[type_of(image)]


def matmul_work(layer: dict) -> tuple[float, float]:
    a, out = operand_of(layer), layer["Outputs"][0]["Dimensions"]
    k = a["Dimensions"][-2 if layer.get("Operation0") == "TRANSPOSE" else -1]
    operand = sorted((k, out[-1]))
    dynamic = len(layer["Inputs"]) > 1 and sorted(layer["Inputs"][1]["Dimensions"][-2:]) == operand \
        and layer["Inputs"][1]["Dimensions"] != out
    return 2.0 * prod(out) * k, 0 if dynamic else k * out[-1] * SIZES[type_of(a)]


def attention_work(layer: dict) -> tuple[float, float]:
    q, keys = (layer["Inputs"][i]["Dimensions"] for i in (0, 1))
    length = keys[1] if len(keys) == 3 or layer.get("KBsnh") else keys[2]
    causal = 0.5 if layer.get("Causal", "none") != "none" else 1.0
    return causal * 4.0 * prod(q) * length, 0


def rnn_work(layer: dict) -> tuple[float, float]:
    steps, directions, batch, hidden = layer["Outputs"][0]["Dimensions"]
    gates = {"lstm": 4, "gru": 3}.get(layer.get("Cell"), 1)
    weights = directions * gates * hidden * (layer["Inputs"][0]["Dimensions"][-1] + hidden)
    return 2.0 * steps * batch * weights, weights * SIZES[type_of(layer["Inputs"][0])]


def gather_work(layer: dict) -> tuple[float, float]:
    """As many bytes of the table as are written."""
    return 0, sum(map(bytes_of, layer["Outputs"]))


WORK = {"Convolution": conv_work, "MatrixMultiply": matmul_work, "Attention": attention_work, "RNN": rnn_work,
        "Gather": gather_work}


def work_of(layer: dict) -> tuple[float, float]:
    """Operations and bytes."""
    operations, weights = 0, 0
    if layer.get("ParameterType") in WORK and not layer.get("HasDynamicFilter"):
        operations, weights = WORK[layer["ParameterType"]](layer)
    return operations, weights + sum(map(bytes_of, [*layer["Inputs"], *layer["Outputs"]]))


def floor_us(layer: dict, peaks: dict) -> float:
    operations, moved = work_of(layer)
    if operations == 0:
        return moved / peaks["copy_gbs"] / 1e3
    kind = type_of(operand_of(layer)) if layer["Inputs"] else "FP16"
    rate = peaks[RATES.get(kind, "fp16_tflops")]
    return max(operations / rate / 1e6, moved / peaks["copy_gbs"] / 1e3)


def described(layer: dict) -> str:
    kernel = "x".join(map(str, layer["Kernel"])) + " " if "Kernel" in layer else ""
    shapes = [",".join("x".join(map(str, t["Dimensions"])) for t in layer[key][:2]) for key in ("Inputs", "Outputs")]
    return f"{kernel}{layer.get('Kind', layer['LayerType'])} {shapes[0]} to {shapes[1]}"


def distances(layers: list[dict], profile: list[dict], peaks: dict) -> dict:
    """Totals, and layers of one shape and tactic together, those first that lose most: time above the floor, which is
    at least that of a kernel that does nothing in a profile. Nothing else is subtracted from the profile's times."""
    by_name = {layer["Name"]: layer for layer in reversed(layers) if layer["TacticName"] != "view"}
    least = peaks.get("timed_node_us", peaks["node_us"])
    groups, count, floors = {}, 0, 0.0
    for row in profile:
        layer = by_name.get(row.get("name"))
        if layer is None or row["medianMs"] <= 0:
            continue
        floor = floor_us(layer, peaks)
        count, floors = count + 1, floors + floor
        group = groups.setdefault((described(layer), layer["TacticName"]), {"count": 0, "us": 0.0, "floor_us": 0.0,
                                                                            "lost_us": 0.0, "name": layer["Name"]})
        group["count"] += 1
        group["us"] += row["medianMs"] * 1000
        group["floor_us"] += floor
        group["lost_us"] += max(0.0, row["medianMs"] * 1000 - max(floor, least))
    rows = [{"layer": key[0], "tactic": key[1], **group} for key, group in groups.items()]
    return {"steps": count, "floor_us": floors, "launch_floor_us": count * peaks["node_us"],
            "profiled_us": sum(row["us"] for row in rows), "profile_floor_us": count * least,
            "worst": sorted(rows, key=lambda row: -row["lost_us"])[:10]}

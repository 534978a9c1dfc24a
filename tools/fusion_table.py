#!/usr/bin/env python3
"""Which pass does each fusion that is known by a name, and which case of tests/passes shows it.

usage: fusion_table.py --write docs/passes.md   replaces the lists of passes and of fusions in that page
       fusion_table.py --check docs/passes.md   fails where a pass, a case, or a test that docs/fusions.md names is not
                                                there, or the page is another
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "tests/passes/cases"
BEGIN, END = "<!-- fusions: by tools/fusion_table.py -->", "<!-- end of fusions -->"

# Fusion; pass; file of cases; a case where it fires; the difference. Without a pass: why. A line with a colon at its
# end is a heading: the fusions below it are those that the guide of TensorRT has under that name.
ROWS = """
Layer fusions:
ReLU and ReLU | simplify | no_change | identity, cast to the same type, sum with 0, product with 1, twice relu
Convolution and ReLU | fuse_epilogue | usual | convolution and ReLU
Transposed convolution and ReLU | fuse_epilogue | usual | transposed convolution and ReLU
Convolution and GELU | fuse_epilogue | usual | convolution and GELU
Convolution and clip | fuse_epilogue | usual | convolution and clip
Scale and activation | fuse_pointwise | usual | scale and activation
Convolution and elementwise sum | fuse_epilogue | usual | convolution and sum
Convolution and elementwise minimum or maximum | fuse_epilogue | usual | convolution and minimum, maximum
Padding and convolution | fold_padding | convolution | pads of their own come together
Padding and convolution, taps that meet nothing else | drop_padding_taps | windows | an atrous window larger than the image is one of a single pixel, whatever the batch
Padding and transposed convolution | fold_padding | transposed | strides multiply
Shuffle and reduce | fuse_reductions | transposed | channels-last mean
Shuffle and shuffle | simplify | chains | transposes that cancel, reshapes of reshapes
Shuffle and shuffle, transposes between reshapes | straighten_transposes | joined_axes | heads joined with the batch, as exporters transpose keys
Shuffle and shuffle, around a reshape | straighten_transposes | around_reshapes | heads are joined, then transposed
Slices of rows, and all that computes rows | lift_slices | tokens | the first token behind the last layer of an encoder
Scale by 1, shift by 0, power of 1 | simplify | no_change | identity, cast to the same type, sum with 0, product with 1, twice relu
Convolution and scale, one for all | fold_into_weights | scale | one number for all
Convolution and scale, one for each channel | fold_into_weights | scale | a number for each channel, and a shift
Convolution and batch normalization | fold_into_weights | batch_norm | convolution and batch normalization
Scale and shift, one for each channel, and convolution | fold_into_weights | ahead | batch normalization in front of a convolution of pixels, whose image others read too
Convolutions of channels in no multiple of 8 | pad_channels | convolutions | pixels, an activation, pixels of the same channels, sums and scales of both, pixels
Convolutions of one image and their sum | merge_branches | windows | windows of three and one, and the image times a number a channel
Convolution and generic activation | fuse_epilogue | usual | convolution and several scalar functions
Matrix product and activation (`ip1 + relu1`) | fuse_epilogue | usual | ip1 + relu1
Mean over height and width as pooling | simplify | means | pooling of whole images is a mean | the other way round: both spellings are one mean, whose kernels read channels-last images as those of pooling do
Convolution and pooling: the first one of an image | fuse_stem | stem | as in ResNet
Convolution and pooling: pixels and averages | lift_pooling | pixels | as between blocks of DenseNet
Convolution and pooling elsewhere | | | two steps, [why](fusions.md)
Depthwise separable convolution | | | two steps, the first with its activation, [why](fusions.md)
Softmax and log | fuse_reductions | logarithms | LogSum, LogSumExp, log-softmax
Softmax and top k, places only | fuse_reductions | order | places of the best two
Softmax and top k, with probabilities | fuse_reductions | likeliest | the likeliest two and their probabilities
Softmax and top k, shared out anew | fuse_reductions | likeliest | shares among experts, as routers have them
Reductions:
GELU, erf | recognize_activations | gelu_erf | x / sqrt 2 first, 0.5 last
GELU, tanh | recognize_activations | gelu_tanh | with a power
L1 norm, sum of squares, L2 norm | fuse_reductions | norms | L1, sum of squares, L2
Log of a sum, of a sum of exponentials | fuse_reductions | logarithms | LogSum, LogSumExp, log-softmax
Pointwise:
Pointwise (`fusedPointwiseNode(add1, relu1)`) | fuse_pointwise | usual | fusedPointwiseNode(add1, relu1)
Pointwise: numbers, comparisons, conversions, choices | fuse_pointwise | usual | a number, a comparison, a conversion and a choice
Quantize and dequantize:
Quantize and dequantize around products | fuse_quantized | regions | bias and activation, a scale for each channel, the image is used twice
Clamps in the requantization of products | fuse_quantized | clamps | a rectifier above a zero point inside the range, a clip, a clip and a scale of its own
First convolutions in bytes with max pooling | fuse_quantized_pools | stem | windows of three places, two apart
Attention of bytes | fuse_quantized_attention | bytes | with a mask, and the result quantized
Clamps before quantization | hoist_quantize | clamps | a rectifier before unsigned bytes, a clip wider than the range, through a transpose
Rounding to bytes and back | lower_quantize | rounding | behind an activation, with a zero point
Bytes to bytes through scalar functions | lower_quantize | rounding | bytes to bytes through an activation
Quantized weights, made on the way | fold_constants | quantized_weights | floats that are quantized on the way become bytes, which the product keeps
Dequantize and quantize by the same scale | cancel_quantize | pairs | the same scale and zero point
Multi-head attention:
Multi-head attention | recognize_attention | softmax_of_scores | scaled product, k transposed, additive mask
Multi-head attention, masks by choice | recognize_attention | softmax_of_scores | scales on q and k, a mask through where
Multi-head attention, causal | recognize_attention | causal | a triangle through where, the least number as fill
Multi-head attention, causal, unknown extents | recognize_attention | caps_and_transposes | a triangle of unknown extent
Multi-head attention, capped scores | recognize_attention | caps_and_transposes | a cap
Multi-head attention, heads joined with the batch | recognize_attention | rank_three | a mask added in rank 4, as in BART and Whisper
Multi-head attention, positions added in the shape of an image | straighten_attention | image_scores | by rows and by columns, as in encoders of images for segmentation
Multi-head attention, axes between batch and heads | recognize_attention | rank_five | windows between the batch and the heads
Multi-head attention, a scale for each head or query | recognize_attention | rank_five | a scale for each head, on the product
Multi-head attention, scalar functions of the scores | recognize_attention | functions_of_scores | SiLU under a scale, over a scale, then a mask
Multi-head attention, INT8 | recognize_attention | quantized | all four operands of the products, weights as signed bytes | operands are dequantized before it; products in 16 or 32 bit, with weights rounded as the network says
Multi-head attention, FP8 | recognize_attention | quantized | weights as floats of 8 bits | likewise
Multi-head attention, quantized scores | recognize_attention | quantized | scores that are rounded, below a mask
Multi-head attention, accumulation in f32 by casts | recognize_attention | widened | casts around both products, as tools for quantization add them | kernels accumulate in f32 in any case
Multi-head attention, quantization behind | | | a step of its own, whose bytes the product behind reads
More:
Widening convolution and the depthwise one behind | fuse_expansion | block | as in inverted residual blocks
First convolution of an image and the depthwise one behind | fuse_stem | stem | a depthwise convolution behind it, with functions
Softmax spelled out | fuse_reductions | softmax | after taking the largest off
Pointwise side by side | fuse_independent | siblings | sine and cosine of the same
Group normalization | recognize_group_norm | reshaped_instance_norm | as exporters write it
Layer normalization spelled out | recognize_normalization | layer | power, root, quotient; scale and bias
Writes to slices, one after the other | join_writes | slices | three steps of a sequence fill zeros
Joins of dense blocks | nest_joins | dense_blocks | each layer reads everything before it | so that each output is written once, where it lies in the largest join
Normalization of joined convolutions | lift_joins | convolutions | scale and shift of a channel, then a function
Normalization over channels of an image | recognize_normalization | channels | mean and variance over channels, with a scale and a shift a channel
Vectors divided by their lengths | recognize_normalization | unit_length | queries of cosine attention
Grouped queries | straighten_attention | one_form | repeated heads
Attention with its past | straighten_attention | one_form | the past is joined with keys and values
Rotary position embedding | recognize_rotary | halves_and_pairs | halves, a constant table that repeats
Rotary position embedding, other axes | recognize_rotary | other_axes | queries and keys on an axis of their own
Rotary position embedding of queries and keys at once | merge_rotary | side_by_side | queries and keys of one product, grouped
Layer scale of a product | fold_into_weights | layer_scale | a number for each column
Layer scale and residual behind a transpose | sink_reshapes | vectors | a layer scale of channels, then the residual, behind a transpose
A value that is used twice behind a product or convolution | fuse_epilogue | used_twice | x + f(x) behind a convolution
Activations by exponentials | recognize_activations | exponentials | x tanh(log(1 + exp(x)))
Squares and cubes | spell_powers | whole_powers | a square and a cube
Cyclic shifts and windows | merge_moves | shifts | windows of a shifted image, shifted by constant indices
Top k and softmax along other axes | straighten_lines | axes | the first two of each column
Layer normalization and the sum before | fuse_residual | sum | a residual that is used later
Queries, keys and values as one product | merge_products | shared_input | queries, keys and values, one with a bias
Gated MLP | merge_products | shared_input | a gated MLP with stored transposed weights
Gate of an MLP and the product before it | gate_products | halves | halves of one product by Split, the second half is the gate, with a bias
Squeeze and excitation | fuse_squeeze | gate | as in MobileNet and EfficientNet
Branches that are known | inline_branches | known_condition | the else branch, with what it captures
Bodies of loops and branches that stay | fuse_epilogue | bodies | in both branches, and in a loop inside one of them
Small loops | unroll_loops | few_iterations | a loop that counts to two
Invariants of loops | hoist_invariants | before_the_loop | a captured matrix is transformed
Products of a sequence in a loop | hoist_invariants | before_the_loop | the products of a recurrence with its inputs
Products of a sequence in a scan | hoist_invariants | before_the_loop | the products of a scan with its sequence
"""


def passes() -> list[tuple[str, str]]:
    text = (ROOT / "src/passes/passes.def").read_text()
    return re.findall(r'^TENON_PASS(?:_WITH)?\((\w+), \d, (?:\w+, )?"(.*)"\)$', text, re.MULTILINE)


def rows() -> list[list[str]]:
    """Fusion, pass, file, case, difference; of a heading the first alone."""
    cells = [[cell.strip() for cell in line.split("|")] for line in ROWS.strip().splitlines()]
    return [row + [""] * (5 - len(row)) for row in cells]


def problems() -> list[str]:
    names = {name for name, _ in passes()}
    found = []
    for fusion, name, file, case, _ in rows():
        if not name:
            continue
        path = CASES / name / f"{file}.txt"
        if name not in names:
            found.append(f"{fusion}: there is no pass {name}")
        elif not path.exists() or f"=== fires: {case}\n" not in path.read_text():
            found.append(f"{fusion}: {path.relative_to(ROOT)} has no case \"{case}\"")
    return found + broken_links(ROOT / "docs/fusions.md")


def broken_links(page: Path) -> list[str]:
    """Links to files that are not there, or without the name that stands behind them in backquotes."""
    found = []
    for link, name in re.findall(r"\]\(([^)#]+)\)(?: `([^`]+)`)?", page.read_text()):
        path = page.parent / link
        if not path.exists() or name not in path.read_text():
            found.append(f"{page.relative_to(ROOT)}: {link} has no \"{name}\"" if path.exists() else
                         f"{page.relative_to(ROOT)}: there is no {link}")
    return found


def section() -> str:
    lines = [BEGIN, "", "## Fusions by name", "",
             "Each has a case where it happens, and its file has cases where it must not. Exporters' patterns are in",
             "`tests/onnx/fusions`: attention, rotary embedding and whole blocks in their spellings. The first headings are",
             "those of TensorRT's guide.", "", "| fusion | pass | case | difference |", "|---|---|---|---|"]
    for fusion, name, file, case, difference in rows():
        if fusion.endswith(":"):
            lines.append(f"| **{fusion[:-1]}** | | | |")
        elif name:
            lines.append(f"| {fusion} | `{name}` | [{case}](../tests/passes/cases/{name}/{file}.txt) | {difference} |")
        else:
            lines.append(f"| {fusion} | | | {case} |")
    return "\n".join([*lines, "", END])


def with_section(page: str) -> str:
    """The page with the lists as they are now."""
    head = "| pass | effect |\n|---|---|\n"
    if head in page:
        begin = page.index(head) + len(head)
        listed = "".join(f"| `{name}` | {summary} |\n" for name, summary in passes())
        page = page[:begin] + listed + page[page.index("\n\n", begin) + 1:]
    if BEGIN in page:
        return page[:page.index(BEGIN)] + section() + page[page.index(END) + len(END):]
    return page.rstrip() + "\n\n" + section() + "\n"


def main() -> int:
    found = problems()
    path = Path(sys.argv[2])
    if sys.argv[1] == "--check" and with_section(path.read_text()) != path.read_text():
        found.append(f"{path} differs from the output of tools/fusion_table.py --write")
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    if sys.argv[1] == "--write" and not found:
        path.write_text(with_section(path.read_text()))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

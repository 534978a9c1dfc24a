"""Plugins that TensorRT ships, as nodes of ours: each beside a reference in numpy, through the network API and from ONNX."""
import numpy as np
import pytest
from conftest import cpu_config
from numerics import assert_close as close

trt = pytest.importorskip("tensorrt")

RNG = np.random.default_rng(7)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def field_type(value):
    if isinstance(value, str):
        return trt.PluginFieldType.CHAR
    return trt.PluginFieldType.FLOAT32 if np.asarray(value).dtype.kind == "f" else trt.PluginFieldType.INT32


def field_data(value):
    if isinstance(value, str):
        return np.frombuffer(value.encode(), np.int8)
    array = np.atleast_1d(np.asarray(value))
    return array.astype(np.float32 if array.dtype.kind == "f" else np.int32)


def creator_of(logger, name, version):
    trt.init_libnvinfer_plugins(logger, "")
    creator = trt.get_plugin_registry().get_creator(name, version, "")
    assert creator is not None, f"no creator of {name} version {version}"
    return creator


def build(logger, name, version, fields, inputs, constants=()):
    """The plan of a network of one plugin; the inputs numbered in `constants` are constants of the network."""
    creator = creator_of(logger, name, version)
    collection = trt.PluginFieldCollection([trt.PluginField(k, field_data(v), field_type(v)) for k, v in fields.items()])
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    tensors = []
    for i, array in enumerate(inputs):
        if i in constants:
            tensors.append(network.add_constant(array.shape, np.ascontiguousarray(array)).get_output(0))
        else:
            tensors.append(network.add_input(f"x{i}", types(array), array.shape))
    if isinstance(creator, trt.IPluginCreatorV3One):
        plugin = creator.create_plugin("p", collection, trt.TensorRTPhase.BUILD)
        layer = network.add_plugin_v3(tensors, [], plugin)
    else:
        plugin = creator.create_plugin("p", collection)
        layer = network.add_plugin_v2(tensors, plugin)
    assert layer is not None
    for i in range(layer.num_outputs):
        layer.get_output(i).name = f"y{i}"
        network.mark_output(layer.get_output(i))
    plan = builder.build_serialized_network(network, cpu_config(builder))
    assert plan is not None
    return plan, layer.num_outputs


def types(array):
    return {"f": trt.float32, "i": trt.int64 if array.dtype == np.int64 else trt.int32}[array.dtype.kind]


def run(logger, name, version, fields, inputs, constants=()):
    import tenon

    plan, count = build(logger, name, version, fields, inputs, constants)
    session = tenon.load(bytes(plan)).session()
    feed = {f"x{i}": array for i, array in enumerate(inputs) if i not in constants}
    results = session(**feed)
    if count == 1:
        return [np.asarray(results)]
    return [np.asarray(results[f"y{i}"] if isinstance(results, dict) else results[i]) for i in range(count)]


# Detection.


def overlap(a, b):
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    both = np.prod(np.maximum(high - low, 0))
    return both / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - both)


def greedy(boxes, scores, iou, least, most, agnostic, background=-1):
    """Of one image: boxes [N, 4], scores [N, C]; the kept (score, class, box number), the best first."""
    pairs = [(scores[n, c], c, n) for n in range(scores.shape[0]) for c in range(scores.shape[1])
             if scores[n, c] > least and c != background]
    kept = []
    for score, c, n in sorted(pairs, key=lambda p: -p[0]):
        if all(overlap(boxes[n], boxes[m]) <= iou for _, d, m in kept if agnostic or c == d):
            kept.append((score, c, n))
    return kept[:most]


def random_boxes(batch, number):
    corner = RNG.random((batch, number, 2), np.float32)
    return np.concatenate([corner, corner + 0.05 + 0.4 * RNG.random((batch, number, 2), np.float32)], -1)


def expected_detections(boxes, scores, iou, least, most, agnostic, background):
    batch = boxes.shape[0]
    count, found = np.zeros((batch, 1), np.int32), np.zeros((batch, most, 4), np.float32)
    values, labels = np.zeros((batch, most), np.float32), np.zeros((batch, most), np.int32)
    valid = np.zeros((batch, most), bool)
    for b in range(batch):
        kept = greedy(boxes[b], scores[b], iou, least, most, agnostic, background)
        count[b] = len(kept)
        for i, (score, c, n) in enumerate(kept):
            found[b, i], values[b, i], labels[b, i], valid[b, i] = boxes[b, n], score, c, True
    return count, found, values, labels, valid


@pytest.mark.parametrize("agnostic", [0, 1])
@pytest.mark.parametrize("background", [-1, 2])
@pytest.mark.parametrize("most", [7, 400])
def test_efficient_nms(logger, agnostic, background, most):
    boxes, scores = random_boxes(2, 60), RNG.random((2, 60, 5), np.float32)
    fields = dict(score_threshold=np.float32(0.3), iou_threshold=np.float32(0.4), max_output_boxes=most,
                  background_class=background, score_activation=0, class_agnostic=agnostic, box_coding=0)
    actual = run(logger, "EfficientNMS_TRT", "1", fields, [boxes, scores])
    count, found, values, labels, valid = expected_detections(boxes, scores, 0.4, 0.3, most, agnostic, background)
    np.testing.assert_array_equal(actual[0], count)
    close(actual[1], found)
    close(actual[2], values)
    np.testing.assert_array_equal(actual[3][valid], labels[valid])
    assert count.max() > 3


def test_efficient_nms_decodes_anchors_and_activates_scores(logger):
    anchors = np.concatenate([RNG.random((1, 40, 2), np.float32), 0.2 + 0.2 * RNG.random((1, 40, 2), np.float32)], -1)
    raw, logits = 0.3 * normal(1, 40, 4), normal(1, 40, 3)
    fields = dict(score_threshold=np.float32(0.5), iou_threshold=np.float32(0.5), max_output_boxes=10, background_class=-1,
                  score_activation=1, class_agnostic=0, box_coding=1)
    actual = run(logger, "EfficientNMS_TRT", "1", fields, [raw, logits, anchors])
    centre = anchors[..., :2] + raw[..., :2] * anchors[..., 2:]
    size = anchors[..., 2:] * np.exp(raw[..., 2:])
    boxes = np.concatenate([centre - size / 2, centre + size / 2], -1)
    scores = 1 / (1 + np.exp(-logits))
    count, found, values, _, _ = expected_detections(boxes, scores, 0.5, 0.5, 10, False, -1)
    np.testing.assert_array_equal(actual[0], count)
    close(actual[1], found)
    close(actual[2], values)


@pytest.mark.parametrize("name", ["BatchedNMSDynamic_TRT", "BatchedNMS_TRT"])
@pytest.mark.parametrize("shared", [0, 1])
def test_batched_nms(logger, name, shared):
    classes, number = 3, 30
    boxes, scores = random_boxes(2, number), RNG.random((2, number, classes), np.float32)
    fields = dict(shareLocation=shared, backgroundLabelId=0, numClasses=classes, topK=number, keepTopK=9,
                  scoreThreshold=np.float32(0.2), iouThreshold=np.float32(0.3), isNormalized=1, clipBoxes=1)
    given = boxes[:, :, None] if shared else np.repeat(boxes[:, :, None], classes, 2)
    actual = run(logger, name, "1", fields, [given, scores])
    count, found, values, labels, valid = expected_detections(boxes, scores, 0.3, 0.2, 9, False, 0)
    np.testing.assert_array_equal(actual[0], count)
    close(actual[1], np.clip(found, 0, 1))
    close(actual[2], values)
    np.testing.assert_array_equal(actual[3], np.where(valid, labels, -1).astype(np.float32))


def test_batched_nms_looks_at_the_best_of_each_class(logger):
    boxes = np.array([[[0, 0, 1, 1], [2, 2, 3, 3], [4, 4, 5, 5], [6, 6, 7, 7]]], np.float32)
    scores = np.array([[[0.9], [0.8], [0.7], [0.6]]], np.float32)
    fields = dict(shareLocation=1, backgroundLabelId=-1, numClasses=1, topK=2, keepTopK=4, scoreThreshold=np.float32(0.1),
                  iouThreshold=np.float32(0.5), isNormalized=0, clipBoxes=0, caffeSemantics=0)
    actual = run(logger, "BatchedNMSDynamic_TRT", "1", fields, [boxes[:, :, None], scores])
    assert actual[0].item() == 2
    close(actual[2], np.array([[0.9, 0.8, 0, 0]], np.float32))


@pytest.mark.parametrize("version", ["1", "2"])
def test_roi_align_has_the_mean_of_a_plane(logger, version):
    x = np.broadcast_to(np.arange(16, dtype=np.float32), (1, 2, 16, 16)).copy()
    rois = np.array([[2, 3, 10, 11]], np.float32)
    fields = dict(coordinate_transformation_mode=1, mode=1, output_height=2, output_width=2, sampling_ratio=2,
                  spatial_scale=np.float32(1))
    (actual,) = run(logger, "ROIAlign_TRT", version, fields, [x, rois, np.array([0], np.int32)])
    # x grows by one a column: the two bins' centres lie at columns 4 and 8, less half a pixel.
    close(actual, np.broadcast_to(np.array([3.5, 7.5], np.float32), (1, 2, 2, 2)))


def test_pillar_scatter_leaves_out_pillars_behind_the_count(logger):
    voxels = normal(2, 5, 3)
    places = np.stack([RNG.permutation(24)[:5] for _ in range(2)])
    coords = np.stack([np.zeros_like(places), np.zeros_like(places), places // 6, places % 6], -1).astype(np.int32)
    count = np.array([5, 3], np.int32)
    (actual,) = run(logger, "PillarScatterPlugin", "1", dict(dense_shape=[4, 6]), [voxels, coords, count])
    expected = np.zeros((2, 3, 4, 6), np.float32)
    for b in range(2):
        for p in range(count[b]):
            expected[b, :, coords[b, p, 2], coords[b, p, 3]] = voxels[b, p]
    close(actual, expected)


# Normalization and convolution.


@pytest.mark.parametrize("version", ["1", "2", "3"])
@pytest.mark.parametrize("relu", [0, 1])
def test_instance_normalization(logger, version, relu):
    x, scale, bias = normal(2, 3, 4, 5), normal(3), normal(3)
    fields = dict(epsilon=np.float32(1e-3), scales=scale, bias=bias, relu=relu, alpha=np.float32(0.1))
    (actual,) = run(logger, "InstanceNormalization_TRT", version, fields, [x])
    mean, variance = x.mean((2, 3), keepdims=True), x.var((2, 3), keepdims=True)
    expected = (x - mean) / np.sqrt(variance + 1e-3) * scale[:, None, None] + bias[:, None, None]
    close(actual, np.where(expected < 0, 0.1 * expected, expected) if relu else expected)


def test_group_normalization(logger):
    x, scale, bias = normal(2, 6, 4, 5), normal(6), normal(6)
    (actual,) = run(logger, "GroupNormalizationPlugin", "1", dict(eps=np.float32(1e-3), num_groups=2), [x, scale, bias])
    grouped = x.reshape(2, 2, 3, 4, 5)
    mean, variance = grouped.mean((2, 3, 4), keepdims=True), grouped.var((2, 3, 4), keepdims=True)
    expected = ((grouped - mean) / np.sqrt(variance + 1e-3)).reshape(x.shape) * scale[:, None, None] + bias[:, None, None]
    close(actual, expected)


@pytest.mark.parametrize("across", [0, 1])
def test_normalize(logger, across):
    x, weights = normal(2, 3, 4, 5), normal(3)
    fields = dict(weights=weights, acrossSpatial=across, channelShared=0, nbWeights=3, eps=np.float32(1e-6))
    (actual,) = run(logger, "Normalize_TRT", "1", fields, [x])
    squares = (x * x).sum((1, 2, 3) if across else 1, keepdims=True)
    close(actual, x / np.sqrt(squares + 1e-6) * weights[:, None, None])


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("spare", [0, 9])  # onnx-tensorrt's parser makes a mask with the offsets' channels, twice as many.
def test_modulated_deform_conv_without_offsets_is_a_convolution(logger, version, spare):
    x, weights, bias = normal(1, 4, 6, 6), normal(8, 4, 3, 3), normal(8)
    mask = RNG.random((1, 9 + spare, 6, 6), np.float32)
    fields = dict(stride=[1, 1], padding=[1, 1], dilation=[1, 1], group=1, deformable_group=1)
    inputs = [x, np.zeros((1, 18, 6, 6), np.float32), mask, weights, bias]
    (actual,) = run(logger, "ModulatedDeformConv2d", version, fields, inputs)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    expected = np.broadcast_to(bias[None, :, None, None], (1, 8, 6, 6)).copy()
    for i in range(3):
        for j in range(3):
            taps = padded[:, :, i:i + 6, j:j + 6] * mask[:, None, 3 * i + j]
            expected += np.einsum("nchw,kc->nkhw", taps, weights[:, :, i, j])
    close(actual, expected)


def crop_and_resize(x, boxes, height, width):
    n, channels, rows, columns = x.shape
    y = np.zeros((n, boxes.shape[1], channels, height, width), np.float32)
    for b, k, i, j in np.ndindex(n, boxes.shape[1], height, width):
        y1, x1, y2, x2 = boxes[b, k, :, 0]
        r = (y1 + (y2 - y1) * i / (height - 1) if height > 1 else (y1 + y2) / 2) * (rows - 1)
        c = (x1 + (x2 - x1) * j / (width - 1) if width > 1 else (x1 + x2) / 2) * (columns - 1)
        if 0 <= r <= rows - 1 and 0 <= c <= columns - 1:
            top, left = int(r), int(c)
            bottom, right = min(top + 1, rows - 1), min(left + 1, columns - 1)
            dy, dx = r - top, c - left
            upper = x[b, :, top, left] * (1 - dx) + x[b, :, top, right] * dx
            lower = x[b, :, bottom, left] * (1 - dx) + x[b, :, bottom, right] * dx
            y[b, k, :, i, j] = upper * (1 - dy) + lower * dy
    return y


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("height, width", [(3, 4), (1, 2)])
def test_crop_and_resize(logger, version, height, width):
    x = normal(2, 3, 7, 9)
    boxes = np.array([[[0.1, 0.2, 0.83, 0.61], [0.0, 0.0, 1.0, 1.0], [0.7, 0.9, 0.21, 0.13]],
                      [[-0.3, 0.2, 0.52, 1.37], [0.4, 0.4, 0.4, 0.4], [1.2, 1.2, 1.5, 1.5]]], np.float32)[..., None]
    (actual,) = run(logger, "CropAndResizeDynamic", version, dict(crop_height=height, crop_width=width), [x, boxes])
    close(actual, crop_and_resize(x, boxes, height, width))


def test_region(logger):
    x = normal(2, 3 * 9, 4, 5)
    (actual,) = run(logger, "Region_TRT", "1", dict(num=3, coords=4, classes=4), [x])
    seen = x.reshape(2, 3, 9, 4, 5).copy()
    chances = np.exp(seen[:, :, 5:])
    seen[:, :, [0, 1, 4]] = 1 / (1 + np.exp(-seen[:, :, [0, 1, 4]]))
    seen[:, :, 5:] = chances / chances.sum(2, keepdims=True)
    close(actual, seen.reshape(x.shape))


# Transformers.


@pytest.mark.parametrize("version", ["1", "5"])
@pytest.mark.parametrize("with_bias", [False, True])
def test_skip_layer_norm(logger, version, with_bias):
    x, skip, gamma, beta, bias = normal(5, 2, 8, 1, 1), normal(5, 2, 8, 1, 1), normal(8), normal(8), normal(8)
    fields = dict(type_id=0, ld=8, beta=beta, gamma=gamma, **({"bias": bias} if with_bias else {}))
    (actual,) = run(logger, "CustomSkipLayerNormPluginDynamic", version, fields, [x, skip])
    total = x + skip + (bias[:, None, None] if with_bias else 0)
    mean, variance = total.mean(2, keepdims=True), total.var(2, keepdims=True)
    close(actual, (total - mean) / np.sqrt(variance) * gamma[:, None, None] + beta[:, None, None])


@pytest.mark.parametrize("version", ["1", "4"])
@pytest.mark.parametrize("masked", [False, True])
def test_qkv_to_context(logger, version, masked):
    length, batch, heads, size = 6, 2, 4, 8
    qkv = normal(length, batch, 3 * heads * size, 1, 1)
    lengths = np.array([6, 4], np.int32)
    fields = dict(type_id=0, hidden_size=heads * size, num_heads=heads, has_mask=int(masked))
    (actual,) = run(logger, "CustomQKVToContextPluginDynamic", version, fields, [qkv] + ([lengths] if masked else []))
    q, k, v = qkv.reshape(length, batch, heads, 3, size).transpose(3, 1, 2, 0, 4)
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(size)
    if masked:
        scores = np.where(np.arange(length) < lengths[:, None, None, None], scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    context = weights / weights.sum(-1, keepdims=True) @ v
    close(actual, context.transpose(2, 0, 1, 3).reshape(length, batch, heads * size, 1, 1))


def test_fully_connected_and_gelu(logger):
    x, weights, bias = normal(5, 2, 8, 1, 1), normal(6, 8), normal(8)
    (actual,) = run(logger, "CustomFCPluginDynamic", "1", dict(out_dims=6, type_id=0, W=weights.ravel()), [x])
    close(actual, np.einsum("sbe,oe->sbo", x[..., 0, 0], weights)[..., None, None])
    (actual,) = run(logger, "CustomGeluPluginDynamic", "1", dict(type_id=0, bias=bias), [x])
    y = x + bias[:, None, None]
    close(actual, 0.5 * y * (1 + np.tanh(0.7978845608 * (y + 0.044715 * y**3))))


@pytest.mark.parametrize("version", ["1", "2"])
def test_multiscale_attention(logger, version):
    batch, heads, width, queries, points = 2, 3, 4, 5, 2
    sizes = np.array([[4, 6], [2, 3]], np.int32)
    starts = np.array([0, 24], np.int32)
    value = normal(batch, 30, heads, width)
    places = RNG.uniform(-0.1, 1.1, (batch, queries, heads, 2, points, 2)).astype(np.float32)
    weights = RNG.random((batch, queries, heads, 2, points), np.float32)
    (actual,) = run(logger, "MultiscaleDeformableAttnPlugin_TRT", version, {}, [value, sizes, starts, places, weights], (1, 2))
    expected = np.zeros((batch, queries, heads, width), np.float32)
    for b, q, m, level, p in np.ndindex(batch, queries, heads, 2, points):
        rows, columns = sizes[level]
        image = value[b, starts[level]:starts[level] + rows * columns, m].reshape(rows, columns, width)
        x, y = places[b, q, m, level, p] * (columns, rows) - 0.5
        for dy, dx in np.ndindex(2, 2):
            cy, cx = int(np.floor(y)) + dy, int(np.floor(x)) + dx
            if 0 <= cy < rows and 0 <= cx < columns:
                part = (1 - abs(y - cy)) * (1 - abs(x - cx))
                expected[b, q, m] += weights[b, q, m, level, p] * part * image[cy, cx]
    close(actual, expected)


@pytest.mark.parametrize("version", ["1", "2"])
def test_disentangled_attention(logger, version):
    heads, length, span = 3, 40, 8
    c2c, c2p, p2c = normal(heads, length, length), normal(heads, length, 2 * span), normal(heads, length, 2 * span)
    (actual,) = run(logger, "DisentangledAttention_TRT", version, dict(span=span, factor=np.float32(0.3)), [c2c, c2p, p2c])

    def bucket(d):
        middle = span // 2
        if abs(d) > middle:
            steps = np.log(abs(d) / middle) / np.log((2 * span - 1) / middle) * (middle - 1)
            d = int(np.sign(d)) * (int(np.ceil(steps - 1e-6)) + middle)
        return min(max(d + span, 0), 2 * span - 1)

    expected = np.empty_like(c2c)
    for q, k in np.ndindex(length, length):
        expected[:, q, k] = (c2c[:, q, k] + c2p[:, q, bucket(q - k)] + p2c[:, k, bucket(q - k)]) * 0.3
    close(actual, expected)


@pytest.mark.parametrize("version", ["1", "6"])
def test_embeddings_layer_norm(logger, version):
    length, batch, width = 6, 3, 8
    words, kinds, places = normal(20, width), normal(2, width), normal(10, width)
    gamma, beta = normal(width), normal(width)
    ids = RNG.integers(0, 20, (length, batch)).astype(np.int32)
    segments = RNG.integers(0, 2, (length, batch)).astype(np.int32)
    mask = (np.arange(length)[:, None] < [6, 2, 4]).astype(np.int32)
    names = ("layernorm_beta", "layernorm_gamma", "word_embeddings", "token_type_embeddings", "position_embeddings")
    fields = {f"bert_embeddings_{k}": v.reshape(-1) for k, v in zip(names, (beta, gamma, words, kinds, places))}
    embedded, valid = run(logger, "CustomEmbLayerNormPluginDynamic", version, dict(fields, output_fp16=0), [ids, segments, mask])
    x = words[ids] + kinds[segments] + places[:length, None]
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True)) * gamma + beta
    close(embedded, x[..., None, None])
    assert valid.tolist() == [6, 2, 4]


# Movement and activations.


def test_activations(logger):
    x = normal(2, 3, 4, 5)
    (actual,) = run(logger, "Clip_TRT", "1", dict(clipMin=np.float32(-0.5), clipMax=np.float32(0.7)), [x])
    close(actual, np.clip(x, -0.5, 0.7))
    (actual,) = run(logger, "LReLU_TRT", "1", dict(negSlope=np.float32(0.2)), [x])
    close(actual, np.where(x < 0, 0.2 * x, x))


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("reduction", ["add", "max", "none"])
def test_scatter_elements(logger, version, reduction):
    x, updates = normal(4, 5), normal(2, 5)
    indices = np.stack([RNG.permutation(4)[:2] for _ in range(5)], 1)
    (actual,) = run(logger, "ScatterElements", version, dict(axis=0, reduction=reduction), [x, indices, updates])
    expected = x.copy()
    for i, j in np.ndindex(2, 5):
        at = indices[i, j], j
        expected[at] = {"add": expected[at] + updates[i, j], "max": max(expected[at], updates[i, j]), "none": updates[i, j]}[reduction]
    close(actual, expected)


def test_scatter_nd(logger):
    x, updates = normal(4, 5), normal(2, 5)
    (actual,) = run(logger, "ScatterND", "1", {}, [x, np.array([[3], [1]], np.int32), updates])
    expected = x.copy()
    expected[[3, 1]] = updates
    close(actual, expected)


def test_moves(logger):
    x = normal(2, 8, 4, 6)
    (actual,) = run(logger, "ResizeNearest_TRT", "1", dict(scale=np.float32(2)), [x])
    close(actual, x.repeat(2, 2).repeat(2, 3))
    (actual,) = run(logger, "CoordConvAC", "1", {}, [x])
    rows = np.broadcast_to(np.linspace(-1, 1, 4, dtype=np.float32)[:, None], (2, 1, 4, 6))
    columns = np.broadcast_to(np.linspace(-1, 1, 6, dtype=np.float32), (2, 1, 4, 6))
    close(actual, np.concatenate([x, rows, columns], 1))
    first, second = run(logger, "Split", "1", dict(axis=1, output_lengths=[3, 5], noutputs=2), [x])
    close(first, x[:, :3])
    close(second, x[:, 3:])
    (actual,) = run(logger, "FlattenConcat_TRT", "1", dict(axis=1, ignoreBatch=0), [x, x[:, :2].copy()])
    close(actual, np.concatenate([x.reshape(2, -1), x[:, :2].reshape(2, -1)], 1)[:, :, None, None])
    (actual,) = run(logger, "SpecialSlice_TRT", "1", {}, [normal_rows := normal(3, 6)])
    close(actual, normal_rows[:, :4])


@pytest.mark.parametrize("version", ["1", "2"])
def test_reorg(logger, version):
    n, c, h, w, s = 2, 8, 4, 6, 2
    x = normal(n, c, h, w)
    (actual,) = run(logger, "Reorg_TRT", version, dict(stride=s), [x])
    out = np.empty(x.size, np.float32)
    flat, own = x.ravel(), c // (s * s)
    for b, k, j, i in np.ndindex(n, c, h, w):
        offset, k2 = divmod(k, own)
        place = i * s + offset % s + w * s * (j * s + offset // s + h * s * (k2 + own * b))
        out[i + w * (j + h * (k + c * b))] = flat[place]
    close(actual, out.reshape(n, c * s * s, h // s, w // s))


# Anchors and pyramids.


def bilinear(image, y, x):
    """Of [C, H, W] at one place; 0 further than a pixel outside, the border's pixels within."""
    _, height, width = image.shape
    if not (-1 < y < height and -1 < x < width):
        return np.zeros(len(image))
    y, x = max(y, 0), max(x, 0)
    low_y, low_x = min(int(y), height - 1), min(int(x), width - 1)
    high_y, high_x = min(low_y + 1, height - 1), min(low_x + 1, width - 1)
    part_y, part_x = min(y, height - 1) - low_y, min(x, width - 1) - low_x
    top = image[:, low_y, low_x] * (1 - part_x) + image[:, low_y, high_x] * part_x
    bottom = image[:, high_y, low_x] * (1 - part_x) + image[:, high_y, high_x] * part_x
    return top * (1 - part_y) + bottom * part_y


def pyramid_reference(rois, maps, image, scale, size, samples, transform):
    """`rois` in pixels of the image; the mean of samples x samples places of each of size x size bins."""
    out = np.zeros((*rois.shape[:2], maps[0].shape[1], size, size), np.float32)
    for n, r in np.ndindex(*rois.shape[:2]):
        x1, y1, x2, y2 = rois[n, r].astype(np.float64)
        side = np.sqrt((x2 - x1) * (y2 - y1))
        level = maps[int(side >= scale / 2) + int(side >= scale) + int(side >= 2 * scale)][n]
        along_y, along_x = level.shape[1] / image[0], level.shape[2] / image[1]
        shift = 0.5 if transform == 2 else 0
        low = np.array([y1 * along_y, x1 * along_x]) - shift
        extent = np.array([(y2 - y1) * along_y, (x2 - x1) * along_x]) / size
        for i, j in np.ndindex(size, size):
            places = [low + extent * (np.array([i, j]) + (np.array([a, b]) + 0.5) / samples)
                      for a in range(samples) for b in range(samples)]
            out[n, r, :, i, j] = np.mean([bilinear(level, *place) for place in places], 0)
    return out


@pytest.mark.parametrize("transform", [1, 2])
@pytest.mark.parametrize("swapped", [0, 1])
def test_pyramid_roi_align(logger, transform, swapped):
    image, scale = (96, 128), 40
    maps = [normal(2, 3, image[0] // s, image[1] // s) for s in (4, 8, 16, 32)]
    corner = (RNG.random((2, 6, 2)) * [50, 30]).astype(np.float32)
    sides = np.array([8, 25, 30, 45, 60, 70])[None, :, None] * np.array([1.0, 0.9])
    rois = np.concatenate([corner, corner + sides], -1).astype(np.float32)
    rois[0, 3, 2:] = rois[0, 3, :2] + 90  # The coarsest level.
    given = rois if not swapped else (rois / np.array([128, 96, 128, 96], np.float32))[..., [1, 0, 3, 2]].copy()
    fields = dict(pooled_size=3, image_size=list(image), fpn_scale=scale, sampling_ratio=2, roi_coords_absolute=1 - swapped,
                  roi_coords_swap=swapped, roi_coords_plusone=0, roi_coords_transform=transform)
    (actual,) = run(logger, "PyramidROIAlign_TRT", "1", fields, [given, *maps])
    close(actual, pyramid_reference(rois, maps, image, scale, 3, 2, transform))


def test_pyramid_roi_align_with_longer_boxes(logger):
    maps = [normal(1, 2, s, s) for s in (16, 8, 4, 2)]
    rois = np.array([[[3, 4, 20, 30], [10, 5, 60, 60]]], np.float32)
    fields = dict(pooled_size=2, image_size=[64, 64], fpn_scale=64, sampling_ratio=2, roi_coords_plusone=1)
    (actual,) = run(logger, "PyramidROIAlign_TRT", "1", fields, [rois, *maps])
    close(actual, pyramid_reference(rois + np.array([0, 0, 1, 1], np.float32), maps, (64, 64), 64, 2, 2, 2))


@pytest.mark.parametrize("clip", [0, 1])
def test_prior_box(logger, clip):
    fields = dict(minSize=np.float32([30, 60]), maxSize=np.float32([60, 111]), aspectRatios=np.float32([1, 2, 3]), flip=1,
                  clip=clip, variance=np.float32([0.1, 0.1, 0.2, 0.2]), imgH=0, imgW=200, stepH=np.float32(0),
                  stepW=np.float32(32), offset=np.float32(0.5))
    (actual,) = run(logger, "PriorBox_TRT", "1", fields, [normal(2, 5, 3, 4), normal(2, 3, 100, 150)])
    boxes = []
    for row, column in np.ndindex(3, 4):
        centre = np.array([(column + 0.5) * 32 / 200, (row + 0.5) / 3])
        for least, most in [(30, 60), (60, 111)]:
            sizes = [(least, least), (np.sqrt(least * most),) * 2]
            for ratio in (2, 1 / 2, 3, 1 / 3):
                sizes.append((least * ratio**0.5, least / ratio**0.5))
            for size in sizes:
                half = np.array(size) / 2 / [200, 100]
                boxes.append(np.concatenate([centre - half, centre + half]))
    boxes = np.clip(boxes, 0, 1) if clip else np.array(boxes)
    expected = np.stack([boxes.ravel(), np.tile([0.1, 0.1, 0.2, 0.2], len(boxes))])[None, :, :, None]
    close(actual, np.broadcast_to(expected, (2, *expected.shape[1:])).astype(np.float32))


def test_batch_tile(logger):
    images, tile = normal(3, 2, 2, 2), normal(1, 4, 2, 3)
    (actual,) = run(logger, "BatchTilePlugin_TRT", "1", {}, [images, tile])
    close(actual, np.broadcast_to(tile, (3, 4, 2, 3)))


# From ONNX, and errors.


def test_onnx_nodes_become_the_plugin(logger):
    import onnx
    from onnx import TensorProto, helper

    trt.init_libnvinfer_plugins(logger, "")
    node = helper.make_node("Clip_TRT", ["x"], ["y"], clipMin=-0.5, clipMax=0.5)
    graph = helper.make_graph([node], "clip", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, logger)
    assert parser.parse(model.SerializeToString())
    plan = builder.build_serialized_network(network, cpu_config(builder))
    import tenon

    x = normal(2, 3)
    close(np.asarray(tenon.load(bytes(plan)).session()(x)), np.clip(x, -0.5, 0.5))


class Recorder(trt.ILogger):
    def __init__(self):
        trt.ILogger.__init__(self)
        self.lines = []

    def log(self, severity, message):
        if severity <= trt.ILogger.ERROR:
            self.lines.append(message)


def errors_of(plugin, shapes):
    """Of a network of this plugin, which must fail."""
    recorder = Recorder()
    builder = trt.Builder(recorder)
    network = builder.create_network(0)
    tensors = [network.add_input(f"x{i}", trt.float32, shape) for i, shape in enumerate(shapes)]
    layer = network.add_plugin_v2(tensors, plugin)
    if layer is not None:
        layer.get_output(0).name = "y"
        network.mark_output(layer.get_output(0))
        assert builder.build_serialized_network(network, cpu_config(builder)) is None
    return recorder.lines


def test_a_wrong_number_of_inputs_is_refused(logger):
    creator = creator_of(logger, "Clip_TRT", "1")
    lines = errors_of(creator.create_plugin("p", trt.PluginFieldCollection([])), [(1, 5), (1, 5)])
    assert any("it has 2 inputs; it takes 1" in line for line in lines), lines


REFUSED = [
    ("GridAnchor_TRT", {"featureMapShapes": [30000], "numLayers": [1]}, [], "memory"),
    ("GridAnchor_TRT", {"featureMapShapes": [-1], "numLayers": [1]}, [], "at least 1"),
    ("GridAnchor_TRT", {"featureMapShapes": [1] * 65, "numLayers": [65]}, [], "65 is 64 at most"),
    ("ProposalLayer_TRT", {"image_size": [3, 200000, 200000], "keep_topk": [8]}, [(1, 100, 2, 1), (1, 100, 4, 1)], "100 anchors"),
    ("PyramidROIAlign_TRT", {"pooled_size": [7], "image_size": [0, 0]}, [(1, 8, 4), *[(1, 3, 2**i, 2**i) for i in (4, 3, 2, 1)]], "at least 1"),
]


@pytest.mark.parametrize("name, values, shapes, words", REFUSED, ids=range(len(REFUSED)))
def test_sizes_that_cannot_be_are_refused_before_memory_is_taken(name, values, shapes, words, logger):
    if name == "GridAnchor_TRT":
        values = {"aspectRatios": [1.0, 2.0, 0.5], "variance": [0.1] * 4, **values}
    fields = []
    for field, numbers in values.items():
        real = isinstance(numbers[0], float)
        fields.append(trt.PluginField(field, np.array(numbers, np.float32 if real else np.int32),
                                      trt.PluginFieldType.FLOAT32 if real else trt.PluginFieldType.INT32))
    plugin = creator_of(logger, name, "1").create_plugin("p", trt.PluginFieldCollection(fields))
    lines = errors_of(plugin, shapes)
    assert any(words in line for line in lines), lines


def test_an_unknown_field_is_refused(logger):
    creator = creator_of(logger, "Clip_TRT", "1")
    field = trt.PluginField("clip_min", np.zeros(1, np.float32), trt.PluginFieldType.FLOAT32)
    plugin = creator.create_plugin("p", trt.PluginFieldCollection([field]))
    assert any("no field 'clip_min'" in line and "clipMin" in line for line in errors_of(plugin, [(2, 3)]))


def test_the_version_as_a_field_is_let_pass(logger):
    """Attributes of ONNX nodes that name the creator, which programs hand on with the others."""
    fields = [trt.PluginField("plugin_version", np.array("1"), trt.PluginFieldType.CHAR),
              trt.PluginField("plugin_namespace", np.frombuffer(b"space", np.int8), trt.PluginFieldType.CHAR),
              trt.PluginField("clipMin", np.zeros(1, np.float32), trt.PluginFieldType.FLOAT32)]
    plugin = creator_of(logger, "Clip_TRT", "1").create_plugin("p", trt.PluginFieldCollection(fields))
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    layer = network.add_plugin_v2([network.add_input("x", trt.float32, (2, 3))], plugin)
    network.mark_output(layer.get_output(0))
    assert builder.build_serialized_network(network, cpu_config(builder)) is not None


def test_every_row_of_the_table_has_a_creator_with_fields(logger):
    from pathlib import Path

    text = (Path(__file__).resolve().parents[2] / "src/plugin/stock.def").read_text()
    rows = [line.split('"') for line in text.splitlines() if line.startswith("STOCK_PLUGIN(")]
    assert len(rows) >= 30
    for row in rows:
        fields = {field.name for field in creator_of(logger, row[1], row[3]).field_names}
        assert fields == {word.split(":")[0] for word in row[5].split()}

"""Anchors, proposals and detections of SSD and Mask R-CNN as TensorRT's plugins give them, each beside a reference in numpy."""
import numpy as np
import pytest
from numerics import assert_close as close
from test_stock_plugins import RNG, greedy, normal, overlap, random_boxes, run

trt = pytest.importorskip("tensorrt")

GRID = {"numLayers": 3, "minSize": 0.2, "maxSize": 0.95, "aspectRatios": [1.0, 2.0, 0.5, 3.0], "variance": [0.1, 0.1, 0.2, 0.2]}


def anchors_of_level(level, height, width):
    scales = [0.2 + 0.75 * i / 2 for i in range(3)] + [1.0]
    if level == 0:
        sizes = [(0.1, 1.0), (0.2, 2.0), (0.2, 0.5)]
    else:
        sizes = [(scales[level], r) for r in GRID["aspectRatios"]] + [(np.sqrt(scales[level] * scales[level + 1]), 1.0)]
    rows = []
    for y in range(height):
        for x in range(width):
            for scale, ratio in sizes:
                w, h = scale * np.sqrt(ratio), scale / np.sqrt(ratio)
                cx, cy = (x + 0.5) / width, (y + 0.5) / height
                rows.append([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2])
    corners = np.asarray(rows, np.float32).reshape(-1)
    return np.stack([corners, np.tile(np.float32([0.1, 0.1, 0.2, 0.2]), len(rows))])[None, :, :, None]


@pytest.mark.parametrize("name, shapes", [("GridAnchor_TRT", [(4, 4), (2, 2), (1, 1)]), ("GridAnchorRect_TRT", [(4, 3), (2, 1), (1, 2)])])
@pytest.mark.parametrize("batch", [None, 2])
def test_grid_anchor(logger, name, shapes, batch):
    given = [h for h, _ in shapes] if name == "GridAnchor_TRT" else [e for pair in shapes for e in pair]
    inputs = [] if batch is None else [normal(batch, 3, 8, 8)]
    found = run(logger, name, "1", GRID | {"featureMapShapes": given}, inputs)
    assert len(found) == 3
    for level, (result, shape) in enumerate(zip(found, shapes)):
        wanted = anchors_of_level(level, *shape)
        close(result, np.repeat(wanted, batch or 1, 0))


def decoded(code, offsets, priors, variances):
    """Boxes of offsets [P, 4]: codes as CodeTypeSSD counts them."""
    size = priors[:, 2:] - priors[:, :2]
    if code == 3:
        offsets = offsets[:, [1, 0, 3, 2]]
    offsets = offsets * variances
    if code == 0:
        return priors + offsets
    if code == 2:
        return priors + offsets * np.concatenate([size, size], 1)
    centre = (priors[:, 2:] + priors[:, :2]) / 2 + offsets[:, :2] * size
    extents = np.exp(offsets[:, 2:]) * size
    return np.concatenate([centre - extents / 2, centre + extents / 2], 1)


@pytest.mark.parametrize("code", [0, 1, 2, 3])
@pytest.mark.parametrize("shared", [1, 0])
def test_nms(logger, code, shared):
    batch, number, classes, most = 2, 30, 4, 9
    priors = random_boxes(1, number)
    variances = np.tile(np.float32([0.1, 0.1, 0.2, 0.2]), (number, 1))
    offsets = 0.5 * normal(batch, number, 1 if shared else classes, 4)
    scores = RNG.random((batch, number, classes), np.float32)
    fields = {"shareLocation": shared, "varianceEncodedInTarget": 0, "backgroundLabelId": 0, "numClasses": classes, "topK": 100,
              "keepTopK": most, "confidenceThreshold": 0.3, "nmsThreshold": 0.4, "inputOrder": [0, 1, 2], "confSigmoid": 0,
              "isNormalized": 1, "codeType": code}
    prior = np.stack([priors[0].reshape(-1), variances.reshape(-1)])[None, :, :, None]
    rows, count = run(logger, "NMS_TRT", "1", fields,
                      [offsets.reshape(batch, -1, 1, 1), scores.reshape(batch, -1, 1, 1), prior])
    assert rows.shape == (batch, 1, most, 7) and count.shape == (batch, 1, 1, 1)
    for b in range(batch):
        boxes = [decoded(code, offsets[b, :, i], priors[0], variances) for i in range(offsets.shape[2])]
        kept = []
        for c in range(1, classes):
            only = np.full_like(scores[b], -1)
            only[:, c] = scores[b, :, c]
            own = boxes[0 if shared else c]
            kept += [(s, c, own[n]) for s, _, n in greedy(own, only, 0.4, 0.3, number, False)]
        kept = sorted(kept, key=lambda k: -k[0])[:most]
        assert count[b, 0, 0, 0] == len(kept)
        for i in range(most):
            wanted = [b, -1, 0, 0, 0, 0, 0]
            if i < len(kept):
                wanted = [b, kept[i][1], kept[i][0], *np.clip(kept[i][2], 0, 1)]
            close(rows[b, 0, i], np.float32(wanted))


def test_nms_of_pixels_in_another_order(logger):
    priors = np.round(200 * random_boxes(1, 12))
    scores = RNG.random((1, 12, 1), np.float32)
    prior = np.stack([priors[0].reshape(-1), np.ones(48, np.float32)])[None, :, :, None]
    fields = {"shareLocation": 1, "varianceEncodedInTarget": 1, "backgroundLabelId": -1, "numClasses": 1, "topK": 12, "keepTopK": 12,
              "confidenceThreshold": 0.0, "nmsThreshold": 0.2, "inputOrder": [2, 0, 1], "confSigmoid": 1, "isNormalized": 0,
              "codeType": 0}
    rows, count = run(logger, "NMSDynamic_TRT", "1", fields,
                      [scores.reshape(1, -1, 1, 1), prior, np.zeros((1, 48, 1, 1), np.float32)])
    certain = 1 / (1 + np.exp(-scores[0]))
    wider = priors[0] + np.float32([0, 0, 1, 1])
    kept = greedy(wider, certain, 0.2, 0, 12, False)
    assert count.ravel()[0] == len(kept)
    close(rows[0, 0, :len(kept), 2], np.float32([k[0] for k in kept]))


def corrected(boxes, deltas, factors, most, last=0, largest=np.inf):
    deltas = deltas * np.float32(factors)
    size = boxes[:, 2:] - boxes[:, :2] + last
    centre = boxes[:, :2] + size / 2 + deltas[:, :2] * size
    extents = size * np.exp(np.minimum(deltas[:, 2:], largest))
    low = centre - extents / 2
    high = low + extents - last
    return np.clip(np.concatenate([low, high], 1), 0, np.tile(np.float32(most), 2)).astype(np.float32)


def best_boxes(boxes, scores, candidates, iou, least, most):
    order = np.argsort(-scores, kind="stable")[:candidates]
    kept = greedy(boxes[order], scores[order, None], iou, least, most, False)
    found, values = np.zeros((most, 4), np.float32), np.zeros(most, np.float32)
    for i, (score, _, n) in enumerate(kept):
        found[i], values[i] = boxes[order[n]], score
    return found, values


def level_anchors(height, width, stride, first, sizes):
    rows = [[y - h / 2, x - w / 2, y + h / 2, x + w / 2] for y in np.arange(first, height, stride)
            for x in np.arange(first, width, stride) for h, w in sizes]
    return np.asarray(rows)


def test_proposal_layer(logger):
    height, width, most = 64, 128, 15
    anchors = np.concatenate([level_anchors(height, width, s, 0, [(8 * s / np.sqrt(r), 8 * s * np.sqrt(r)) for r in (0.5, 1, 2)])
                              for s in (4, 8, 16, 32, 64)])
    anchors = ((anchors - [0, 0, 1, 1]) / [height - 1, width - 1, height - 1, width - 1]).astype(np.float32)
    scores = RNG.permutation(2 * len(anchors)).astype(np.float32).reshape(1, -1, 2, 1) / (2 * len(anchors)) + 0.01
    deltas = normal(1, len(anchors), 4, 1)
    fields = {"prenms_topk": 200, "keep_topk": most, "iou_threshold": 0.5, "image_size": [3, height, width]}
    found = run(logger, "ProposalLayer_TRT", "1", fields, [scores, deltas])[0]
    boxes = corrected(anchors, deltas[0, :, :, 0], [0.1, 0.1, 0.2, 0.2], [1, 1])
    close(found[0], best_boxes(boxes, scores[0, :, 1, 0], 200, 0.5, 0, most)[0])


@pytest.mark.parametrize("name", ["DetectionLayer_TRT", "GenerateDetection_TRT"])
def test_detections(logger, name):
    batch, number, classes, most = 2, 25, 5, 12
    pixels = name == "GenerateDetection_TRT"
    scale = np.float32([99, 149, 99, 149]) if pixels else np.float32(1)
    rois = random_boxes(batch, number) * scale
    scores = RNG.random((batch, number, classes), np.float32)
    deltas = normal(batch, number, classes, 4)
    fields = {"num_classes": classes, "keep_topk": most, "score_threshold": 0.5, "iou_threshold": 0.3}
    if pixels:
        fields["image_size"] = [3, 100, 150]
    found = run(logger, name, "1", fields, [deltas.reshape(batch, number, -1, 1, 1), scores[..., None, None], rois])[0]
    assert found.shape == (batch, most, 6)
    for b in range(batch):
        label = 1 + scores[b, :, 1:].argmax(1) if pixels else scores[b].argmax(1)
        own = deltas[b, np.arange(number), label]
        extra = {"last": 1, "largest": np.log(1000 / 16)} if pixels else {}
        boxes = corrected(rois[b], own, [0.1, 0.1, 0.2, 0.2], [99, 149] if pixels else [1, 1], **extra)
        table = np.full((number, classes), -1, np.float32)
        table[np.arange(number), label] = scores[b, np.arange(number), label]
        kept = greedy(boxes, table, 0.3, 0.5, most, False, background=0)
        for i in range(most):
            wanted = [*boxes[kept[i][2]], kept[i][1], kept[i][0]] if i < len(kept) else [0, 0, 0, 0, -1, 0]
            close(found[b, i], np.float32(wanted))


def test_multilevel_propose(logger):
    height, width, most = 64, 64, 10
    inputs, levels = [], []
    for level in range(2, 7):
        stride, side = 2 ** level, 8 * 2 ** level
        anchors = level_anchors(height, width, stride, stride / 2,
                                [(side, side), (0.7 * side, 1.4 * side), (1.4 * side, 0.7 * side)]).astype(np.float32)
        deltas, scores = 0.3 * normal(1, len(anchors), 4, 1), RNG.random((1, len(anchors), 1, 1), np.float32)
        inputs += [deltas, scores]
        boxes = corrected(anchors, deltas[0, :, :, 0], [1, 1, 1, 1], [height - 1, width - 1], 1, np.log(1000 / 16))
        levels.append(best_boxes(boxes, scores.ravel(), 50, 0.6, 0.1, most))
    fields = {"prenms_topk": 50, "keep_topk": most, "fg_threshold": 0.1, "iou_threshold": 0.6, "image_size": [3, height, width]}
    found = run(logger, "MultilevelProposeROI_TRT", "1", fields, inputs)[0]
    values = np.concatenate([v for _, v in levels])
    order = np.argsort(-values, kind="stable")[:most]
    close(found[0], np.concatenate([b for b, _ in levels])[order])


@pytest.mark.parametrize("per_class, pad", [(3, 0), (2, 1)])
def test_combined_nms(logger, per_class, pad):
    batch, number, classes, most = 2, 40, 3, 8
    boxes, scores = random_boxes(batch, number) * 1.5, RNG.random((batch, number, classes), np.float32)
    fields = {"max_output_size_per_class": per_class, "max_total_size": most, "iou_threshold": 0.4, "score_threshold": 0.2,
              "pad_per_class": pad, "clip_boxes": 1}
    count, found, values, labels = run(logger, "EfficientNMS_Explicit_TF_TRT", "1", fields, [boxes[:, :, None], scores])
    extent = min(most, per_class * classes) if pad else most
    assert found.shape == (batch, extent, 4)
    for b in range(batch):
        kept = []
        for c in range(classes):
            only = np.full_like(scores[b], -1)
            only[:, c] = scores[b, :, c]
            kept += greedy(boxes[b], only, 0.4, 0.2, per_class, False)
        kept = sorted(kept, key=lambda k: -k[0])[:extent]
        assert count[b, 0] == len(kept)
        for i, (score, c, n) in enumerate(kept):
            close(found[b, i], np.clip(boxes[b, n], 0, 1))
            close(values[b, i], score)
            assert labels[b, i] == c


def bilinear(image, y, x):
    height, width = image.shape[1:]
    y, x = np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    v, u = y - top, x - left
    return ((1 - v) * ((1 - u) * image[:, top, left] + u * image[:, top, right])
            + v * ((1 - u) * image[:, bottom, left] + u * image[:, bottom, right]))


def test_multilevel_crop_and_resize(logger):
    batch, number, channels, size = 2, 9, 2, 5
    corner = 200 * RNG.random((batch, number, 2), np.float32)
    sides = np.float32([10, 40, 111, 113, 150, 225, 300, 448, 700])[None, :, None] * np.ones((batch, 1, 2), np.float32)
    rois = np.concatenate([corner, corner + sides], -1)
    maps = [normal(batch, channels, 1024 // s, 1024 // s) for s in (4, 8, 16, 32, 64)]
    found = run(logger, "MultilevelCropAndResize_TRT", "1", {"pooled_size": size, "image_size": [3, 1024, 1024]}, [rois, *maps])[0]
    assert found.shape == (batch, number, channels, size, size)
    for b in range(batch):
        for r in range(number):
            y1, x1, y2, x2 = rois[b, r]
            level = sum((y2 - y1) * (x2 - x1) > 112 ** 2 * 4 ** k for k in range(4))
            scale = 4 * 2 ** level
            wanted = np.empty((channels, size, size), np.float32)
            for i in range(size):
                for j in range(size):
                    wanted[:, i, j] = bilinear(maps[level][b], (y1 + (y2 - y1) * (i + 0.5) / size) / scale,
                                               (x1 + (x2 - x1) * (j + 0.5) / size) / scale)
            close(found[b, r], wanted)


@pytest.mark.parametrize("image", [[3, 1024, 1024], [3, 700, 512]])
def test_multilevel_crops_outside_of_the_image_are_zeros(logger, image):
    rois = np.float32([[[10, 20, 200, 300], [10, 500, 200, 520], [690, 20, 710, 40], [-1, 0, 5, 5], [30, 30, 30, 60], [60, 30, 30, 90]]])
    maps = [1 + RNG.random((1, 2, 1024 // s, 1024 // s), np.float32) for s in (4, 8, 16, 32, 64)]
    found = run(logger, "MultilevelCropAndResize_TRT", "1", {"pooled_size": 2, "image_size": image}, [rois, *maps])[0]
    inside = [0 <= y1 < y2 <= image[1] and 0 <= x1 < x2 <= image[2] for y1, x1, y2, x2 in rois[0]]
    assert sum(inside) == (3 if image[1] == 1024 else 1)
    assert [bool(found[0, r].all()) for r in range(6)] == inside
    assert not found[0, np.logical_not(inside)].any()


@pytest.mark.parametrize("center", [0, 1])
def test_efficient_nms_for_onnx(logger, center):
    batch, number, classes, most = 2, 30, 3, 12
    boxes, scores = random_boxes(batch, number), RNG.random((batch, number, classes), np.float32)
    scores[1] *= 0.1  # Nothing of the second image reaches the threshold.
    given = np.concatenate([(boxes[..., :2] + boxes[..., 2:]) / 2, boxes[..., 2:] - boxes[..., :2]], -1) if center else boxes
    fields = {"score_threshold": 0.6, "iou_threshold": 0.4, "max_output_boxes_per_class": most, "center_point_box": center}
    found = run(logger, "EfficientNMS_ONNX_TRT", "1", fields, [given, scores])[0]
    wanted = [[0, c, n] for _, c, n in greedy(boxes[0], scores[0], 0.4, 0.6, most, False)]
    assert 1 < len(wanted)
    np.testing.assert_array_equal(found, wanted + [wanted[-1]] * (batch * most - len(wanted)))
    none = run(logger, "EfficientNMS_ONNX_TRT", "1", fields | {"score_threshold": 2.0}, [given, scores])[0]
    np.testing.assert_array_equal(none, np.full((batch * most, 3), -1))


def regions(sizes, first, stride, deltas, limits):
    """Boxes [R, 4] of corrections [4 A, H, W], anchor by anchor."""
    boxes = []
    height, width = deltas.shape[1:]
    for a, (w, h) in enumerate(sizes):
        for y in range(height):
            for x in range(width):
                dx, dy, dw, dh = deltas[4 * a:4 * a + 4, y, x]
                cx, cy = first + x * stride + dx * w, first + y * stride + dy * h
                half = np.array([np.exp(dw) * w, np.exp(dh) * h]) / 2
                boxes.append(np.clip(np.concatenate([[cx, cy] - half, [cx, cy] + half]), 0, np.tile(limits, 2)))
    return np.float32(boxes)


def best_regions(boxes, scores, small, candidates, iou, most):
    """Small boxes follow behind all others, as long as there is room."""
    order = np.argsort(-np.where(small, -np.inf, scores), kind="stable")[:candidates]
    kept = []
    for n in order:
        if all(overlap(boxes[n] + [0, 0, 1, 1], boxes[m] + [0, 0, 1, 1]) <= iou for m in kept):
            kept.append(n)
    found = np.zeros((most, 4), np.float32)
    found[:len(kept[:most])] = boxes[kept[:most]]
    return found


def largest_of_bins(image, box, scale, size):
    x1, y1, x2, y2 = np.round(box * np.float32(scale))
    result = np.zeros((image.shape[0], size, size), np.float32)
    for i in range(size):
        for j in range(size):
            h, w = max(y2 - y1 + 1, 1) / size, max(x2 - x1 + 1, 1) / size
            rows = slice(*(int(np.clip(v, 0, image.shape[1])) for v in (np.floor(i * h) + y1, np.ceil((i + 1) * h) + y1)))
            columns = slice(*(int(np.clip(v, 0, image.shape[2])) for v in (np.floor(j * w) + x1, np.ceil((j + 1) * w) + x1)))
            if image[:, rows, columns].size:
                result[:, i, j] = image[:, rows, columns].max((1, 2))
    return result


@pytest.mark.parametrize("most, least", [(12, 16.0), (60, 40.0)])
def test_region_proposals(logger, most, least):
    batch, height, width, ratios, scales, stride = 2, 5, 6, [0.5, 1.0, 2.0], [1.0, 2.0], 16
    sizes = [(r * s, np.round(r * q) * s) for q in ratios for r in [np.round(np.sqrt(stride * stride / q))] for s in scales]
    scores = RNG.permutation(batch * 2 * 6 * height * width).astype(np.float32).reshape(batch, 12, height, width) / 1000
    deltas, maps = 0.3 * normal(batch, 24, height, width), normal(batch, 3, height, width)
    info = np.float32([[80, 96, 1], [72, 90, 1.25]])
    fields = {"poolingH": 3, "poolingW": 3, "featureStride": stride, "preNmsTop": 100, "nmsMaxOut": most, "anchorsRatioCount": 3,
              "anchorsScaleCount": 2, "iouThreshold": 0.6, "minBoxSize": least, "spatialScale": 1 / stride, "anchorsRatios": ratios,
              "anchorsScales": scales}
    rois, pooled = run(logger, "RPROI_TRT", "1", fields, [scores, deltas, maps, info.reshape(batch, 1, 1, 3)])
    assert rois.shape == (batch, 1, most, 4) and pooled.shape == (batch, most, 3, 3, 3)
    for b in range(batch):
        boxes = regions(sizes, (stride - 1) / 2, stride, deltas[b], info[b, 1::-1] - 1)
        sides = boxes[:, 2:] - boxes[:, :2] + 1
        wanted = best_regions(boxes, scores[b, 6:].ravel(), (sides < least * info[b, 2]).any(1), 100, 0.6, most)
        close(rois[b, 0], wanted)
        for r in range(most):
            close(pooled[b, r], largest_of_bins(maps[b], rois[b, 0, r], 1 / stride, 3))


@pytest.mark.parametrize("name", ["Proposal", "ProposalDynamic"])
def test_proposal(logger, name):
    batch, height, width, stride, most = 2, 4, 5, 16, 20
    sizes, ratios, image = [20.0, 40.0], [1.0, 0.7, 1.4], np.array([80, 64])
    scores, deltas = RNG.random((batch, 6, height, width), np.float32), 0.3 * normal(batch, 24, height, width)
    fields = {"input_height": 64, "input_width": 80, "rpn_stride": stride, "roi_min_size": 12.0, "nms_iou_threshold": 0.5,
              "pre_nms_top_n": 90, "post_nms_top_n": most, "anchor_sizes": sizes, "anchor_ratios": ratios}
    found = run(logger, name, "1", fields, [scores, deltas])[0]
    assert found.shape == (batch, most, 4, 1)
    for b in range(batch):
        boxes = regions([(s * r, s / r) for s in sizes for r in ratios], stride / 2, stride, deltas[b], image - 1)
        small = (boxes[:, 2:] - boxes[:, :2] <= 12).any(1)
        wanted = best_regions(boxes, scores[b].ravel(), small, 90, 0.5, most)[:, [1, 0, 3, 2]] / [63, 79, 63, 79]
        close(found[b, :, :, 0], np.float32(wanted))


def test_boxes_in_space(logger):
    batch, height, width, classes = 2, 3, 4, 2
    anchors, bottoms = RNG.random((2 * classes, 4), np.float32) + 1, np.float32([-1.7, -0.6])
    cls, box, way = normal(batch, height, width, 8), 0.3 * normal(batch, height, width, 28), normal(batch, height, width, 8)
    low, high = np.float32([0, -40, -3]), np.float32([70, 40, 1])
    fields = {"point_cloud_range": [*low, *high], "anchors": anchors.ravel(), "anchor_bottom_height": bottoms, "dir_offset": 0.78,
              "dir_limit_offset": 0.1, "num_dir_bins": 2, "score_thresh": 0.6}
    found, count = run(logger, "DecodeBbox3DPlugin", "1", fields, [cls, box, way])
    assert found.shape == (batch, height * width * 4, 9) and count.dtype == np.int32
    for b in range(batch):
        rows = []
        for y, x, a in np.ndindex(height, width, 4):
            chances = 1 / (1 + np.exp(-cls[b, y, x, 2 * a:2 * a + 2]))
            if chances.max() < 0.6:
                continue
            d, (w, length, tall, angle) = box[b, y, x, 7 * a:7 * a + 7], anchors[a]
            centre = [low[0] + x * 70 / 3, low[1] + y * 80 / 2, tall / 2 + bottoms[a // 2]]
            diagonal = np.hypot(w, length)
            turned = d[6] + angle - 0.78
            label = int(not way[b, y, x, 2 * a] > way[b, y, x, 2 * a + 1])
            yaw = turned - np.floor(turned / np.pi + 0.1) * np.pi + 0.78 + np.pi * label
            rows.append([*(d[:3] * [diagonal, diagonal, tall] + centre), *(np.exp(d[3:6]) * [w, length, tall]), yaw,
                         chances.argmax(), chances.max()])
        assert 1 < len(rows) == count[b]
        close(found[b, :len(rows)], np.float32(rows))
        assert not found[b, len(rows):].any()


@pytest.mark.parametrize("numbers", [4, 5])
def test_pillars_of_points(logger, numbers):
    batch, number, most, held = 2, 60, 7, 3
    points = RNG.random((batch, number, numbers), np.float32)
    points[:, :30, :2] *= 0.4  # Some cells have more points than room.
    points[:, 50:, 2] = 2  # Outside.
    counts, size = np.int32([60, 20]), np.float32([0.25, 0.2, 1])
    fields = {"max_num_points_per_voxel": held, "max_voxels": most, "point_cloud_range": [0.0, 0.0, 0.0, 1.0, 1.0, 1.0],
              "voxel_feature_num": numbers + 6, "voxel_size": size}
    features, coords, found = run(logger, "VoxelGeneratorPlugin", "1", fields, [points, counts])
    assert features.shape == (batch, most, held, numbers + 6) and coords.shape == (batch, most, 4) and coords.dtype == np.int32
    for b in range(batch):
        cells = {}
        for point in points[b, :counts[b]]:
            if point[2] < 1:
                cells.setdefault((int(point[1] // size[1]), int(point[0] // size[0])), []).append(point)
        assert found[b] == min(len(cells), most) and (b == 1 or len(cells) > most)
        wanted, places = np.zeros_like(features[b]), np.zeros_like(coords[b])
        for v, (y, x) in enumerate(sorted(cells)[:most]):
            inside = np.stack(cells[y, x][:held])
            middle = np.float32([x * size[0] + size[0] / 2, y * size[1] + size[1] / 2, 0.5])
            places[v, 2:] = y, x
            wanted[v, :len(inside)] = np.concatenate([inside, inside[:, :3] - inside[:, :3].mean(0), inside[:, :3] - middle], 1)
        np.testing.assert_array_equal(coords[b], places)
        close(features[b], wanted)

"""Anchors, proposals and detections of SSD and Mask R-CNN as TensorRT's plugins give them, each beside a reference in numpy."""
import numpy as np
import pytest
from numerics import assert_close as close
from test_stock_plugins import RNG, greedy, normal, random_boxes, run

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

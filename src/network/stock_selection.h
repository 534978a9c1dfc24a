#pragma once

#include "network/stock_plugins.h"

namespace tenon::network {

/// The remaining candidates after suppression, the best first.
struct Selection {
  int64_t most = 0;           ///< Boxes of an image in the result.
  double iou = 0, score = 0;  ///< Thresholds.
  int64_t background = -1;    ///< A class that is never selected.
  int64_t candidates = 0;     ///< Best of each class that are looked at; 0: all.
  int64_t each_class = 0;     ///< Boxes of a class in the result; 0: all.
  bool agnostic = false;      ///< Classes suppress each other.
};

struct Detections {
  Value *count, *boxes, *scores, *classes, *numbers,
      *valid;  ///< [B, 1] i32, [B, K, 4], [B, K], [B, K] i64, [B, K] i64, [B, K] bool
};

/// Boxes [B, N, 4] or [B, C, N, 4] by corners, scores [B, C, N], both f32. Scores of -inf are no
/// candidates.
Detections select_detections(Emitter& e, const Selection& s, Value* boxes, Value* scores);

/// Of one class: the best `candidates` of the boxes [B, R, 4] by scores [B, R], then the remaining
/// ones of these.
Detections select_proposals(Emitter& e, const Selection& s, int64_t candidates, Value* boxes,
                            Value* scores);

/// Boxes [..., 4] by corners, the second of which is moved: of pixels, the last one belongs to a
/// box.
Value* with_far_corner(Emitter& e, Value* boxes, double moved);

/// Of values [B, N, K], the rows that indices [B, M] name: [B, M, K], with K constant.
Value* picked_rows(Emitter& e, Value* values, Value* index);

/// For each row of [B, K, ...] the number of its image: [B * K], i64.
Value* image_numbers(Emitter& e, Value* rows);

/// Updates [B, N, ...] at the places [B, N] (i64) of rows of `count` (i64, one element) zeros, of
/// which those at `count` are dropped. Several at one place are added where `adds`.
Value* scattered(Emitter& e, Value* places, Value* updates, Value* count, bool adds = false);

/// How many of bool [B, N] lie ahead of each: i64.
Value* counted_ahead(Emitter& e, Value* chosen);

}  // namespace tenon::network

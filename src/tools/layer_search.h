#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "base/status.h"

namespace tenon::tools {

/// Whether a model is good enough with these layers, by their places, in high precision.
using LayersSuffice = std::function<Result<bool>(const std::vector<size_t>& kept)>;

/// Layers of `count` that suffice and of which none can be left out, for a model that suffices with
/// all of them and not with none. Asks about 2 k log2(count / k) times for k such layers. The
/// answer suffices in any case; that none can be left out holds where more layers are never worse.
Result<std::vector<size_t>> fewest_layers(size_t count, const LayersSuffice& suffice);

/// The fewest layers from the beginning that suffice (or from the end, with `reverse`), by
/// bisection or, with `linear`, one more at a time.
Result<std::vector<size_t>> leading_layers(size_t count, bool reverse, bool linear,
                                           const LayersSuffice& suffice);

}  // namespace tenon::tools

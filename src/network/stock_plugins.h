#pragma once

#include <span>
#include <vector>

#include "network/emitter.h"
#include "plugin/stock.h"

namespace tenon::network {

using plugin::StockFields;
using Values = std::vector<Value*>;
using Inputs = std::span<Value* const>;

/// Nodes in place of a plugin of plugin/stock.def, where the object is one of ours. Formulas are
/// those of the plugin's page in TensorRT's documentation; operands are named there.
#define STOCK_PLUGIN(function, ...) \
  Values stock_##function(Emitter& e, const StockFields& fields, Inputs in);
#include "plugin/stock.def"

/// By the row's place in the table.
Values expand_stock_plugin(Emitter& e, const plugin::StockRow& row, const StockFields& fields,
                           Inputs in);

/// A field's numbers as a constant of these extents and of `like`'s type; their count is checked.
Value* reals(Emitter& e, const std::vector<double>& numbers, std::vector<int64_t> extents,
             Value* like);

/// Height and width of the field image_size (channels, height, width).
std::vector<double> image_extents(Emitter& e, const StockFields& fields,
                                  std::vector<double> otherwise);

/// Fails the emitter unless there are between `least` and `most` operands.
bool takes(Emitter& e, Inputs in, size_t least, size_t most);

}  // namespace tenon::network

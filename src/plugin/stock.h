#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "NvInferRuntime.h"
#include "base/status.h"
#include "plugin/instance.h"

namespace tenon::plugin {

class Registry;

/// The plugins that TensorRT ships and we do too: plugin/stock.def. Objects of them only hold their
/// fields; a network that takes one gets nodes of ours in its place (network/stock_plugins.h), so
/// that none is ever enqueued.
struct StockRow {
  int index;  ///< In the order of plugin/stock.def.
  const char* name;
  const char* version;
  int generation;  ///< 2: IPluginV2DynamicExt; 3: IPluginV3.
  int outputs;     ///< kByLengths: one an entry of the field output_lengths; kByLayers: numLayers.
  const char* fields;

  static constexpr int kByLengths = -1, kByLayers = -2;
  static constexpr int kMostLayers = 64;  ///< Of numLayers.
};

/// Registers them under `space`; false where another creator has one of their names there.
bool register_stock_plugins(Registry& registry, const char* space);

/// Fields by name. A number may be given as any numeric type.
class StockFields {
 public:
  StockFields(StockFields&&) = default;
  /// Of the text that an object of this row keeps.
  static Result<StockFields> read(const StockRow& row, const std::string& text);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  double real(std::string_view name, double otherwise) const;
  int64_t integer(std::string_view name, int64_t otherwise) const;
  bool flag(std::string_view name, bool otherwise) const {
    return integer(name, otherwise ? 1 : 0) != 0;
  }
  /// Empty when it is not given.
  std::vector<double> numbers(std::string_view name) const;
  std::vector<int64_t> integers(std::string_view name) const;
  std::string text(std::string_view name, std::string_view otherwise) const;

 private:
  explicit StockFields(StoredFields stored)
      : stored_(std::move(stored)), fields_(stored_.collection()) {}
  const nvinfer1::PluginField* find(std::string_view name) const;

  StoredFields stored_;
  nvinfer1::PluginFieldCollection fields_;
};

/// An object of theirs.
struct StockPlugin {
  const StockRow& row;
  StockFields fields;
};
/// Nothing for objects of the application.
Result<std::optional<StockPlugin>> stock_plugin(Instance& instance);

}  // namespace tenon::plugin

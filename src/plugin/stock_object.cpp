// Objects of the stock plugins: fields, and no code that runs.
#include "plugin/stock_object.h"

#include <algorithm>
#include <cstring>

namespace tenon::plugin {
namespace {

using namespace nvinfer1;

class StockV2 final : public IPluginV2DynamicExt {
 public:
  StockV2(const StockRow& row, std::string fields, std::string space)
      : row_(row), fields_(std::move(fields)), space_(std::move(space)) {}
  const char* getPluginType() const noexcept override { return row_.name; }
  const char* getPluginVersion() const noexcept override { return row_.version; }
  int32_t getNbOutputs() const noexcept override { return stock_outputs(row_, fields_); }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getSerializationSize() const noexcept override {
    return kStockMark.size() + fields_.size();
  }
  void serialize(void* buffer) const noexcept override {
    auto* bytes = static_cast<char*>(buffer);
    std::memcpy(bytes, kStockMark.data(), kStockMark.size());
    std::memcpy(bytes + kStockMark.size(), fields_.data(), fields_.size());
  }
  void destroy() noexcept override { delete this; }
  StockV2* clone() const noexcept override {
    return or_null([&] { return new StockV2(row_, fields_, space_); });
  }
  void setPluginNamespace(const char* space) noexcept override {
    space_ = space == nullptr ? "" : space;
  }
  const char* getPluginNamespace() const noexcept override { return space_.c_str(); }
  DataType getOutputDataType(int32_t, const DataType* types,
                             int32_t count) const noexcept override {
    return count > 0 ? types[0] : DataType::kFLOAT;
  }
  DimsExprs getOutputDimensions(int32_t, const DimsExprs*, int32_t,
                                IExprBuilder&) noexcept override {
    return DimsExprs{-1, {}};  // The nodes in its place have shapes.
  }
  bool supportsFormatCombination(int32_t pos, const PluginTensorDesc* operands, int32_t,
                                 int32_t) noexcept override {
    return operands[pos].format == TensorFormat::kLINEAR;
  }
  void configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                       int32_t) noexcept override {}
  size_t getWorkspaceSize(const PluginTensorDesc*, int32_t, const PluginTensorDesc*,
                          int32_t) const noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const*,
                  void* const*, void*, cudaStream_t) noexcept override {
    return 1;  // Nodes run in its place.
  }

 private:
  const StockRow& row_;
  std::string fields_, space_;
};

class StockV3 final : public IPluginV3,
                      public IPluginV3OneCore,
                      public IPluginV3OneBuild,
                      public IPluginV3OneRuntime {
 public:
  StockV3(const StockRow& row, std::string fields, std::string space)
      : row_(row), fields_(std::move(fields)), space_(std::move(space)) {
    mark_ = PluginField(kStockMark.data(), fields_.data(), PluginFieldType::kCHAR,
                        static_cast<int32_t>(fields_.size()));
    marked_ = {1, &mark_};
  }
  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    if (type == PluginCapabilityType::kCORE) return static_cast<IPluginV3OneCore*>(this);
    if (type == PluginCapabilityType::kBUILD) return static_cast<IPluginV3OneBuild*>(this);
    return static_cast<IPluginV3OneRuntime*>(this);
  }
  StockV3* clone() noexcept override {
    return or_null([&] { return new StockV3(row_, fields_, space_); });
  }
  const char* getPluginName() const noexcept override { return row_.name; }
  const char* getPluginVersion() const noexcept override { return row_.version; }
  const char* getPluginNamespace() const noexcept override { return space_.c_str(); }
  int32_t getNbOutputs() const noexcept override { return stock_outputs(row_, fields_); }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return 0;
  }
  int32_t getOutputDataTypes(DataType* outputs, int32_t count, const DataType* inputs,
                             int32_t) const noexcept override {
    std::fill(outputs, outputs + count, inputs[0]);
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs*, int32_t, const DimsExprs*, int32_t, DimsExprs*, int32_t,
                          IExprBuilder&) noexcept override {
    return 1;  // The nodes in its place have shapes.
  }
  bool supportsFormatCombination(int32_t pos, const DynamicPluginTensorDesc* operands, int32_t,
                                 int32_t) noexcept override {
    return operands[pos].desc.format == TensorFormat::kLINEAR;
  }
  int32_t onShapeChange(const PluginTensorDesc*, int32_t, const PluginTensorDesc*,
                        int32_t) noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const*,
                  void* const*, void*, cudaStream_t) noexcept override {
    return 1;  // Nodes run in its place.
  }
  StockV3* attachToContext(IPluginResourceContext*) noexcept override { return clone(); }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override { return &marked_; }

 private:
  const StockRow& row_;
  std::string fields_, space_;
  PluginField mark_;
  PluginFieldCollection marked_;
};

}  // namespace

IPluginV2DynamicExt* make_stock_v2(const StockRow& row, std::string fields, std::string space) {
  return new StockV2(row, std::move(fields), std::move(space));
}

IPluginV3* make_stock_v3(const StockRow& row, std::string fields, std::string space) {
  return new StockV3(row, std::move(fields), std::move(space));
}

int32_t stock_outputs(const StockRow& row, const std::string& fields) {
  if (row.outputs > 0) return row.outputs;
  if (row.outputs == StockRow::kByLayers) {
    constexpr int64_t kUsual = 6;
    const auto read = StockFields::read(row, fields);
    return read.ok() ? static_cast<int32_t>(std::clamp<int64_t>(read->integer("numLayers", kUsual),
                                                                0, StockRow::kMostLayers))
                     : 0;
  }
  auto stored = StoredFields::read(fields);
  if (!stored.ok()) return 0;
  const PluginFieldCollection all = stored->collection();
  for (int32_t i = 0; i < all.nbFields; ++i)
    if (std::string_view(all.fields[i].name) == "output_lengths") return all.fields[i].length;
  return 0;
}

}  // namespace tenon::plugin

#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "NvInferRuntime.h"
#include "base/function_ref.h"
#include "base/status.h"
#include "plugin/shape_program.h"

namespace tenon::plugin {

/// A plugin's key in the registry.
struct Identity {
  std::string type, version, space;
};

/// The extents that the profiles allow.
struct ExtentBounds {
  nvinfer1::Dims min, opt, max;
};

/// An operand as building sees it: -1 for extents that are not constant.
struct OperandType {
  nvinfer1::Dims dims;
  nvinfer1::DataType type;
  nvinfer1::TensorFormat format = nvinfer1::TensorFormat::kLINEAR;
  std::optional<ExtentBounds> bounds = {};  ///< Nothing before there are profiles.
  float scale = 1;                          ///< Of numbers of 8 bits.
};

/// A plugin object of our own, of either generation: IPluginV3 or IPluginV2DynamicExt. Not
/// thread-safe.
class Instance {
 public:
  virtual ~Instance() = default;

  /// Clones of the application's plugins.
  static Result<std::unique_ptr<Instance>> clone_of(nvinfer1::IPluginV3& plugin);
  static Result<std::unique_ptr<Instance>> clone_of(nvinfer1::IPluginV2& plugin);
  /// By its creator, from the fields of serialized(). An error when none is registered.
  static Result<std::unique_ptr<Instance>> create(const Identity& identity,
                                                  const std::string& serialized);
  /// A creator's plugin from fields for building, as a layer called `name`.
  static Result<std::unique_ptr<Instance>> made_by(nvinfer1::IPluginCreatorInterface& creator,
                                                   const std::string& name,
                                                   const nvinfer1::PluginFieldCollection& fields);
  /// Whether create() finds a creator; else the reason.
  static Status find_creator(const Identity& identity);
  /// Whether create() gives a plugin of the second generation.
  static bool is_second_generation(const Identity& identity);

  /// The plugin's object, which lives as long as this: one of these is null.
  virtual nvinfer1::IPluginV2* second_generation() { return nullptr; }
  virtual nvinfer1::IPluginV3* third_generation() { return nullptr; }

  virtual Identity identity() const = 0;
  virtual int32_t output_count() const = 0;
  virtual Result<std::vector<nvinfer1::DataType>> output_types(
      std::span<const nvinfer1::DataType> inputs) = 0;
  /// `shape_inputs`: number of elements of each, numbered after the inputs.
  virtual Result<Words> output_shapes(std::span<const nvinfer1::Dims> inputs,
                                      std::span<const int32_t> shape_inputs) = 0;
  /// Whether it takes the operand at `position`, inputs and outputs in turn, in its type and
  /// format, given those in front of it.
  virtual bool takes(int32_t position, std::span<const OperandType> operands, int32_t inputs) = 0;
  /// How many combinations of types and formats it has at most.
  virtual int32_t combination_limit() {
    return nvinfer1::IPluginV2DynamicExt::kFORMAT_COMBINATION_LIMIT;
  }
  /// takes() of every operand; else the first one that it refuses.
  Status check_formats(std::span<const OperandType> operands, int32_t inputs);
  /// Whether there is anything to ask: not for an object that can only run.
  virtual bool builds() const { return true; }
  /// Tells it the operands that it was asked about last and will be built for.
  virtual Status configure(std::span<const OperandType> operands, int32_t inputs) = 0;
  /// For each output the input that it shares memory with, or -1.
  virtual std::vector<int32_t> aliased_inputs() {
    return std::vector<int32_t>(static_cast<size_t>(output_count()), -1);
  }
  /// Numbers of its own tactics; empty: it has none.
  virtual std::vector<int32_t> tactics() { return {}; }
  /// The key for times of its tactics; empty: they are not to be kept.
  virtual std::string timing_id() { return {}; }
  /// As text.
  virtual Result<std::string> serialized() = 0;

  /// For concrete extents; before enqueue(), and again where they change. `resources` outlives the
  /// object.
  virtual Status prepare(std::span<const nvinfer1::PluginTensorDesc> inputs,
                         std::span<const nvinfer1::PluginTensorDesc> outputs, int32_t tactic,
                         nvinfer1::IPluginResourceContext* resources) = 0;
  virtual size_t workspace_bytes() const = 0;
  virtual Status enqueue(std::span<const nvinfer1::PluginTensorDesc> inputs,
                         std::span<const nvinfer1::PluginTensorDesc> outputs,
                         const void* const* input_data, void* const* output_data, void* workspace,
                         void* stream) = 0;

 protected:
  static constexpr int32_t kNoTactic = -1;
  Error failed(std::string_view what) const {
    return user_error("plugin '{}': {}", identity().type, what);
  }
};

/// Operands as plugins are told of them, with all ranges the extents themselves; open extents
/// without bounds may be 1 alone.
std::vector<nvinfer1::DynamicPluginTensorDesc> dynamic_descriptions(
    std::span<const nvinfer1::PluginTensorDesc> operands);
std::vector<nvinfer1::DynamicPluginTensorDesc> dynamic_descriptions(
    std::span<const OperandType> operands);

/// `make_builder` gives an object of the same fields with the capability kBUILD, or null; called
/// where `owned` has none.
Result<std::unique_ptr<Instance>> make_v3_instance(
    std::unique_ptr<nvinfer1::IPluginV3> owned, FunctionRef<nvinfer1::IPluginV3*()> make_builder);
struct Destroy {
  void operator()(nvinfer1::IPluginV2* plugin) const { plugin->destroy(); }
};
using OwnedV2 = std::unique_ptr<nvinfer1::IPluginV2, Destroy>;
Result<std::unique_ptr<Instance>> make_v2_instance(OwnedV2 owned);
/// Of an IPluginV2DynamicExt; of an IPluginV2Ext, or with types for each operand an IPluginV2IOExt.
std::unique_ptr<Instance> make_dynamic_instance(OwnedV2 owned);
std::unique_ptr<Instance> make_batch_instance(OwnedV2 owned, bool with_types);
/// The name that a creator of either generation goes by, and the fields that it reads (or null).
std::string_view name_of(nvinfer1::IPluginCreatorInterface& creator);
std::string_view version_of(nvinfer1::IPluginCreatorInterface& creator);
std::string_view space_of(nvinfer1::IPluginCreatorInterface& creator);
const nvinfer1::PluginFieldCollection* fields_of(nvinfer1::IPluginCreatorInterface& creator);
/// Fields as text and back; the collection points into the object.
std::string fields_to_text(const nvinfer1::PluginFieldCollection& fields);
class StoredFields {
 public:
  static Result<StoredFields> read(const std::string& text);
  void add(std::string name, nvinfer1::PluginFieldType type, int32_t length, std::string bytes) {
    fields_.push_back({std::move(name), type, length, std::move(bytes)});
  }
  nvinfer1::PluginFieldCollection collection() const;

 private:
  struct Field {
    std::string name;
    nvinfer1::PluginFieldType type;
    int32_t length;
    std::string bytes;
  };
  std::vector<Field> fields_;
  mutable std::vector<nvinfer1::PluginField> views_;
};
std::string to_hex(std::string_view bytes);
Result<std::string> from_hex(std::string_view text);

}  // namespace tenon::plugin

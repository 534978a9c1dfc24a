#include "kernels/plugin/sized.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "kernels/plugin/choice.h"
#include "kernels/plugin/resources.h"
#include "network/convert.h"
#include "ops/structure.h"
#include "plugin/instance.h"

namespace tenon {
namespace {

using nvinfer1::PluginTensorDesc;

constexpr size_t kAlignment = 256;

PluginTensorDesc description(const Operand& operand, const Extents& extents, double scale) {
  return {network::to_dims(extents),
          network::to_public(operand.type).value_or(nvinfer1::DataType::kFLOAT),
          nvinfer1::TensorFormat::kLINEAR, static_cast<float>(scale)};
}

class PluginSizedKernel final : public SizedKernel {
 public:
  PluginSizedKernel(const Problem& problem, const Plugin& op)
      : device_(*problem.device),
        program_(op.output_shapes),
        outputs_(problem.outputs),
        resources_(problem) {
    const auto read = op.inputs < 0 ? problem.inputs.size() : static_cast<size_t>(op.inputs);
    for (size_t i = 0; i < problem.inputs.size(); ++i) {
      extents_.push_back(problem.inputs[i].extents);
      if (i < read) inputs_.push_back(description(problem.inputs[i], extents_[i], op.scale(i)));
    }
  }

  Status prepare(const Plugin& op) {
    TENON_ASSIGN(instance_, plugin::Instance::create(identity_of(op), op.fields));
    const std::vector<std::optional<int64_t>> open(outputs_.size());
    TENON_ASSIGN(auto shapes, plugin::shapes_of(program_, extents_, open));
    if (shapes.size() != outputs_.size()) return user_error("the plugin's shapes are cut off");
    std::vector<PluginTensorDesc> bounds;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      outputs_[i].extents = shapes[i];
      bounds.push_back(description(outputs_[i], shapes[i], op.scale(inputs_.size() + i)));
      places_.push_back(bytes_);
      const auto size = static_cast<size_t>(outputs_[i].count() * byte_size(outputs_[i].type));
      bytes_ += round_up(size, kAlignment);
    }
    plugin::open_sizes(program_, shapes);
    for (size_t i = 0; i < outputs_.size(); ++i)
      descriptions_.push_back(description(outputs_[i], shapes[i], bounds[i].scale));
    return instance_->prepare(inputs_, bounds, -1, &resources_);
  }

  size_t workspace_bytes() const override { return bytes_ + instance_->workspace_bytes(); }

  Result<std::vector<Extents>> measure(std::span<const void* const> inputs, void* workspace,
                                       Queue queue) override {
    auto* base = static_cast<std::byte*>(workspace);
    std::vector<void*> outputs;
    for (const size_t place : places_) outputs.push_back(base + place);
    TENON_TRY(instance_->enqueue(inputs_, descriptions_, inputs.data(), outputs.data(),
                                 base + bytes_, queue.stream));
    std::vector<std::optional<int64_t>> sizes(outputs_.size());
    for (const int64_t index : plugin::size_outputs(program_)) {
      TENON_ASSIGN(
          sizes[static_cast<size_t>(index)],
          number(outputs_[static_cast<size_t>(index)], outputs[static_cast<size_t>(index)], queue));
    }
    TENON_ASSIGN(found_, plugin::shapes_of(program_, extents_, sizes));
    return found_;
  }

  Status write(std::span<const void* const>, std::span<void* const> outputs, void* workspace,
               Queue queue) override {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const auto bytes =
          static_cast<size_t>(element_count(found_[i]) * byte_size(outputs_[i].type));
      if (bytes > 0)
        TENON_TRY(device_.copy(outputs[i], static_cast<std::byte*>(workspace) + places_[i], bytes,
                               queue));
    }
    return {};
  }

 private:
  /// Of a tensor of one integer.
  Result<int64_t> number(const Operand& operand, const void* from, Queue queue) {
    Tensor tensor(operand.type, {1});
    if (operand.count() != 1 ||
        (operand.type != DataType::kInt32 && operand.type != DataType::kInt64))
      return user_error("a size tensor of a plugin is one integer of 32 or 64 bits");
    TENON_TRY(device_.download(tensor.mutable_bytes(), from,
                               static_cast<size_t>(tensor.byte_count()), queue));
    TENON_TRY(device_.synchronize(queue));
    return tensor.as_int64(0);
  }

  Device& device_;
  plugin::Words program_;
  std::vector<Operand> outputs_;  ///< With their upper bounds.
  std::vector<Extents> extents_;  ///< Of all inputs.
  std::vector<PluginTensorDesc> inputs_;
  std::vector<PluginTensorDesc> descriptions_;  ///< Of outputs; extents of size tensors are -1.
  PluginResources resources_;
  std::unique_ptr<plugin::Instance> instance_;
  std::vector<size_t> places_;  ///< Of outputs in the workspace.
  size_t bytes_ = 0;
  std::vector<Extents> found_;
};

}  // namespace

Result<std::unique_ptr<SizedKernel>> make_plugin_sized_kernel(const Problem& problem) {
  const auto* op = problem.operation.as<Plugin>();
  if (op == nullptr) return unsupported("no plugin");
  auto kernel = std::make_unique<PluginSizedKernel>(problem, *op);
  TENON_TRY(kernel->prepare(*op));
  return std::unique_ptr<SizedKernel>(std::move(kernel));
}

}  // namespace tenon

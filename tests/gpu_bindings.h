#pragma once

#include <span>
#include <vector>

#include "device/device.h"
#include "runtime/context.h"

namespace tenon {

/// Buffers of a device for a context's inputs and outputs.
class GpuBindings {
 public:
  GpuBindings(Device& device, Context& context) : device_(device), context_(context) {}

  Status bind(const Graph& graph, std::span<const Tensor> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::string& name = graph.inputs()[i]->name;
      const auto bytes = static_cast<size_t>(inputs[i].byte_count());
      TENON_ASSIGN(buffers_.emplace_back(), device_.allocate(bytes));
      TENON_TRY(device_.upload(buffers_.back().get(), inputs[i].bytes(), bytes, {}));
      TENON_TRY(context_.set_input_shape(name, inputs[i].extents()));
      TENON_TRY(context_.set_address(name, buffers_.back().get()));
    }
    outputs_.resize(graph.outputs().size());
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const Value& value = *graph.outputs()[i];
      outputs_[i].type = value.type.type;
      const auto allocate = [this, i](const Extents& extents, size_t bytes, void*) -> void* {
        return poisoned(outputs_[i], extents, bytes);
      };
      TENON_TRY(context_.set_allocator(value.name, allocate));
    }
    return {};
  }

  Result<std::vector<Tensor>> results() {
    std::vector<Tensor> tensors;
    for (const Output& output : outputs_) {
      Tensor& tensor = tensors.emplace_back(output.type, output.extents);
      const auto bytes = static_cast<size_t>(tensor.byte_count());
      TENON_TRY(device_.download(tensor.mutable_bytes(), output.memory.get(), bytes, {}));
    }
    TENON_TRY(device_.synchronize({}));
    return tensors;
  }

 private:
  struct Output {
    DataType type = DataType::kFloat32;
    Extents extents;
    DeviceBuffer memory;
  };

  void* poisoned(Output& output, const Extents& extents, size_t bytes) {
    auto memory = device_.allocate(bytes);
    if (!memory.ok()) return nullptr;
    output.extents = extents;
    output.memory = std::move(memory).value();
    const std::vector<std::byte> poison(bytes, std::byte{0xfb});
    if (!device_.upload(output.memory.get(), poison.data(), bytes, {}).ok()) return nullptr;
    return device_.synchronize({}).ok() ? output.memory.get() : nullptr;
  }

  Device& device_;
  Context& context_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<Output> outputs_;
};

}  // namespace tenon

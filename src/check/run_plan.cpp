#include "check/compile_checked.h"
#include "runtime/engine.h"

namespace tenon {
namespace {

/// Host tensors of one run and where they are on the device.
class Bindings {
 public:
  Bindings(Context& context, const Backend& backend)
      : context_(context), backend_(backend), device_(*backend.device) {}

  Status bind_input(const std::string& name, const Tensor& tensor) {
    TENON_TRY(context_.set_input_shape(name, tensor.extents()));
    TENON_ASSIGN(void* address, memory(static_cast<size_t>(tensor.byte_count())));
    TENON_TRY(
        device_.upload(address, tensor.bytes(), static_cast<size_t>(tensor.byte_count()), {}));
    return context_.set_address(name, address);
  }

  Status bind_output(const Value& output) {
    TENON_ASSIGN(const Extents extents, context_.shape(output.name));
    TENON_ASSIGN(Tensor tensor, Tensor::create(output.type.type, extents));
    TENON_ASSIGN(void* address, memory(static_cast<size_t>(tensor.byte_count())));
    results_.emplace_back(std::move(tensor), address);
    return context_.set_address(output.name, address);
  }

  Result<std::vector<Tensor>> results() {
    std::vector<Tensor> tensors;
    for (auto& [tensor, address] : results_) {
      TENON_TRY(device_.download(tensor.mutable_bytes(), address,
                                 static_cast<size_t>(tensor.byte_count()), {}));
      tensors.push_back(std::move(tensor));
    }
    TENON_TRY(device_.synchronize({}));
    return tensors;
  }

 private:
  Result<void*> memory(size_t bytes) {
    TENON_ASSIGN(DeviceBuffer buffer, backend_.allocate(bytes));
    buffers_.push_back(std::move(buffer));
    return buffers_.back().get();
  }

  Context& context_;
  const Backend& backend_;
  Device& device_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<std::pair<Tensor, void*>> results_;
};

}  // namespace

Result<std::vector<Tensor>> run_plan(const Plan& plan, const Backend& backend, int threads,
                                     std::span<const Tensor> inputs) {
  TENON_ASSIGN(const std::shared_ptr<Engine> engine, Engine::create(copy_of(plan), backend));
  if (engine->data_dependent()) return unsupported("extents depend on data");
  TENON_ASSIGN(const std::unique_ptr<Context> context, Context::create(engine, threads));
  Bindings bindings(*context, backend);
  for (size_t i = 0; i < inputs.size(); ++i)
    TENON_TRY(bindings.bind_input(engine->graph().inputs()[i]->name, inputs[i]));
  for (const Value* output : engine->graph().outputs()) TENON_TRY(bindings.bind_output(*output));
  TENON_TRY(context->enqueue());
  TENON_TRY(backend.device->synchronize({}));
  return bindings.results();
}

}  // namespace tenon

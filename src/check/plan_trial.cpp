#include "check/plan_trial.h"

#include "plan/shape_values.h"

namespace tenon {
namespace {

/// Numbers as inputs: small ones of both signs, zeros where they may be indices.
Tensor contents_of(const Value& input, const Extents& extents) {
  Tensor tensor(input.type.type, extents);
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set_from_double(
        i, is_real(input.type.type) ? 0.05 * static_cast<double>((i * 7919) % 41 - 20) : 0.0);
  return tensor;
}

}  // namespace

Status PlanTrial::prepare(const Plan& plan) {
  TENON_ASSIGN(engine_, Engine::create(copy_of(plan), backend_));
  if (engine_->data_dependent()) return unsupported("the network has data-dependent shapes");
  TENON_ASSIGN(context_, Context::create(engine_));
  if (device_.streams() != nullptr) {
    TENON_ASSIGN(stream_, device_.streams()->make_stream());
  }
  TENON_TRY(give_inputs(plan));
  for (const Value* output : engine_->graph().outputs()) {
    TENON_ASSIGN(const Extents extents, context_->shape(output->name));
    const auto bytes = static_cast<size_t>(element_count(extents) * byte_size(output->type.type));
    TENON_ASSIGN(void* address, memory(bytes));
    outputs_.emplace_back(address, bytes);
    TENON_TRY(context_->set_address(output->name, address));
  }
  return context_->enqueue(stream_.get());
}

Status PlanTrial::give_inputs(const Plan& plan) {
  for (const Value* input : engine_->graph().inputs()) {
    const ShapeRange& range = plan.profiles[0].at(input->name);
    TENON_TRY(context_->set_input_shape(input->name, range.opt));
    if (is_shape_input(*input)) {
      on_host_.push_back(usual_contents(*input, range));
      TENON_TRY(context_->set_address(input->name, on_host_.back().mutable_bytes()));
      continue;
    }
    const Tensor tensor = contents_of(*input, range.opt);
    const auto bytes = static_cast<size_t>(tensor.byte_count());
    TENON_ASSIGN(void* address, memory(bytes));
    TENON_TRY(device_.upload(address, tensor.bytes(), bytes, queue()));
    TENON_TRY(device_.synchronize(queue()));
    TENON_TRY(context_->set_address(input->name, address));
  }
  return context_->read_values();
}

Result<double> PlanTrial::time(int runs) {
  if (stream_ != nullptr) context_->set_graph_replay(true);
  TENON_TRY(context_->enqueue(stream_.get()));
  TENON_TRY(context_->enqueue(stream_.get()));
  return device_.time(queue(), runs, [&] { return context_->enqueue(stream_.get()); });
}

Result<std::map<int, double>> PlanTrial::layers(int runs) {
  ShortestTimes times;
  context_->set_step_times(&times);
  Status status;
  for (int i = 0; i < runs && status.ok(); ++i) status = context_->enqueue(stream_.get());
  context_->set_step_times(nullptr);
  TENON_TRY(std::move(status));
  std::map<int, double> by_place;
  int place = 0;
  for (const auto& node : engine_->graph().nodes()) {
    const auto found = times.by_node.find(node.get());
    if (found != times.by_node.end()) by_place[place] = found->second;
    ++place;
  }
  return by_place;
}

Result<std::vector<std::vector<std::byte>>> PlanTrial::results() {
  std::vector<std::vector<std::byte>> all;
  for (const auto& [address, bytes] : outputs_) {
    all.emplace_back(bytes);
    TENON_TRY(device_.download(all.back().data(), address, bytes, queue()));
  }
  TENON_TRY(device_.synchronize(queue()));
  return all;
}

Result<void*> PlanTrial::memory(size_t bytes) {
  TENON_ASSIGN(DeviceBuffer buffer, backend_.allocate(bytes));
  buffers_.push_back(std::move(buffer));
  return buffers_.back().get();
}

}  // namespace tenon

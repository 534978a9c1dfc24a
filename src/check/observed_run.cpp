#include "check/observed_run.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "base/stop.h"
#include "base/stopwatch.h"
#include "ir/value_name.h"
#include "kernels/strides.h"
#include "ops/strided.h"
#include "ops/table.h"
#include "plan/plan.h"
#include "select/agreement.h"
#include "select/expected_time.h"

namespace tenon {

Result<ObservedRun> ObservedRun::create(const Plan& plan, const Backend& backend, int threads) {
  ObservedRun run;
  run.backend_ = backend;
  TENON_ASSIGN(run.engine_, Engine::create(copy_of(plan), backend));
  if (run.engine_->data_dependent()) return unsupported("the network has data-dependent shapes");
  TENON_ASSIGN(run.context_, Context::create(run.engine_, threads));
  return run;
}

Result<void*> ObservedRun::memory(size_t bytes) {
  TENON_ASSIGN(DeviceBuffer buffer, backend_.allocate(std::max<size_t>(bytes, 1)));
  buffers_.push_back(std::move(buffer));
  return buffers_.back().get();
}

Status ObservedRun::bind(std::span<const Tensor> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = graph().inputs()[i]->name;
    const auto bytes = static_cast<size_t>(inputs[i].byte_count());
    TENON_TRY(context_->set_input_shape(name, inputs[i].extents()));
    if (engine_->is_on_host(name)) {
      TENON_TRY(context_->set_address(name, inputs_[i].mutable_bytes()));
      continue;
    }
    TENON_ASSIGN(void* address, memory(bytes));
    TENON_TRY(backend_.device->upload(address, inputs[i].bytes(), bytes, {}));
    TENON_TRY(context_->set_address(name, address));
  }
  TENON_TRY(context_->read_values());
  for (const Value* output : graph().outputs()) {
    TENON_ASSIGN(const Extents extents, context_->shape(output->name));
    TENON_ASSIGN(Tensor tensor, Tensor::create(output->type.type, extents));
    TENON_ASSIGN(void* address, memory(static_cast<size_t>(tensor.byte_count())));
    outputs_.push_back(std::move(tensor));
    TENON_TRY(context_->set_address(output->name, address));
  }
  return {};
}

Status ObservedRun::prepare(std::span<const Tensor> inputs) {
  buffers_.clear();
  outputs_.clear();
  inputs_.assign(inputs.begin(), inputs.end());
  TENON_TRY(backend_.device->activate());
  TENON_TRY(bind(inputs));
  return context_->prepare();
}

Status ObservedRun::observe(StepObserver observer) {
  TENON_TRY(context_->enqueue_observed(observer));
  return backend_.device->synchronize({});
}

Status ObservedRun::run(const std::unordered_set<const Value*>& wanted, ReferencePace* pace) {
  wanted_ = &wanted;
  TENON_TRY(make_room());
  TENON_TRY(context_->enqueue_observed([&](const StepResult& result) {
    if (pace != nullptr && result.sample + 1 == result.samples) pace->did(result.node);
    return keep(result);
  }));
  for (size_t i = 0; i < outputs_.size(); ++i)
    TENON_TRY(backend_.device->download(outputs_[i].mutable_bytes(),
                                        context_->address(graph().outputs()[i]->name),
                                        static_cast<size_t>(outputs_[i].byte_count()), {}));
  return backend_.device->synchronize({});
}

Result<double> ObservedRun::time(int runs, StepTimes* steps) {
  const auto run_once = [&]() -> Status {
    TENON_TRY(context_->enqueue());
    return backend_.device->synchronize({});
  };
  TENON_TRY(run_once());
  context_->set_step_times(steps);
  double least = std::numeric_limits<double>::infinity();
  Status status;
  for (int i = 0; i < runs && status.ok(); ++i) {
    Stopwatch watch;
    status = run_once();
    if (status.ok()) status = go_on("timing the network");
    least = std::min(least, watch.lap() * 1000);
  }
  context_->set_step_times(nullptr);
  TENON_TRY(std::move(status));
  return least;
}

/// One block for the contents of all: the system has large pages for it, where single tensors would
/// wait for each of their small ones.
Status ObservedRun::make_room() {
  int64_t bytes = 0;
  for (const Value* value : *wanted_) bytes += bytes_of(*value);
  TENON_ASSIGN(Tensor block, Tensor::create(DataType::kUInt8, {bytes}));
  room_ = std::make_shared<Tensor>(std::move(block));
  taken_ = 0;
  return {};
}

int64_t ObservedRun::bytes_of(const Value& value) const {
  constexpr int64_t kLine = 64;
  const int64_t bytes = element_count(concrete().extents(&value)) * byte_size(value.type.type);
  return (bytes + kLine - 1) / kLine * kLine;
}

Status ObservedRun::keep(const StepResult& result) {
  const Value* value = result.node.outputs()[result.output];
  if (!wanted_->contains(value)) return {};
  Tensor& tensor = contents_[value];
  if (!tensor.defined()) {
    tensor = Tensor(value->type.type, concrete().extents(value), room_->bytes() + taken_, room_);
    taken_ += bytes_of(*value);
  }
  return take_result(concrete(), *backend_.device, result, tensor);
}

Status take_result(const ConcreteGraph& graph, Device& device, const StepResult& result,
                   Tensor& tensor) {
  Operand operand = graph.operand(result.node.outputs()[result.output]);
  if (!tensor.defined()) {
    TENON_ASSIGN(tensor, Tensor::create(operand.type, operand.extents));
  }
  if (operand.dense()) operand.strides = dense_strides(operand.extents, operand.layout);
  if (result.samples > 1) operand.extents[0] /= result.samples;
  if (operand.count() == 0) return {};
  const auto size = static_cast<size_t>(byte_size(operand.type));
  const Strides rows = row_major_strides(operand.extents);
  std::byte* const to =
      tensor.mutable_bytes() + static_cast<size_t>(result.sample * operand.count()) * size;
  const auto take_from = [&](const void* source) {
    strided_copy(to, rows, static_cast<const std::byte*>(source), operand.strides, operand.extents,
                 static_cast<int>(size));
  };
  if (device.capabilities().host_cores) {
    take_from(result.address);
    return {};
  }
  const size_t bytes = static_cast<size_t>(extent_in_memory(operand)) * size;
  const bool is_in_rows = operand.strides == rows;
  std::unique_ptr<std::byte[]> copy;
  if (!is_in_rows) copy = std::make_unique_for_overwrite<std::byte[]>(bytes);
  TENON_TRY(device.download(is_in_rows ? to : copy.get(), result.address, bytes, {}));
  TENON_TRY(device.synchronize({}));
  if (!is_in_rows) take_from(copy.get());
  return {};
}

Result<Tensor> ObservedRun::contents(const Value* value) {
  if (const auto found = contents_.find(value); found != contents_.end()) return found->second;
  if (const Tensor* known = concrete().known(value)) return *known;
  const Node* node = value->producer();
  if (node == nullptr) {
    const Extents& extents = inputs_[value->index()].extents();
    return inputs_[value->index()].reshaped(extents);
  }
  if (!concrete().is_view(*node)) return internal_error("{} was not kept", quoted_name(*value));
  std::vector<Tensor> operands;
  std::vector<const Tensor*> pointers;
  for (const Value* input : node->inputs()) {
    Tensor& operand = operands.emplace_back();
    if (input == nullptr) continue;
    TENON_ASSIGN(operand, contents(input));
  }
  for (size_t i = 0; i < operands.size(); ++i)
    pointers.push_back(node->inputs()[i] == nullptr ? nullptr : &operands[i]);
  TENON_ASSIGN(std::vector<Tensor> results, evaluate_node(*node, pointers, &concrete().symbols()));
  for (size_t i = 0; i < results.size(); ++i) contents_[node->outputs()[i]] = std::move(results[i]);
  return contents_.at(value);
}

Result<std::vector<Tensor>> run_plan(const Plan& plan, const Backend& backend, int threads,
                                     std::span<const Tensor> inputs,
                                     const ReferencePace::Told& told,
                                     const ReferencePace::Ran& ran) {
  TENON_ASSIGN(ObservedRun run, ObservedRun::create(plan, backend, threads));
  TENON_TRY(run.prepare(inputs));
  ReferencePace pace(told, ran);
  if (told)
    for (const auto& node : run.graph().nodes())
      if (!node->tactic.empty() && !run.concrete().is_view(*node))
        pace.expect(*node, work_of(run.concrete().problem(*node, backend, threads)));
  pace.begin();
  TENON_TRY(run.run({}, told ? &pace : nullptr));
  return run.outputs();
}

}  // namespace tenon

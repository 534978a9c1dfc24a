#include "select/sequence_runner.h"

#include <algorithm>

#include "ops/application.h"
#include "plan/walks.h"

namespace tenon {
namespace {

/// Kernels that were not part of so many timed sequences are let go.
constexpr int kPatience = 8;

}  // namespace

Status SequenceRunner::reserve() {
  if (memory_) return {};
  TENON_ASSIGN(memory_, ValueMemory::create(backend_, layers_.graph, layers_.nodes));
  for (const auto& [input, bytes] : memory_->inputs())
    TENON_TRY(measurer_.fill(memory_->address(input), input->type.type, bytes));
  return {};
}

Result<std::shared_ptr<Kernel>> SequenceRunner::make(size_t layer, const std::string& tactic,
                                                     bool lets) const {
  const TacticText text = split_tactic(tactic);
  const Tactic* found = backend_.find(text.name);
  if (found == nullptr) return unsupported("no tactic '{}'", text.name);
  TENON_TRY(backend_.device->activate());
  TENON_ASSIGN(std::shared_ptr<Kernel> kernel,
               create_kernel(*found, layers_.problems[layer], text.config));
  if (lets) TENON_TRY(kernel->let_next_start());
  return kernel;
}

Status SequenceRunner::make_missing(std::span<const Key> keys) {
  std::vector<Key> missing;
  for (const Key& key : keys)
    if (!kernels_.contains(key)) missing.push_back(key);
  std::vector<Result<std::shared_ptr<Kernel>>> made(missing.size(), std::shared_ptr<Kernel>());
  const auto make_one = [&](size_t i) {
    const auto& [layer, tactic, lets] = missing[i];
    made[i] = make(layer, tactic, lets);
  };
  const auto node = [&](size_t i) -> const Node& {
    return *layers_.nodes[std::get<0>(missing[i])];
  };
  for_each_node_parallel(missing.size(), node, make_one);
  Status status;
  for (size_t i = 0; i < missing.size(); ++i) {
    if (made[i].ok())
      kernels_[missing[i]] = {std::move(*made[i]), uses_};
    else
      status = made[i].error();
  }
  return status;
}

/// Of a value that no layer computes as of others: a part of a constant lies in that.
Result<void*> SequenceRunner::address(const Value* value) const {
  const Storage& storage = layers_.graph.storage(value);
  if (layers_.graph.known(storage.root) == nullptr) return memory_->address(value);
  TENON_ASSIGN(void* const whole, measurer_.constant(layers_.graph.operand(storage.root), true));
  return static_cast<char*>(whole) + storage.offset * byte_size(value->type.type);
}

Status SequenceRunner::set(size_t layer, bool lets) {
  Part& part = parts_[layer];
  const auto& kernel = kernels_.at({layer, part.tactic, lets}).kernel;
  const Problem& problem = layers_.problems[layer];
  const Node& node = *layers_.nodes[layer];
  part.inputs.clear();
  part.outputs.clear();
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const Operand& operand = problem.inputs[i];
    void* address = nullptr;
    if (operand.present && operand.constant != nullptr) {
      TENON_ASSIGN(address, measurer_.constant(operand, kernel->uses_input(static_cast<int>(i))));
    } else if (operand.present) {
      TENON_ASSIGN(address, this->address(node.inputs()[i]));
    }
    part.inputs.push_back(address);
  }
  for (size_t i = 0; i < problem.outputs.size(); ++i)
    part.outputs.push_back(problem.outputs[i].present ? memory_->address(node.outputs()[i])
                                                      : nullptr);
  part.kernel = kernel;
  part.lets_next_start = lets;
  return {};
}

Status SequenceRunner::assign(std::span<const size_t> layers, const std::string& tactic) {
  TENON_TRY(reserve());
  const Key one{layers[0], tactic, false};
  TENON_TRY(make_missing({&one, 1}));
  const bool waits = kernels_.at(one).kernel->waits_for_previous();
  for (const size_t layer : layers) parts_[layer] = {tactic, waits, false, {}, {}, {}};
  return {};
}

void SequenceRunner::prepare(std::span<const size_t> layers, std::span<const std::string> tactics) {
  std::vector<Key> keys;
  for (const std::string& tactic : tactics) {
    keys.emplace_back(layers[0], tactic, false);  // Says whether it waits.
    for (const size_t layer : layers) {
      const bool lets = layer + 1 < parts_.size() && parts_[layer + 1].waits;
      if (lets || layer != layers[0]) keys.emplace_back(layer, tactic, lets);
    }
  }
  const Status made = make_missing(keys);
  static_cast<void>(made);
}

void SequenceRunner::prepare(std::span<const std::pair<size_t, std::string>> first_layers) {
  std::vector<Key> keys;
  for (const auto& [layer, tactic] : first_layers) keys.emplace_back(layer, tactic, false);
  const Status made = make_missing(keys);
  static_cast<void>(made);
}

Status SequenceRunner::link() {
  std::vector<Key> changing;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const bool lets = i + 1 < parts_.size() && parts_[i + 1].waits;
    if (parts_[i].kernel == nullptr || lets != parts_[i].lets_next_start)
      changing.emplace_back(i, parts_[i].tactic, lets);
  }
  TENON_TRY(make_missing(changing));
  for (const auto& [layer, tactic, lets] : changing) TENON_TRY(set(layer, lets));
  return {};
}

void SequenceRunner::forget_unused() {
  for (size_t i = 0; i < parts_.size(); ++i)
    kernels_.at({i, parts_[i].tactic, parts_[i].lets_next_start}).last_use = uses_;
  std::erase_if(kernels_,
                [&](const auto& entry) { return entry.second.last_use < uses_ - kPatience; });
}

Status SequenceRunner::grow_workspace() {
  size_t bytes = 0;
  for (const Part& part : parts_) bytes = std::max(bytes, part.kernel->workspace_bytes());
  if (bytes <= workspace_bytes_) return {};
  workspace_ = {};
  TENON_ASSIGN(workspace_, backend_.allocate(bytes));
  workspace_bytes_ = bytes;
  return {};
}

std::vector<Walk> SequenceRunner::walks() const {
  std::vector<WalkingStep> steps;
  for (size_t i = 0; i < parts_.size(); ++i)
    steps.push_back({layers_.nodes[i], parts_[i].kernel->walks()});
  return plan_walks(layers_.graph, steps);
}

Status SequenceRunner::run(std::span<const Walk> walks) const {
  TENON_ASSIGN(const Queue queue, measurer_.queue());
  for (size_t i = 0; i < parts_.size(); ++i)
    TENON_TRY(parts_[i].kernel->run({.inputs = parts_[i].inputs,
                                     .outputs = parts_[i].outputs,
                                     .workspace = workspace_.get(),
                                     .queue = queue,
                                     .walk = walks[i]}));
  return {};
}

Result<SequenceTime> SequenceRunner::time() {
  ++uses_;
  TENON_TRY(link());
  forget_unused();
  TENON_TRY(grow_workspace());
  TENON_ASSIGN(const SequenceTime time,
               measurer_.time_sequence([this, walks = walks()] { return run(walks); }, about_));
  about_ = time.median;
  return time;
}

}  // namespace tenon

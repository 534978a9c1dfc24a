#include "runtime/known_program.h"

#include <fmt/format.h>

#include <map>

#include "ops/dims.h"
#include "ops/operation_text.h"

namespace tenon {
namespace {

/// Constants up to this many elements may be numbers in a kernel's code.
constexpr int64_t kFewElements = 64;

/// What a value is to a kernel, but for the elements of large constants.
void add_value(std::string& key, const Value* value) {
  if (value == nullptr) {
    key += " -";
    return;
  }
  fmt::format_to(std::back_inserter(key), " {}{}{}", name_of(value->type.type),
                 to_string(value->type.shape),
                 value->type.layout == Layout::kChannelsLast ? "@nhwc" : "");
  const Tensor* constant = value->constant();
  if (constant == nullptr) return;
  key += 'c';
  if (constant->defined() && constant->count() <= kFewElements) key += constant->content_hash();
}

bool reads_dims(const Node& node) {
  for (const Value* input : node.inputs())
    if (input != nullptr && input->producer() != nullptr && input->producer()->is<Dims>())
      return true;
  return false;
}

std::string key_of(const Node& node, const std::string& tactic) {
  std::string key = tactic + ' ';
  add_operation_text(key, node);
  for (const Value* input : node.inputs()) add_value(key, input);
  key += " ->";
  for (const Value* output : node.outputs()) add_value(key, output);
  return key;
}

}  // namespace

KnownProgram::KnownProgram(std::shared_ptr<const Program> program)
    : program_(std::move(program)), list_(*program_) {
  std::map<std::string, int> leaders;
  for (int step = 0; step < program_->step_count(); ++step) {
    const Kernel* const kernel = program_->step_kernel(step);
    const auto* shared = dynamic_cast<const SharedLaunches*>(kernel);
    const Node& node = program_->step_node(step);
    if (shared == nullptr || reads_dims(node)) continue;
    const auto [entry, is_new] =
        leaders.try_emplace(key_of(node, program_->shared_list().steps[step].kernel), step);
    const int leader = entry->second;
    // Contents that made a difference to the code show here.
    const bool follows =
        is_new || (shared->launches_like(*program_->step_kernel(leader)) &&
                   program_->graph().has_equal_operands(node, program_->step_node(leader)));
    entries_[&node] = {follows ? &program_->step_node(leader) : &node, shared,
                       program_->shared_list().steps[step].kernel};
  }
}

const Node& KnownProgram::leader_of(const Node& node) const {
  const auto found = entries_.find(&node);
  return found == entries_.end() ? node : *found->second.leader;
}

std::string_view KnownProgram::tactic_of(const Node& node) const {
  const auto found = entries_.find(&node);
  return found == entries_.end() ? std::string_view() : found->second.tactic;
}

const SharedLaunches* KnownProgram::kernel_of(const Node& node) const {
  const auto found = entries_.find(&node);
  return found == entries_.end() ? nullptr : found->second.kernel;
}

}  // namespace tenon

// A plugin's enqueue() as a kernel.
#include "kernels/tactic.h"

#include <algorithm>

#include "kernels/plugin/choice.h"
#include "kernels/plugin/formatted_operands.h"
#include "kernels/plugin/resources.h"
#include "network/convert.h"
#include "ops/structure.h"
#include "plugin/instance.h"

namespace tenon::tactics::plugin_enqueue {
namespace {

using nvinfer1::PluginTensorDesc;

/// Of the operands that the plugin reads, then of its outputs.
std::vector<PluginTensorDesc> descriptions(const Problem& problem,
                                           const plugin::Combination& formats) {
  std::vector<PluginTensorDesc> result;
  for (const plugin::OperandType& operand : operand_types(problem)) {
    const plugin::OperandFormat& format = formats[result.size()];
    result.push_back({operand.dims, format.type, format.format, operand.scale});
  }
  return result;
}

/// The plugin object of a node in a context, which its kernels for several shapes take turns with.
struct Attached {
  explicit Attached(const Problem& problem) : resources(problem) {}
  PluginResources resources;
  std::unique_ptr<plugin::Instance> instance;
  const void* prepared_for = nullptr;  ///< The kernel whose shapes the object knows.
};

Result<std::unique_ptr<plugin::Instance>> make_instance(const Problem& problem) {
  const auto* op = problem.operation.as<Plugin>();
  return plugin::Instance::create(identity_of(*op), op->fields);
}

Result<std::shared_ptr<Attached>> attached_of(const Problem& problem) {
  std::shared_ptr<void> own;
  std::shared_ptr<void>& kept =
      problem.attachments != nullptr ? problem.attachments->of(problem.operation) : own;
  if (kept == nullptr) {
    auto attached = std::make_shared<Attached>(problem);
    TENON_ASSIGN(attached->instance, make_instance(problem));
    kept = attached;
  }
  return std::static_pointer_cast<Attached>(kept);
}

/// For runs that follow each other. On a GPU a run puts its work on the queue's stream.
class PluginKernel final : public Kernel {
 public:
  PluginKernel(std::shared_ptr<Attached> attached, const Problem& problem,
               const PluginChoice& choice, FormattedOperands formatted)
      : attached_(std::move(attached)),
        inputs_(descriptions(problem, choice.combination)),
        formatted_(std::move(formatted)),
        tactic_(choice.tactic),
        device_(*problem.device),
        aliases_(attached_->instance->aliased_inputs()),
        shares_memory_(std::ranges::any_of(aliases_, [](int32_t input) { return input >= 0; })) {
    const auto read = inputs_.begin() + static_cast<std::ptrdiff_t>(read_inputs(problem).size());
    outputs_.assign(read, inputs_.end());
    inputs_.erase(read, inputs_.end());
    for (const Operand& operand : problem.outputs)
      bytes_.push_back(static_cast<size_t>(operand.count() * byte_size(operand.type)));
  }
  ~PluginKernel() override {
    if (attached_->prepared_for == this) attached_->prepared_for = nullptr;
  }

  Status prepare() {
    TENON_TRY(check_aliases());
    if (shares_memory_ && !formatted_.empty())
      return unsupported("an output that shares memory with an input would not do so reformatted");
    TENON_TRY(tell_shapes());
    workspace_bytes_ = formatted_.bytes() + attached_->instance->workspace_bytes();
    return {};
  }
  size_t workspace_bytes() const override { return workspace_bytes_; }
  // Its kernels may be a library's.
  bool reads_early(int) const override { return true; }
  Status run(const LaunchArguments& arguments) const override {
    if (attached_->prepared_for != this) TENON_TRY(tell_shapes());
    if (formatted_.empty() && !shares_memory_)
      return attached_->instance->enqueue(inputs_, outputs_, arguments.inputs.data(),
                                          arguments.outputs.data(), arguments.workspace,
                                          arguments.queue.stream);
    auto* const memory = static_cast<std::byte*>(arguments.workspace);
    std::vector<const void*> inputs(arguments.inputs.begin(), arguments.inputs.end());
    std::vector<void*> outputs(arguments.outputs.begin(), arguments.outputs.end());
    TENON_TRY(formatted_.enter(inputs, outputs, memory, arguments.queue));
    TENON_TRY(share_memory(outputs, inputs, arguments.queue));
    TENON_TRY(attached_->instance->enqueue(inputs_, outputs_, inputs.data(), outputs.data(),
                                           memory + formatted_.bytes(), arguments.queue.stream));
    return formatted_.leave(arguments.outputs, memory, arguments.queue);
  }

 private:
  /// Outputs that share memory with an input begin as it: the plugin changes them in place. Where
  /// the application bound both to one address, that is the input itself.
  Status share_memory(std::span<void* const> outputs, std::vector<const void*>& inputs,
                      Queue queue) const {
    for (size_t i = 0; i < aliases_.size(); ++i) {
      if (aliases_[i] < 0) continue;
      const auto input = static_cast<size_t>(aliases_[i]);
      void* output = outputs[i];
      if (inputs[input] != output) TENON_TRY(device_.copy(output, inputs[input], bytes_[i], queue));
      inputs[input] = output;
    }
    return {};
  }
  Status check_aliases() const {
    for (size_t i = 0; i < aliases_.size(); ++i) {
      if (aliases_[i] < 0) continue;
      const auto input = static_cast<size_t>(aliases_[i]);
      if (input >= inputs_.size() || i >= outputs_.size() ||
          inputs_[input].type != outputs_[i].type || inputs_[input].format != outputs_[i].format ||
          !same(inputs_[input].dims, outputs_[i].dims))
        return user_error(
            "output {} shares memory with input {}, which is none of its type, format and shape", i,
            aliases_[i]);
    }
    return {};
  }
  static bool same(const nvinfer1::Dims& a, const nvinfer1::Dims& b) {
    return a.nbDims == b.nbDims && std::equal(a.d, a.d + a.nbDims, b.d);
  }
  Status tell_shapes() const {
    attached_->prepared_for = nullptr;
    TENON_TRY(attached_->instance->prepare(inputs_, outputs_, tactic_, &attached_->resources));
    attached_->prepared_for = this;
    return {};
  }

  std::shared_ptr<Attached> attached_;
  std::vector<PluginTensorDesc> inputs_, outputs_;
  FormattedOperands formatted_;
  int32_t tactic_;
  Device& device_;
  std::vector<int32_t> aliases_;  ///< For each output the input that it shares memory with, or -1.
  bool shares_memory_;            ///< Some output does.
  std::vector<size_t> bytes_;     ///< Of each output.
  size_t workspace_bytes_ = 0;
};

bool is_linear(const Operand& operand) {
  return operand.dense() && operand.layout == Layout::kRowMajor;
}

}  // namespace

Support supports(const Problem& problem) {
  if (!problem.operation.is<Plugin>()) return Support::no("no plugin");
  for (const auto* operands : {&problem.inputs, &problem.outputs})
    for (const Operand& operand : *operands)
      if (operand.present && !is_linear(operand))
        return Support::no("the graph gives plugins linear tensors only");
  const auto instance = make_instance(problem);
  return instance.ok() ? Support::of(choices_of(**instance, problem)) : Support::of(instance);
}

std::vector<std::string> configs(const Problem& problem) {
  const auto instance = make_instance(problem);
  if (!instance.ok()) return single_config(problem);
  const auto choices = choices_of(**instance, problem);
  if (!choices.ok()) return single_config(problem);
  std::vector<std::string> all;
  for (const PluginChoice& choice : *choices) all.push_back(choice.text());
  return all;
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view config) {
  if (!problem.operation.is<Plugin>()) return internal_error("'{}' is no plugin", problem.layer);
  TENON_ASSIGN(const PluginChoice choice, choice_of(problem, config));
  TENON_ASSIGN(FormattedOperands formatted,
               FormattedOperands::make(problem, choice.combination, read_inputs(problem).size()));
  TENON_ASSIGN(auto attached, attached_of(problem));
  auto kernel =
      std::make_unique<PluginKernel>(std::move(attached), problem, choice, std::move(formatted));
  TENON_TRY(kernel->prepare());
  return std::unique_ptr<Kernel>(std::move(kernel));
}

}  // namespace tenon::tactics::plugin_enqueue

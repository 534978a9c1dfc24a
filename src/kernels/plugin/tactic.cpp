// A plugin's enqueue() as a kernel.
#include "kernels/tactic.h"

#include <algorithm>
#include <charconv>

#include "kernels/plugin/resources.h"
#include "network/convert.h"
#include "ops/structure.h"
#include "plugin/instance.h"

namespace tenon::tactics::plugin_enqueue {
namespace {

using nvinfer1::PluginTensorDesc;

plugin::Identity identity_of(const tenon::Plugin& op) {
  return {op.type, op.version, op.space};
}

std::span<const Operand> inputs_of(const Problem& problem) {
  const int64_t read = problem.operation.as<tenon::Plugin>()->inputs;
  const std::span<const Operand> all = problem.inputs;
  return read < 0 ? all : all.first(static_cast<size_t>(read));
}

std::vector<PluginTensorDesc> descriptions(std::span<const Operand> operands) {
  std::vector<PluginTensorDesc> result;
  for (const Operand& operand : operands)
    result.push_back({network::to_dims(operand.extents),
                      network::to_public(operand.type).value_or(nvinfer1::DataType::kFLOAT),
                      nvinfer1::TensorFormat::kLINEAR, 1.0F});
  return result;
}

/// Whether the object takes the operands, with all extents known.
Status check_formats(plugin::Instance& instance, const Problem& problem) {
  std::vector<plugin::OperandType> all;
  for (const auto& operands : {inputs_of(problem), std::span<const Operand>(problem.outputs)})
    for (const PluginTensorDesc& operand : descriptions(operands))
      all.push_back({operand.dims, operand.type});
  return instance.check_formats(all, static_cast<int32_t>(inputs_of(problem).size()));
}

/// The plugin object of a node in a context, which its kernels for several shapes take turns with.
struct Attached {
  explicit Attached(const Problem& problem) : resources(problem) {}
  PluginResources resources;
  std::unique_ptr<plugin::Instance> instance;
  const void* prepared_for = nullptr;  ///< The kernel whose shapes the object knows.
};

Result<std::shared_ptr<Attached>> attached_of(const Problem& problem) {
  std::shared_ptr<void> own;
  std::shared_ptr<void>& kept =
      problem.attachments != nullptr ? problem.attachments->of(problem.operation) : own;
  if (kept == nullptr) {
    const auto* op = problem.operation.as<tenon::Plugin>();
    auto attached = std::make_shared<Attached>(problem);
    TENON_ASSIGN(attached->instance, plugin::Instance::create(identity_of(*op), op->fields));
    kept = attached;
  }
  return std::static_pointer_cast<Attached>(kept);
}

/// For runs that follow each other. On a GPU a run puts its work on the queue's stream.
class PluginKernel final : public Kernel {
 public:
  PluginKernel(std::shared_ptr<Attached> attached, const Problem& problem, int32_t tactic)
      : attached_(std::move(attached)),
        inputs_(descriptions(inputs_of(problem))),
        outputs_(descriptions(problem.outputs)),
        tactic_(tactic),
        device_(*problem.device),
        aliases_(attached_->instance->aliased_inputs()) {
    for (const Operand& operand : problem.outputs)
      bytes_.push_back(static_cast<size_t>(operand.count() * byte_size(operand.type)));
  }
  ~PluginKernel() override {
    if (attached_->prepared_for == this) attached_->prepared_for = nullptr;
  }

  Status prepare() {
    TENON_TRY(check_aliases());
    TENON_TRY(tell_shapes());
    workspace_bytes_ = attached_->instance->workspace_bytes();
    return {};
  }
  size_t workspace_bytes() const override { return workspace_bytes_; }
  // Its kernels may be a library's.
  bool reads_early(int) const override { return true; }
  Status run(const LaunchArguments& arguments) const override {
    if (attached_->prepared_for != this) TENON_TRY(tell_shapes());
    std::vector<const void*> inputs(arguments.inputs.begin(), arguments.inputs.end());
    TENON_TRY(share_memory(arguments, inputs));
    return attached_->instance->enqueue(inputs_, outputs_, inputs.data(), arguments.outputs.data(),
                                        arguments.workspace, arguments.queue.stream);
  }

 private:
  /// Outputs that share memory with an input begin as it: the plugin changes them in place. Where
  /// the application bound both to one address, that is the input itself.
  Status share_memory(const LaunchArguments& arguments, std::vector<const void*>& inputs) const {
    for (size_t i = 0; i < aliases_.size(); ++i) {
      if (aliases_[i] < 0) continue;
      const auto input = static_cast<size_t>(aliases_[i]);
      void* output = arguments.outputs[i];
      if (inputs[input] != output)
        TENON_TRY(device_.copy(output, inputs[input], bytes_[i], arguments.queue));
      inputs[input] = output;
    }
    return {};
  }
  Status check_aliases() const {
    for (size_t i = 0; i < aliases_.size(); ++i) {
      if (aliases_[i] < 0) continue;
      const auto input = static_cast<size_t>(aliases_[i]);
      if (input >= inputs_.size() || i >= outputs_.size() ||
          inputs_[input].type != outputs_[i].type || !same(inputs_[input].dims, outputs_[i].dims))
        return user_error(
            "output {} shares memory with input {}, which is none of its type and shape", i,
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
  int32_t tactic_;
  Device& device_;
  std::vector<int32_t> aliases_;  ///< For each output the input that it shares memory with, or -1.
  std::vector<size_t> bytes_;     ///< Of each output.
  size_t workspace_bytes_ = 0;
};

bool is_linear(const Operand& operand) {
  return operand.dense() && operand.layout == Layout::kRowMajor;
}

}  // namespace

Support supports(const Problem& problem) {
  const auto* op = problem.operation.as<tenon::Plugin>();
  if (op == nullptr) return Support::no("no plugin");
  for (const auto* operands : {&problem.inputs, &problem.outputs})
    for (const Operand& operand : *operands)
      if (operand.present && !is_linear(operand))
        return Support::no("plugins take linear tensors only");
  const auto instance = plugin::Instance::create(identity_of(*op), op->fields);
  return instance.ok() ? Support::of(check_formats(**instance, problem)) : Support::of(instance);
}

std::vector<std::string> configs(const Problem& problem) {
  const auto* op = problem.operation.as<tenon::Plugin>();
  auto instance = plugin::Instance::create(identity_of(*op), op->fields);
  std::vector<std::string> numbers;
  if (instance.ok())
    for (const int32_t tactic : (*instance)->tactics())
      numbers.push_back(fmt::format("tactic={}", tactic));
  return numbers.empty() ? single_config(problem) : numbers;
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view config) {
  const auto* op = problem.operation.as<tenon::Plugin>();
  if (op == nullptr) return internal_error("'{}' is no plugin", problem.layer);
  TENON_ASSIGN(auto attached, attached_of(problem));
  int32_t tactic = -1;
  if (const size_t equals = config.find('='); equals != std::string_view::npos)
    std::from_chars(config.data() + equals + 1, config.data() + config.size(), tactic);
  auto kernel = std::make_unique<PluginKernel>(std::move(attached), problem, tactic);
  TENON_TRY(kernel->prepare());
  return std::unique_ptr<Kernel>(std::move(kernel));
}

}  // namespace tenon::tactics::plugin_enqueue

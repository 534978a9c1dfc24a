#include "tenon/report.h"

#include <unordered_map>

#include "api/build_report.h"
#include "api/builder_config.h"
#include "api/context.h"
#include "api/host_memory.h"
#include "api/inspector.h"
#include "api/layer_description.h"
#include "api/layer_words.h"
#include "api/layer_work.h"
#include "device/streams.h"
#include "ops/ops.h"

#define TENON_EXPORT __attribute__((visibility("default")))

namespace tenon {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* start = reinterpret_cast<const std::byte*>(text.data());
  return {start, start + text.size()};
}

/// What a program runs, as JSON.
class RunText {
 public:
  RunText(const Plan& plan, const Backend& backend, const Program& program, bool names_only)
      : plan_(plan), backend_(backend), program_(program), names_only_(names_only) {
    for (int step = 0; step < program.step_count(); ++step)
      steps_.try_emplace(&program.step_node(step), step);
  }

  Json text() {
    Json layers = Json::array();
    for (const Node* node : api::layers_of(program_.graph().graph()))
      layers.push_back(layer(*node));
    const Json memory = this->memory();
    return {{"device", plan_.device_name},
            {"on_cpu", plan_.device == DeviceKind::kCpu},
            {"settings", api::short_settings(plan_)},
            {"passes", plan_.passes},
            {"layers", layers},
            {"values", values_},
            {"inputs", numbers(program_.graph().graph().inputs())},
            {"outputs", numbers(program_.graph().graph().outputs())},
            {"memory", memory}};
  }

 private:
  Json layer(const Node& node) {
    Json json = {{"name", node.name}};
    if (names_only_) return json;
    const api::LayerWords words = api::words_of(node, api::anchor_of(node));
    json["type"] = words.layer_type;
    json["kind"] = api::kind_of(node);
    json["members"] = members(node);
    json["tactic"] = node.tactic;
    if (const Tactic* row = backend_.row_of(node.tactic);
        row != nullptr && row->traits.fallback != Fallback::kNo)
      json["fallback"] = true;
    json["in"] = operands(node);
    json["out"] = numbers(node.outputs());
    json["origins"] = node.origins;
    json["precision"] = precision(node);
    if (const auto step = steps_.find(&node); step != steps_.end()) {
      json["step"] = step->second;
      json["stream"] = program_.step_stream(step->second);
      add_work(json, node, program_.step_owned_bytes(step->second));
    }
    return json;
  }

  void add_work(Json& json, const Node& node, size_t owned) const {
    const api::LayerWork work = api::work_of(node, program_.graph());
    json["operations"] = work.operations;
    json["read"] = work.read;
    json["written"] = work.written;
    json["weights"] = work.weights;
    if (owned > 0) json["owned"] = owned;
  }

  static Json members(const Node& node) {
    Json names = Json::array();
    if (!node.is<Fused>()) return names;
    for (const auto& member : node.bodies[0]->nodes())
      if (!member->is<Constant>()) names.push_back(member->op->name());
    return names;
  }

  Json operands(const Node& node) {
    Json list = Json::array();
    for (const Value* input : node.inputs())
      if (input != nullptr && input->constant() == nullptr) list.push_back(number(input));
    return list;
  }

  template <class Values> Json numbers(const Values& values) {
    Json list = Json::array();
    for (const Value* value : values) list.push_back(number(value));
    return list;
  }

  /// Of the first operand that is no index: it is multiplied or moved.
  static std::string precision(const Node& node) {
    for (const Value* input : node.inputs())
      if (input != nullptr && (is_real(input->type.type) || byte_size(input->type.type) == 1))
        return api::precision_word(input->type.type);
    return node.outputs().empty() ? "" : api::precision_word(node.output()->type.type);
  }

  int number(const Value* value) {
    const auto [entry, is_new] = numbers_.try_emplace(value, static_cast<int>(values_.size()));
    if (!is_new) return entry->second;
    Json json = {{"name", names_only_ ? "" : name_of_value(*value)},
                 {"type", api::precision_word(value->type.type)}};
    if (program_.graph().resolved(value)) {
      const Extents& extents = program_.graph().extents(value);
      json["dims"] = extents;
      json["bytes"] = element_count(extents) * byte_size(value->type.type);
    }
    if (value->type.layout == Layout::kChannelsLast) json["layout"] = "channels last";
    values_.push_back(std::move(json));
    return entry->second;
  }

  static std::string name_of_value(const Value& value) {
    if (!value.name.empty() || value.producer() == nullptr) return value.name;
    return value.producer()->name + "_output";
  }

  Json memory() {
    Json buffers = Json::array();
    for (const Program::PlacedBuffer& buffer : program_.buffers()) {
      Json row = {{"offset", buffer.offset},
                  {"bytes", buffer.bytes},
                  {"first", buffer.first},
                  {"last", buffer.last}};
      if (buffer.value != nullptr) row["value"] = number(buffer.value);
      buffers.push_back(std::move(row));
    }
    Json steps = Json::array();
    for (int step = 0; step < program_.step_count(); ++step)
      steps.push_back(program_.step_node(step).name);
    return {{"bytes", program_.arena_bytes()},
            {"least", program_.arena_lower_bound()},
            {"steps", steps},
            {"buffers", buffers}};
  }

  const Plan& plan_;
  const Backend& backend_;
  const Program& program_;
  bool names_only_;
  std::unordered_map<const Node*, int> steps_;
  std::unordered_map<const Value*, int> numbers_;
  Json values_ = Json::array();
};

Result<std::string> run_text(api::ContextHandle& handle) {
  Context& context = handle.context();
  TENON_TRY(context.read_values());
  TENON_TRY(context.prepare());
  if (context.program() == nullptr)
    return user_error("getRunReport: shapes are data-dependent, so layers have no fixed order");
  const bool names_only =
      handle.getEngine().getProfilingVerbosity() == nvinfer1::ProfilingVerbosity::kNONE;
  const Engine& engine = context.engine();
  return api::json_text(
      RunText(engine.plan(), engine.backend(), *context.program(), names_only).text());
}

Json json_of(const KernelRecord& kernel) {
  Json json = {{"layer", kernel.range},
               {"name", kernel.name},
               {"stream", kernel.stream},
               {"startMs", kernel.start_ms},
               {"ms", kernel.ms},
               {"grid", kernel.grid},
               {"block", kernel.block},
               {"registers", kernel.registers},
               {"sharedBytes", kernel.shared_bytes}};
  if (kernel.local_bytes > 0) json["localBytes"] = kernel.local_bytes;
  if (kernel.occupancy > 0) json["occupancy"] = kernel.occupancy;
  if (kernel.waves > 0) json["waves"] = kernel.waves;
  if (kernel.bytes_read >= 0) json["bytesRead"] = kernel.bytes_read;
  if (kernel.bytes_written >= 0) json["bytesWritten"] = kernel.bytes_written;
  if (kernel.tensor_share >= 0) json["tensorShare"] = kernel.tensor_share;
  return json;
}

/// The kernels of runs of the context, which has nothing else under way.
Result<Json> kernels_text(api::ContextHandle& handle, cudaStream_t stream) {
  Context& context = handle.context();
  Device& device = *context.engine().backend().device;
  Json text = {{"kernels", Json::array()}};
  const auto without = [&](const std::string& reason) {
    text["reason"] = reason;
    return text;
  };
  if (device.streams() == nullptr) return without("kernels are recorded on GPUs alone");
  if (context.replays_graphs())
    return without(
        "launches are replayed as a graph (setGraphReplay), whose kernels have no layer");
  // The profiler's own graph would hide the launches.
  context.set_step_times(nullptr);
  context.set_ranges(Context::Ranges::kNames);
  Status ran;
  const auto records = device.streams()->record_kernels([&]() -> Status {
    ran = context.enqueue(stream);
    if (ran.ok()) ran = device.synchronize({nullptr, stream});
    return ran;
  });
  handle.setNvtxVerbosity(handle.getNvtxVerbosity());
  TENON_TRY(ran);
  if (!records.ok()) return without(records.error().message);
  for (const KernelRecord& kernel : records->kernels) text["kernels"].push_back(json_of(kernel));
  if (!records->without_counters.empty()) text["withoutCounters"] = records->without_counters;
  return text;
}

}  // namespace

TENON_EXPORT bool keepBuildReport(nvinfer1::IBuilderConfig& config, bool keep) noexcept {
  auto* settings = dynamic_cast<api::BuilderConfig*>(&config);
  if (settings == nullptr) return false;
  settings->keep_report(keep);
  return true;
}

TENON_EXPORT nvinfer1::IHostMemory* getBuildReport(
    const nvinfer1::IBuilderConfig& config) noexcept {
  const auto* settings = dynamic_cast<const api::BuilderConfig*>(&config);
  if (settings == nullptr || settings->report() == nullptr) return nullptr;
  const std::string& text = settings->report()->text();
  return text.empty() ? nullptr : new (std::nothrow) api::HostMemory(bytes_of(text));
}

TENON_EXPORT nvinfer1::IHostMemory* getKernelReport(nvinfer1::IExecutionContext& context,
                                                    cudaStream_t stream) noexcept {
  auto* handle = dynamic_cast<api::ContextHandle*>(&context);
  if (handle == nullptr) return nullptr;
  return handle->reporter().guarded("getKernelReport", nullptr, [&]() -> nvinfer1::IHostMemory* {
    const Result<Json> text = kernels_text(*handle, stream);
    if (text.ok()) return new api::HostMemory(bytes_of(api::json_text(*text)));
    handle->reporter().report(text.error());
    return nullptr;
  });
}

TENON_EXPORT nvinfer1::IHostMemory* getRunReport(nvinfer1::IExecutionContext& context) noexcept {
  auto* handle = dynamic_cast<api::ContextHandle*>(&context);
  if (handle == nullptr) return nullptr;
  return handle->reporter().guarded("getRunReport", nullptr, [&]() -> nvinfer1::IHostMemory* {
    const Result<std::string> text = run_text(*handle);
    if (text.ok()) return new api::HostMemory(bytes_of(*text));
    handle->reporter().report(text.error());
    return nullptr;
  });
}

}  // namespace tenon

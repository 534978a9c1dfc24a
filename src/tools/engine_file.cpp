#include "tools/engine_file.h"

#include <chrono>
#include <cstring>

#include "tenon/device.h"
#include "tenon/runtime.h"
#include "tools/exports.h"
#include "tools/values.h"

namespace tenon::tools {
namespace {

using nvinfer1::ICudaEngine;
using nvinfer1::IRuntime;

constexpr uint32_t kPlanMagic = 0x74727466;
constexpr uint32_t kPlanFormat = 5, kOldestPlanFormat = 1;
constexpr size_t kVersionOffset = 24;
constexpr size_t kPlanStart = 32;

constexpr int kUntimedLoads = 2;
constexpr int kTimedLoads = 20;

/// In bytes, of weights of that size; no number for text that is none.
std::optional<int64_t> parse_budget(std::string_view text, const ICudaEngine& engine) {
  const int64_t size = engine.getStreamableWeightsSize();
  if (text == "-2") return size;
  if (text == "-1") return engine.getWeightStreamingAutomaticBudget();
  if (!text.ends_with('%')) return parse_size(text, 'B');
  text.remove_suffix(1);
  const auto percent = parse_real(text);
  if (!percent || *percent < 0 || *percent > 100) return std::nullopt;
  return static_cast<int64_t>(*percent / 100 * static_cast<double>(size));
}

/// --weightStreamingBudget, as NVIDIA's trtexec tells of it.
Status set_streaming_budget(ICudaEngine& engine, const Arguments& arguments, Console& console) {
  const std::string& text = arguments.text(OptionId::weightStreamingBudget);
  if (!arguments.has(OptionId::weightStreamingBudget) || text == "-2") return {};
  const auto budget = parse_budget(text, engine);
  if (!budget)
    return user_error("--weightStreamingBudget: '{}' is no size (bytes, 512M, 50%, -1, -2)", text);
  if (engine.getStreamableWeightsSize() == 0)
    return user_error("--weightStreamingBudget: the plan was built without --allowWeightStreaming");
  if (!engine.setWeightStreamingBudgetV2(*budget))
    return user_error("--weightStreamingBudget={} was refused; see the error above", text);
  console.info("Weight streaming: {} of {} bytes of weights may lie on the device", *budget,
               engine.getStreamableWeightsSize());
  return {};
}

/// A plugin library in a plan runs where the command line names one for the plan, or asks for a
/// plan that later versions load.
void allow_plugins_in_plans(IRuntime& runtime, const Arguments& arguments) {
  runtime.setEngineHostCodeAllowed(!arguments.list(OptionId::setPluginsToSerialize).empty() ||
                                   arguments.flag(OptionId::versionCompatible));
  if (arguments.has(OptionId::tempdir))
    runtime.setTemporaryDirectory(arguments.text(OptionId::tempdir).c_str());
  nvinfer1::TempfileControlFlags flags = runtime.getTempfileControlFlags();
  const auto entries = parse_map("--tempfileControls", arguments.text(OptionId::tempfileControls));
  for (const NamedText& entry : entries.ok() ? *entries : std::vector<NamedText>()) {
    const auto flag = entry.name == "in_memory"
                          ? nvinfer1::TempfileControlFlag::kALLOW_IN_MEMORY_FILES
                          : nvinfer1::TempfileControlFlag::kALLOW_TEMPORARY_FILES;
    const auto bit = nvinfer1::TempfileControlFlags{1} << static_cast<uint32_t>(flag);
    flags = entry.text == "allow" ? flags | bit : flags & ~bit;
  }
  runtime.setTempfileControlFlags(flags);
}

/// A runtime as the arguments want it, and the engine that `load` makes with it.
template <class Load>
Result<LoadedEngine> make_engine(const Arguments& arguments, Console& console,
                                 nvinfer1::ILogger& logger, Load load) {
  const auto start = std::chrono::steady_clock::now();
  LoadedEngine loaded;
  loaded.runtime.reset(nvinfer1::createInferRuntime(logger));
  if (!loaded.runtime) return internal_error("the runtime could not be made");
  setRunDevice(*loaded.runtime, chosen_device(arguments));
  allow_plugins_in_plans(*loaded.runtime, arguments);
  setPlanCodeAllowed(*loaded.runtime, !arguments.flag(OptionId::refusePlanCode));
  if (arguments.integer(OptionId::cpuThreads) > 0) {
    loaded.runtime->setMaxThreads(static_cast<int32_t>(arguments.integer(OptionId::cpuThreads)));
  }
  loaded.engine.reset(load(*loaded.runtime));
  if (!loaded.engine) return user_error("the engine could not be loaded from the plan");
  TENON_TRY(set_streaming_budget(*loaded.engine, arguments, console));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  console.info("Engine deserialized in {:g} sec.", seconds.count());
  return loaded;
}

}  // namespace

Result<MappedBytes> PlanSource::bytes() const {
  if (memory == nullptr) return map_file(file);
  return MappedBytes{static_cast<const std::byte*>(memory->data()), memory->size(), nullptr};
}

Result<PlanSource> save_plan(BuiltPlan plan, NewFile* written, const std::string& file) {
  if (plan.memory == nullptr) {
    TENON_TRY(written->save());
    return PlanSource{nullptr, file};
  }
  const std::span bytes(static_cast<char*>(plan.memory->data()), plan.memory->size());
  TENON_ASSIGN(const bool is_released, write_file_and_release(file, bytes));
  if (is_released) plan.memory.reset();
  return PlanSource{std::move(plan.memory), file};
}

Result<LoadedEngine> load_engine(const PlanSource& plan, const Arguments& arguments,
                                 Console& console, nvinfer1::ILogger& logger) {
  if (plan.memory == nullptr) return load_engine(plan.file, arguments, console, logger);
  const std::span bytes(static_cast<const char*>(plan.memory->data()), plan.memory->size());
  return deserialize(bytes, arguments, console, logger);
}

Result<LoadedEngine> load_engine(const std::string& file, const Arguments& arguments,
                                 Console& console, nvinfer1::ILogger& logger) {
  return make_engine(arguments, console, logger,
                     [&](IRuntime& runtime) { return loadEngine(runtime, file.c_str()); });
}

Result<LoadedEngine> deserialize(std::span<const char> plan, const Arguments& arguments,
                                 Console& console, nvinfer1::ILogger& logger) {
  return make_engine(arguments, console, logger, [&](IRuntime& runtime) {
    return runtime.deserializeCudaEngine(plan.data(), plan.size());
  });
}

Result<std::string> plan_version(const std::string& file) {
  TENON_ASSIGN(const std::vector<char> head, read_file(file, kPlanStart));
  if (head.size() < kPlanStart) return user_error("'{}' is too short to be a plan", file);
  uint32_t words[kPlanStart / sizeof(uint32_t)];
  std::memcpy(words, head.data(), sizeof(words));
  if (words[0] != kPlanMagic) return user_error("'{}' is not a plan", file);
  const uint32_t format = words[1] == 0 ? words[7] : words[1];
  if (format < kOldestPlanFormat || format > kPlanFormat)
    return user_error("'{}' is a plan of an unknown format, {}", file, format);
  const auto* version = reinterpret_cast<const uint8_t*>(head.data() + kVersionOffset);
  return fmt::format("{}.{}.{}.{}", version[0], version[1], version[2], version[3]);
}

Status time_deserialize(std::span<const char> plan, Console& console, nvinfer1::ILogger& logger) {
  const std::unique_ptr<IRuntime> runtime(nvinfer1::createInferRuntime(logger));
  if (!runtime) return internal_error("the runtime could not be made");
  const auto load_ms = [&]() -> Result<double> {
    const auto start = std::chrono::steady_clock::now();
    const std::unique_ptr<ICudaEngine> engine(
        runtime->deserializeCudaEngine(plan.data(), plan.size()));
    if (!engine) return user_error("the engine could not be loaded from the plan");
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
  };
  for (int i = 0; i < kUntimedLoads; ++i) TENON_TRY(load_ms());
  TENON_ASSIGN(const double first, load_ms());
  double total = 0;
  for (int i = 0; i < kTimedLoads; ++i) {
    TENON_ASSIGN(const double milliseconds, load_ms());
    total += milliseconds;
  }
  const double bytes = static_cast<double>(plan.size()) * kTimedLoads;
  console.info("First deserialization time = {:g} milliseconds", first);
  console.info(
      "Total deserialization time = {:g} milliseconds in {} iterations, average {:g} milliseconds",
      total, kTimedLoads, total / kTimedLoads);
  console.info("Deserialization bandwidth = {:g} GB/s", bytes / (total * 1e6));
  return {};
}

}  // namespace tenon::tools

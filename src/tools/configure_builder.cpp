#include <algorithm>
#include <iterator>
#include <utility>

#include "base/ascii.h"
#include "tenon/device.h"
#include "tenon/inspect.h"
#include "tenon/numerics.h"
#include "tenon/passes.h"
#include "tenon/precision.h"
#include "tenon/progress.h"
#include "tenon/self_check.h"
#include "tools/configure.h"
#include "tools/exports.h"
#include "tools/tensor_words.h"
#include "tools/values.h"

namespace tenon::tools {
namespace {

using nvinfer1::BuilderFlag;
using nvinfer1::IBuilderConfig;
using nvinfer1::MemoryPoolType;

struct FlagRow {
  OptionId id;
  BuilderFlag flag;
};

constexpr FlagRow kFlags[] = {
    {OptionId::fp16, BuilderFlag::kFP16},
    {OptionId::bf16, BuilderFlag::kBF16},
    {OptionId::int8, BuilderFlag::kINT8},
    {OptionId::fp8, BuilderFlag::kFP8},
    {OptionId::int4, BuilderFlag::kINT4},
    {OptionId::best, BuilderFlag::kINT8},
    {OptionId::best, BuilderFlag::kFP16},
    {OptionId::best, BuilderFlag::kBF16},
    {OptionId::refit, BuilderFlag::kREFIT},
    {OptionId::stripWeights, BuilderFlag::kSTRIP_PLAN},
    {OptionId::stripAllWeights, BuilderFlag::kSTRIP_PLAN},
    {OptionId::directIO, BuilderFlag::kDIRECT_IO},
    {OptionId::allowWeightStreaming, BuilderFlag::kWEIGHT_STREAMING},
    {OptionId::stripAllWeights, BuilderFlag::kREFIT},
    {OptionId::versionCompatible, BuilderFlag::kVERSION_COMPATIBLE},
    {OptionId::noBuilderCache, BuilderFlag::kDISABLE_TIMING_CACHE},
    {OptionId::errorOnTimingCacheMiss, BuilderFlag::kERROR_ON_TIMING_CACHE_MISS},
    {OptionId::monitorMemory, BuilderFlag::kMONITOR_MEMORY},
};

struct PoolRow {
  std::string_view name;
  MemoryPoolType pool;
};

constexpr PoolRow kPools[] = {
    {"workspace", MemoryPoolType::kWORKSPACE},
    {"dlaSRAM", MemoryPoolType::kDLA_MANAGED_SRAM},
    {"dlaLocalDRAM", MemoryPoolType::kDLA_LOCAL_DRAM},
    {"dlaGlobalDRAM", MemoryPoolType::kDLA_GLOBAL_DRAM},
    {"tacticSharedMem", MemoryPoolType::kTACTIC_SHARED_MEMORY},
};

bool is_precision(BuilderFlag flag) {
  return flag == BuilderFlag::kFP16 || flag == BuilderFlag::kBF16 || flag == BuilderFlag::kINT8 ||
         flag == BuilderFlag::kFP8 || flag == BuilderFlag::kINT4;
}

Status set_libraries(IBuilderConfig& config, const Arguments& arguments) {
  const std::vector<std::string> given = arguments.list(OptionId::setPluginsToSerialize);
  std::vector<const char*> paths;
  for (const std::string& path : given) paths.push_back(path.c_str());
  const auto count = static_cast<int32_t>(paths.size());
  config.setPluginsToSerialize(paths.data(), count);
  if (config.getNbPluginsToSerialize() == count) return {};
  return user_error("--setPluginsToSerialize: there is no such library; see the error above");
}

void set_flags(IBuilderConfig& config, const Arguments& arguments) {
  const bool strongly_typed = arguments.flag(OptionId::stronglyTyped);
  for (const FlagRow& row : kFlags)
    if (arguments.flag(row.id) && !(strongly_typed && is_precision(row.flag)))
      config.setFlag(row.flag);
  for (const auto& [id, flag] : {std::pair(OptionId::fp16, BuilderFlag::kFP16),
                                 std::pair(OptionId::bf16, BuilderFlag::kBF16)})
    if (arguments.text(id) == "auto" && !strongly_typed)
      setPrecisionBudget(config, usualPrecisionBudget(flag));
  for (const auto& [id, flag] :
       {std::pair(OptionId::int8, BuilderFlag::kINT8), std::pair(OptionId::fp8, BuilderFlag::kFP8)})
    if (arguments.text(id) == "auto" && !strongly_typed)
      setQuantizationBudget(config, usualPrecisionBudget(flag));
  // A plan without weights is filled again by its own weights unless any may come.
  if (arguments.flag(OptionId::stripWeights) && !arguments.flag(OptionId::refit)) {
    config.setFlag(BuilderFlag::kREFIT_IDENTICAL);
  }
  if (arguments.text(OptionId::sparsity) != "disable") config.setFlag(BuilderFlag::kSPARSE_WEIGHTS);
  if (arguments.flag(OptionId::noTF32)) config.clearFlag(BuilderFlag::kTF32);
  const std::string constraints = arguments.text(OptionId::precisionConstraints);
  if (constraints == "obey") config.setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
  if (constraints == "prefer") config.setFlag(BuilderFlag::kPREFER_PRECISION_CONSTRAINTS);
}

Status set_pools(IBuilderConfig& config, const std::string& text) {
  TENON_ASSIGN(const std::vector<NamedText> entries, parse_map("--memPoolSize", text));
  for (const NamedText& entry : entries) {
    const PoolRow* found = nullptr;
    for (const PoolRow& row : kPools) {
      if (row.name == entry.name) found = &row;
    }
    if (!found) return user_error("--memPoolSize: there is no pool '{}'", entry.name);
    const auto size = parse_size(entry.text, 'M');
    if (!size)
      return user_error("--memPoolSize: '{}' is no size for {} (e.g. 512M)", entry.text,
                        entry.name);
    config.setMemoryPoolLimit(found->pool, static_cast<size_t>(*size));
  }
  return {};
}

void set_verbosity(IBuilderConfig& config, const std::string& word, Console& console) {
  if (word == "default" || word == "verbose") {
    console.warning("--profilingVerbosity={} is an old word for {}", word,
                    word == "default" ? "layer_names_only" : "detailed");
  }
  config.setProfilingVerbosity(parse_verbosity(word));
}

struct SourceRow {
  std::string_view name;
  nvinfer1::TacticSource source;
};

constexpr SourceRow kSources[] = {
    {"CUBLAS", nvinfer1::TacticSource::kCUBLAS},
    {"CUBLAS_LT", nvinfer1::TacticSource::kCUBLAS_LT},
    {"CUBLASLT", nvinfer1::TacticSource::kCUBLAS_LT},
    {"CUDNN", nvinfer1::TacticSource::kCUDNN},
    {"EDGE_MASK_CONVOLUTIONS", nvinfer1::TacticSource::kEDGE_MASK_CONVOLUTIONS},
    {"JIT_CONVOLUTIONS", nvinfer1::TacticSource::kJIT_CONVOLUTIONS},
};

/// In any case of letters; null where there is none.
const SourceRow* find_source(std::string_view word) {
  std::string upper(word);
  std::ranges::transform(upper, upper.begin(), to_upper);
  const auto found = std::ranges::find(kSources, upper, &SourceRow::name);
  return found == std::end(kSources) ? nullptr : found;
}

/// "+CUBLAS,-CUDNN": added to, or left out of, all.
Status set_sources(IBuilderConfig& config, const Arguments& arguments) {
  if (!arguments.has(OptionId::tacticSources)) return {};
  const std::string text = arguments.text(OptionId::tacticSources);
  nvinfer1::TacticSources added = 0, left_out = 0;
  for (const std::string_view word : split_outside_quotes(text, ',')) {
    const bool is_signed = word.starts_with('+') || word.starts_with('-');
    const SourceRow* source = is_signed ? find_source(word.substr(1)) : nullptr;
    if (source == nullptr)
      return user_error("--tacticSources: '{}' is not + or - and the name of a source", word);
    (word[0] == '+' ? added : left_out) |= 1U << static_cast<uint32_t>(source->source);
  }
  if ((added & left_out) != 0)
    return user_error("--tacticSources={}: a source is added and left out", text);
  constexpr nvinfer1::TacticSources kAll = (1U << nvinfer1::EnumMax<nvinfer1::TacticSource>()) - 1;
  config.setTacticSources(kAll & ~left_out);
  return {};
}

Status set_device(IBuilderConfig& config, const Arguments& arguments) {
  setBuildDevice(config, chosen_device(arguments));
  if (!arguments.has(OptionId::deviceDescription)) return {};
  const std::string file = arguments.text(OptionId::deviceDescription);
  TENON_ASSIGN(const std::vector<char> bytes, read_file(file));
  if (setBuildDeviceDescription(config, std::string(bytes.begin(), bytes.end()).c_str())) return {};
  return user_error("--deviceDescription={}: the file is no description of a GPU", file);
}

/// To standard error: standard output has the report.
void print_level(const char* level, const char* text, void*) {
  fmt::print(stderr, "// {}\n{}\n", level, text);
}

}  // namespace

Status configure_builder(nvinfer1::IBuilder& builder, IBuilderConfig& config,
                         const Arguments& arguments, Console& console, nvinfer1::ILogger& logger) {
  set_flags(config, arguments);
  TENON_TRY(set_libraries(config, arguments));
  TENON_TRY(set_pools(config, arguments.text(OptionId::memPoolSize)));
  set_verbosity(config, arguments.text(OptionId::profilingVerbosity), console);
  const std::string compatible = arguments.text(OptionId::hardwareCompatibilityLevel);
  if (compatible != "none")
    config.setHardwareCompatibilityLevel(
        compatible == "ampere+" ? nvinfer1::HardwareCompatibilityLevel::kAMPERE_PLUS
                                : nvinfer1::HardwareCompatibilityLevel::kSAME_COMPUTE_CAPABILITY);
  config.setAvgTimingIterations(static_cast<int32_t>(arguments.integer(OptionId::avgTiming)));
  config.setBuilderOptimizationLevel(
      static_cast<int32_t>(arguments.integer(OptionId::builderOptimizationLevel)));
  config.setTilingOptimizationLevel(static_cast<nvinfer1::TilingOptimizationLevel>(
      arguments.integer(OptionId::tilingOptimizationLevel)));
  config.setL2LimitForTiling(arguments.integer(OptionId::l2LimitForTiling));
  if (arguments.has(OptionId::maxTactics)) {
    config.setMaxNbTactics(static_cast<int32_t>(arguments.integer(OptionId::maxTactics)));
  }
  if (arguments.has(OptionId::maxAuxStreams)) {
    config.setMaxAuxStreams(static_cast<int32_t>(arguments.integer(OptionId::maxAuxStreams)));
  }
  if (arguments.integer(OptionId::cpuThreads) > 0) {
    builder.setMaxThreads(static_cast<int32_t>(arguments.integer(OptionId::cpuThreads)));
  }
  if (!disablePasses(config, arguments.text(OptionId::disablePass).c_str(), logger)) {
    return user_error("--disablePass={} names no pass", arguments.text(OptionId::disablePass));
  }
  TENON_TRY(set_sources(config, arguments));
  TENON_TRY(set_device(config, arguments));
  if (const auto seconds = parse_duration(arguments.text(OptionId::budget)); seconds.has_value())
    setBuildBudget(config, *seconds);
  recordCandidates(config, arguments.flag(OptionId::recordCandidates));
  keepUnfused(config, arguments.text(OptionId::noFuse).c_str());
  if (const std::string levels = arguments.text(OptionId::dump); !levels.empty())
    if (!watchLevels(config, levels.c_str(), print_level, nullptr, logger))
      return user_error("--dump={} names no level of a build", levels);
  const int64_t cost = arguments.integer(OptionId::selfCheckCost);
  setSelfCheck(config, !arguments.flag(OptionId::noSelfCheck), cost < 0 ? -1 : cost * 1'000'000);
  setRegionCheck(config, arguments.flag(OptionId::selfCheckRegions));
  allowFailedSelfCheck(config, arguments.flag(OptionId::allowFailedSelfCheck));
  if (arguments.text(OptionId::numerics) == "exact") setNumerics(config, Numerics::kExact);
  return {};
}

}  // namespace tenon::tools

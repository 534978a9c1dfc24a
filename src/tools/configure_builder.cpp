#include <algorithm>
#include <iterator>
#include <utility>

#include "tenon/device.h"
#include "tenon/passes.h"
#include "tenon/self_check.h"
#include "tools/configure.h"
#include "tools/exports.h"
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
    {OptionId::best, BuilderFlag::kFP16},
    {OptionId::best, BuilderFlag::kBF16},
    {OptionId::refit, BuilderFlag::kREFIT},
    {OptionId::stripWeights, BuilderFlag::kSTRIP_PLAN},
    {OptionId::stripAllWeights, BuilderFlag::kSTRIP_PLAN},
    {OptionId::stripAllWeights, BuilderFlag::kREFIT},
    {OptionId::versionCompatible, BuilderFlag::kVERSION_COMPATIBLE},
    {OptionId::noBuilderCache, BuilderFlag::kDISABLE_TIMING_CACHE},
    {OptionId::errorOnTimingCacheMiss, BuilderFlag::kERROR_ON_TIMING_CACHE_MISS},
    {OptionId::distributiveIndependence, BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE},
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

void set_flags(IBuilderConfig& config, const Arguments& arguments) {
  for (const FlagRow& row : kFlags) {
    if (arguments.flag(row.id)) config.setFlag(row.flag);
  }
  // A plan without weights is filled again by its own weights unless any may come.
  if (arguments.flag(OptionId::stripWeights) && !arguments.flag(OptionId::refit)) {
    config.setFlag(BuilderFlag::kREFIT_IDENTICAL);
  }
  if (arguments.flag(OptionId::noTF32)) config.clearFlag(BuilderFlag::kTF32);
  const std::string constraints = arguments.text(OptionId::precisionConstraints);
  if (constraints == "obey") config.setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
  if (constraints == "prefer") config.setFlag(BuilderFlag::kPREFER_PRECISION_CONSTRAINTS);
}

Status set_pools(IBuilderConfig& config, const std::string& text) {
  TENON_ASSIGN(const std::vector<NamedText> entries, parse_map(text));
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
  using nvinfer1::ProfilingVerbosity;
  if (word == "default" || word == "verbose") {
    console.warning("--profilingVerbosity={} is an old word for {}", word,
                    word == "default" ? "layer_names_only" : "detailed");
  }
  const bool detailed = word == "detailed" || word == "verbose";
  config.setProfilingVerbosity(detailed         ? ProfilingVerbosity::kDETAILED
                               : word == "none" ? ProfilingVerbosity::kNONE
                                                : ProfilingVerbosity::kLAYER_NAMES_ONLY);
}

/// "+CUBLAS,-CUDNN": added to, or left out of, all.
Status set_sources(IBuilderConfig& config, const Arguments& arguments) {
  using nvinfer1::TacticSource;
  if (!arguments.has(OptionId::tacticSources)) return {};
  constexpr std::pair<std::string_view, TacticSource> kSources[] = {
      {"CUBLAS", TacticSource::kCUBLAS},
      {"CUBLAS_LT", TacticSource::kCUBLAS_LT},
      {"CUDNN", TacticSource::kCUDNN},
      {"EDGE_MASK_CONVOLUTIONS", TacticSource::kEDGE_MASK_CONVOLUTIONS},
      {"JIT_CONVOLUTIONS", TacticSource::kJIT_CONVOLUTIONS}};
  const std::string text = arguments.text(OptionId::tacticSources);
  nvinfer1::TacticSources sources = (1U << std::size(kSources)) - 1;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const auto source = std::find_if(std::begin(kSources), std::end(kSources), [&](const auto& s) {
      return word.size() > 1 && s.first == word.substr(1);
    });
    if (source == std::end(kSources) || (word[0] != '+' && word[0] != '-'))
      return user_error("--tacticSources: '{}' is not + or - and the name of a source", word);
    const nvinfer1::TacticSources bit = 1U << static_cast<uint32_t>(source->second);
    sources = word[0] == '+' ? sources | bit : sources & ~bit;
  }
  config.setTacticSources(sources);
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

}  // namespace

Status configure_builder(nvinfer1::IBuilder& builder, IBuilderConfig& config,
                         const Arguments& arguments, Console& console, nvinfer1::ILogger& logger) {
  set_flags(config, arguments);
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
  keepUnfused(config, arguments.text(OptionId::noFuse).c_str());
  const int64_t cost = arguments.integer(OptionId::selfCheckCost);
  setSelfCheck(config, !arguments.flag(OptionId::noSelfCheck), cost < 0 ? -1 : cost * 1'000'000);
  setRegionCheck(config, arguments.flag(OptionId::selfCheckRegions));
  allowFailedSelfCheck(config, arguments.flag(OptionId::allowFailedSelfCheck));
  return {};
}

}  // namespace tenon::tools

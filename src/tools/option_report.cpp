#include "tools/option_report.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>

#include "tools/tensor_words.h"
#include "tools/values.h"

namespace tenon::tools {
namespace {

std::string shown_value(const Arguments& arguments, const OptionRow& row) {
  if (row.kind == OptionKind::kFlag) return arguments.flag(row.id) ? "Enabled" : "Disabled";
  if (row.kind == OptionKind::kTextList)
    return fmt::format("{}", fmt::join(arguments.list(row.id), " "));
  return arguments.text(row.id);
}

std::string_view name_of(OptionId id) {
  return option_rows()[static_cast<size_t>(id)].name;
}

/// Options of the build's groups that loading and running look at too, and options of others that
/// only builds look at.
constexpr OptionId kAlsoForPlans[] = {OptionId::loadEngine,      OptionId::useRuntime,
                                      OptionId::leanDLLPath,     OptionId::getPlanVersionOnly,
                                      OptionId::asyncFileReader, OptionId::profilingVerbosity};
constexpr OptionId kOnlyForBuilds[] = {
    OptionId::deviceDescription,    OptionId::disablePass,      OptionId::noFuse,
    OptionId::noSelfCheck,          OptionId::selfCheckRegions, OptionId::selfCheckCost,
    OptionId::allowFailedSelfCheck, OptionId::numerics,         OptionId::budget,
    OptionId::recordCandidates};

bool is_for_builds(const OptionRow& row) {
  const auto among = [&](const auto& ids) {
    return std::ranges::find(ids, row.id) != std::end(ids);
  };
  return (row.group == OptionGroup::kBuild && !among(kAlsoForPlans)) || among(kOnlyForBuilds);
}

bool is_about_help(OptionId id) {
  return id == OptionId::help || id == OptionId::helpMarkdown;
}

struct Words {
  OptionId id;
  std::initializer_list<std::string_view> allowed;
};

Status check_words(const Arguments& arguments) {
  static const Words kWords[] = {
      {OptionId::profilingVerbosity,
       {"layer_names_only", "detailed", "none", "default", "verbose"}},
      {OptionId::sparsity, {"disable", "enable", "force"}},
      {OptionId::precisionConstraints, {"none", "prefer", "obey"}},
      {OptionId::hardwareCompatibilityLevel, {"none", "ampere+", "sameComputeCapability"}},
      {OptionId::runtimePlatform, {"SameAsBuild", "WindowsAMD64"}},
      {OptionId::useRuntime, {"full", "lean", "dispatch"}},
      {OptionId::allocationStrategy, {"static", "profile", "runtime"}},
      {OptionId::passes, {"list", "applied", ""}},
      {OptionId::numerics, {"default", "exact"}},
  };
  for (const auto& [id, allowed] : kWords) {
    const std::string value = arguments.text(id);
    if (std::ranges::find(allowed, value) == allowed.end()) {
      std::vector<std::string_view> words(allowed);
      std::erase(words, "");  // Of flags that are left out.
      return user_error("--{}={}: expected one of {}", name_of(id), value, fmt::join(words, ", "));
    }
  }
  return {};
}

struct RefusedWord {
  OptionId id;
  std::string_view word, reason;
};
constexpr RefusedWord kRefusedWords[] = {
    {OptionId::runtimePlatform, "WindowsAMD64",
     "plans are built for the platform of the build only"},
};

Status check_refused_words(const Arguments& arguments) {
  for (const auto& [id, word, reason] : kRefusedWords)
    if (arguments.text(id) == word)
      return unsupported("--{}={} cannot be used: {}", name_of(id), word, reason);
  return {};
}

/// --preview: + or -, and a feature.
Status check_previews(const Arguments& arguments) {
  constexpr std::string_view kFeatures[] = {"aliasedPluginIO1003", "runtimeActivationResize",
                                            "profileSharing0806", "multiDeviceRuntime"};
  const std::string text = arguments.text(OptionId::preview);
  for (const std::string_view word : split_outside_quotes(text, ',')) {
    const bool is_signed = word.starts_with('+') || word.starts_with('-');
    if (!is_signed || std::ranges::find(kFeatures, word.substr(1)) == std::end(kFeatures))
      return user_error("--preview: '{}' is not + or - and one of {}", word,
                        fmt::join(kFeatures, ", "));
  }
  return {};
}

/// --saveAllDebugTensors: forms in which each is written.
Status check_dump_forms(const Arguments& arguments) {
  constexpr std::string_view kForms[] = {"summary", "numpy", "string", "raw"};
  const std::string text = arguments.text(OptionId::saveAllDebugTensors);
  for (const std::string_view word : split_outside_quotes(text, ','))
    if (std::ranges::find(kForms, word) == std::end(kForms))
      return user_error("--saveAllDebugTensors: '{}' is none of {}", word, fmt::join(kForms, ", "));
  return {};
}

/// --tempfileControls: "in_memory:allow,temporary:deny".
Status check_tempfile_controls(const Arguments& arguments) {
  TENON_ASSIGN(const std::vector<NamedText> entries,
               parse_map("--tempfileControls", arguments.text(OptionId::tempfileControls)));
  for (const NamedText& entry : entries) {
    const bool known = entry.name == "in_memory" || entry.name == "temporary";
    if (!known || (entry.text != "allow" && entry.text != "deny"))
      return user_error(
          "--tempfileControls: '{}:{}' is not in_memory or temporary, :allow or :deny", entry.name,
          entry.text);
  }
  return {};
}

Status check_tempdir(const Arguments& arguments) {
  const std::string folder = arguments.text(OptionId::tempdir);
  std::error_code unknown;
  if (arguments.has(OptionId::tempdir) && !std::filesystem::is_directory(folder, unknown))
    return user_error("--tempdir: there is no folder '{}'", folder);
  return {};
}

/// --layerPrecisions and --layerOutputTypes: a type, or one an output with + between, for each
/// name. They are looked at whether or not they come to bind.
Status check_layer_types(const Arguments& arguments) {
  for (const OptionId id : {OptionId::layerPrecisions, OptionId::layerOutputTypes}) {
    TENON_ASSIGN(const auto entries,
                 parse_map(fmt::format("--{}", name_of(id)), arguments.text(id)));
    for (const NamedText& entry : entries)
      for (const std::string_view word : split_outside_quotes(entry.text, '+'))
        if (!parse_type(word))
          return user_error("--{}: '{}' is no type (fp32, fp16, bf16, int8, ...)", name_of(id),
                            word);
  }
  return {};
}

struct Range {
  OptionId id;
  double low, high;
};

Status check_ranges(const Arguments& arguments) {
  static constexpr Range kRanges[] = {
      {OptionId::iterations, 0, 1e9},
      {OptionId::warmUp, 0, 1e9},
      {OptionId::duration, -1, 1e9},
      {OptionId::idleTime, 0, 1e9},
      {OptionId::sleepTime, 0, 1e9},
      {OptionId::infStreams, 1, 1024},
      {OptionId::avgRuns, 1, 1e9},
      {OptionId::avgTiming, 1, 1000},
      {OptionId::cpuThreads, 0, 1024},
      {OptionId::builderOptimizationLevel, 0, 5},
      {OptionId::useProfile, 0, 1e6},
      {OptionId::tilingOptimizationLevel, 0, 3},
      {OptionId::maxAuxStreams, -1, 1e6},
      {OptionId::persistentCacheRatio, 0, 1},
      {OptionId::device, -1, 1024},
      {OptionId::maxTactics, -1, 1e6},
      {OptionId::l2LimitForTiling, -1, 1e15},
      {OptionId::selfCheckCost, -1, 1e12},
  };
  for (const Range& range : kRanges) {
    const double value = arguments.real(range.id);
    if (value < range.low || value > range.high) {
      return user_error("--{}={} is out of range: it goes from {} to {}", name_of(range.id),
                        arguments.text(range.id), range.low, range.high);
    }
  }
  return {};
}

Status check_combinations(const Arguments& arguments) {
  const auto has = [&](OptionId id) { return arguments.has(id); };
  if (has(OptionId::onnx) && has(OptionId::loadEngine) && !has(OptionId::refitFromOnnx)) {
    return user_error("--onnx and --loadEngine exclude each other: give the model or the plan");
  }
  if (has(OptionId::saveEngine) && has(OptionId::loadEngine)) {
    return user_error("--saveEngine and --loadEngine exclude each other");
  }
  if (has(OptionId::getPlanVersionOnly) && !has(OptionId::loadEngine)) {
    return user_error("--getPlanVersionOnly needs --loadEngine=file");
  }
  if (has(OptionId::fp8) && has(OptionId::int8))
    return user_error("--fp8 and --int8 exclude each other");
  if (has(OptionId::best) && has(OptionId::stronglyTyped)) {
    return user_error(
        "--best and --stronglyTyped exclude each other: a strongly typed network has its own "
        "precisions");
  }
  for (const OptionId id :
       {OptionId::precisionConstraints, OptionId::layerPrecisions, OptionId::layerOutputTypes})
    if (has(id) && has(OptionId::stronglyTyped))
      return user_error(
          "--{} and --stronglyTyped exclude each other: a strongly typed network has its own "
          "precisions",
          name_of(id));
  if (has(OptionId::pluginInstanceNorm) &&
      (has(OptionId::versionCompatible) ||
       arguments.text(OptionId::hardwareCompatibilityLevel) == "ampere+")) {
    return user_error(
        "--pluginInstanceNorm works neither with --versionCompatible nor with "
        "--hardwareCompatibilityLevel=ampere+");
  }
  // Plans are loaded on the device that they are for.
  for (const OptionId id :
       {OptionId::dumpLayerInfo, OptionId::exportLayerInfo, OptionId::exportTimes,
        OptionId::dumpOutput, OptionId::exportOutput, OptionId::dumpProfile,
        OptionId::exportProfile, OptionId::dumpOptimizationProfile}) {
    if (!has(OptionId::deviceDescription) || !has(id)) continue;
    const std::string_view name = option_rows()[static_cast<size_t>(id)].name;
    return user_error(
        "--{} needs an engine, and --deviceDescription makes a plan alone, for a GPU that is not "
        "here: write it with --saveEngine, and give --{} with --loadEngine where the GPU is",
        name, name);
  }
  if (arguments.text(OptionId::useRuntime) != "full" && !has(OptionId::loadEngine)) {
    return user_error("--useRuntime={} needs --loadEngine=file",
                      arguments.text(OptionId::useRuntime));
  }
  if (has(OptionId::allowWeightStreaming) && !has(OptionId::stronglyTyped)) {
    return user_error("--allowWeightStreaming needs --stronglyTyped");
  }
  return {};
}

}  // namespace

void print_options(Console& console, const Arguments& arguments) {
  for (const TitledGroup& block : kOptionGroups) {
    if (block.group == OptionGroup::kTenon) continue;
    console.info("=== {} Options ===", block.title);
    const bool empty = block.group == OptionGroup::kBuild && arguments.has(OptionId::loadEngine);
    for (const OptionRow& row : option_rows()) {
      if (row.group != block.group || empty || is_about_help(row.id)) continue;
      console.info("{}: {}", row.name, shown_value(arguments, row));
    }
    console.info("");
  }
  for (const OptionRow& row : option_rows()) {
    if (row.group == OptionGroup::kTenon && arguments.has(row.id)) {
      console.info("{}: {}", row.name, shown_value(arguments, row));
    }
  }
}

namespace {

struct Overruled {
  OptionId option, by;
};
constexpr Overruled kOverruled[] = {{OptionId::selfCheckRegions, OptionId::noSelfCheck},
                                    {OptionId::selfCheckCost, OptionId::noSelfCheck},
                                    {OptionId::allowFailedSelfCheck, OptionId::noSelfCheck},
                                    {OptionId::timingCacheFile, OptionId::noBuilderCache}};

/// Options that others leave without effect.
void remark_combinations(Console& console, const Arguments& arguments) {
  using enum OptionId;
  const bool profiled = arguments.has(dumpProfile) || arguments.has(exportProfile);
  if (arguments.has(separateProfileRun) && !profiled)
    console.warning("--separateProfileRun has no effect without --dumpProfile or --exportProfile");
  for (const auto& [option, by] : kOverruled)
    if (arguments.has(option) && arguments.has(by))
      console.warning("--{} has no effect with --{}", name_of(option), name_of(by));
  const bool constrains = arguments.text(precisionConstraints) != "none";
  if (constrains && !arguments.has(layerPrecisions) && !arguments.has(layerOutputTypes))
    console.warning(
        "--precisionConstraints has no effect without --layerPrecisions or --layerOutputTypes");
  for (const OptionId id : {dumpOutput, exportOutput, dumpRawBindingsToFile, dumpProfile,
                            exportProfile, exportTimes, saveDebugTensors, saveAllDebugTensors})
    if (arguments.has(id) && arguments.has(skipInference))
      console.warning("--{} has no effect with --skipInference: nothing runs", name_of(id));
  if (arguments.text(useRuntime) != "full")
    console.warning("--useRuntime={}: one runtime library serves all plans, which is the full one",
                    arguments.text(useRuntime));
  if (!arguments.has(stronglyTyped)) return;
  for (const OptionId id : {fp16, bf16, int8, fp8, int4})
    if (arguments.has(id))
      console.warning(
          "--{} is switched off by --stronglyTyped: the network's own types are followed",
          name_of(id));
}

}  // namespace

Status check_support(Console& console, const Arguments& arguments, bool on_cpu) {
  for (const OptionRow& row : option_rows()) {
    if (!arguments.has(row.id)) continue;
    if (row.support == OptionSupport::kRefused)
      return unsupported("--{} cannot be used: {}", row.name, row.reason);
    if (row.support == OptionSupport::kNoEffect)
      console.warning("--{} has no effect: {}", row.name, row.reason);
    else if (arguments.has(OptionId::loadEngine) && is_for_builds(row))
      console.warning("--{} has no effect with --loadEngine: the plan is built", row.name);
    else if (row.support == OptionSupport::kGpuOnly && on_cpu)
      console.warning("--{} has no effect on the CPU: {}", row.name, row.reason);
  }
  remark_combinations(console, arguments);
  return {};
}

Status check_values(const Arguments& arguments) {
  TENON_TRY(check_words(arguments));
  TENON_TRY(check_refused_words(arguments));
  TENON_TRY(check_previews(arguments));
  TENON_TRY(check_dump_forms(arguments));
  TENON_TRY(check_tempdir(arguments));
  TENON_TRY(check_tempfile_controls(arguments));
  TENON_TRY(check_layer_types(arguments));
  TENON_TRY(check_ranges(arguments));
  TENON_TRY(check_combinations(arguments));
  for (const OptionId id : {OptionId::inputIOFormats, OptionId::outputIOFormats})
    if (auto formats = parse_io_formats(arguments.text(id)); !formats.ok())
      return std::move(formats).error().with_context(fmt::format("--{}", name_of(id)));
  if (const std::string budget = arguments.text(OptionId::budget);
      arguments.has(OptionId::budget) && !parse_duration(budget))
    return user_error("--budget={}: expected one of 30s, 5m, 1.5h", budget);
  TENON_TRY(parse_percentiles(arguments.text(OptionId::percentile)));
  return {};
}

}  // namespace tenon::tools

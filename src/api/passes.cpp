#include "tenon/passes.h"

#include "api/builder_config.h"
#include "api/engine.h"
#include "ir/text.h"
#include "passes/pass.h"

#define TENON_EXPORT __attribute__((visibility("default")))

namespace tenon {
namespace {

std::vector<std::string> split(std::string_view text, char separator = ',') {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) pieces.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return pieces;
}

std::string describe_passes() {
  std::string text;
  for (const PassInfo& pass : pass_table())
    text += fmt::format("{}: {}\n", pass.name, pass.summary);
  return text;
}

/// Names of passes that have a word of `name`, or all, for a message.
std::string similar_passes(std::string_view name) {
  std::string found, all;
  for (const PassInfo& pass : pass_table()) {
    const auto shares = [&](std::string_view word) {
      return word.size() > 2 && pass.name.find(word) != std::string_view::npos;
    };
    all += fmt::format("{}{}", all.empty() ? "" : ", ", pass.name);
    if (std::ranges::any_of(split(name, '_'), shares))
      found += fmt::format("{}{}", found.empty() ? "" : ", ", pass.name);
  }
  return found.empty() ? "the passes are " + all : "similar are " + found;
}

/// Whether a build has a level that matches.
bool is_level(std::string_view pattern) {
  for (const std::string_view level : {"network", "graph", "tactics"})
    if (matches_pattern(pattern, level)) return true;
  return std::ranges::any_of(pass_table(), [&](const PassInfo& pass) {
    return matches_pattern(pattern, fmt::format("graph:after-{}", pass.name));
  });
}

const std::vector<std::string>& applied(const nvinfer1::ICudaEngine& engine) {
  static const std::vector<std::string> none;
  const auto* handle = dynamic_cast<const api::EngineHandle*>(&engine);
  return handle != nullptr ? handle->engine().plan().passes : none;
}

}  // namespace

TENON_EXPORT const char* passList() noexcept {
  static const std::string text = describe_passes();
  return text.c_str();
}

TENON_EXPORT bool disablePasses(nvinfer1::IBuilderConfig& config, const char* names,
                                nvinfer1::ILogger& logger) noexcept {
  auto* settings = dynamic_cast<api::BuilderConfig*>(&config);
  if (settings == nullptr || names == nullptr) return false;
  for (const std::string& entry : split(names)) {
    const size_t colon = std::min(entry.find(':'), entry.size());
    const std::string name = entry.substr(0, colon), nodes = entry.substr(colon);
    std::vector<std::string>& disabled = settings->pass_switches().disabled;
    const size_t before = disabled.size();
    for (const PassInfo& pass : pass_table())
      if (matches_pattern(name, pass.name)) disabled.push_back(std::string(pass.name) + nodes);
    if (disabled.size() > before) continue;
    const std::string text = fmt::format("there is no pass '{}'; {}", name, similar_passes(name));
    logger.log(nvinfer1::ILogger::Severity::kERROR, text.c_str());
    return false;
  }
  return true;
}

TENON_EXPORT bool watchLevels(nvinfer1::IBuilderConfig& config, const char* levels, LevelSink sink,
                              void* argument, nvinfer1::ILogger& logger) noexcept {
  auto* settings = dynamic_cast<api::BuilderConfig*>(&config);
  if (settings == nullptr) return false;
  settings->pass_switches().levels = nullptr;
  if (levels == nullptr || sink == nullptr) return levels == nullptr;
  std::vector<std::string> patterns = split(levels);
  for (const std::string& pattern : patterns) {
    if (is_level(pattern)) continue;
    const std::string text = fmt::format(
        "a build has no level '{}'; the levels are network, graph, tactics, and graph:after-PASS "
        "for each pass of --passes=list",
        pattern);
    logger.log(nvinfer1::ILogger::Severity::kERROR, text.c_str());
    return false;
  }
  settings->pass_switches().levels = [patterns = std::move(patterns), sink, argument](
                                         std::string_view level, const Graph& graph) {
    const auto matches = [&](const std::string& one) { return matches_pattern(one, level); };
    if (std::ranges::any_of(patterns, matches))
      sink(std::string(level).c_str(), print(graph).c_str(), argument);
  };
  return true;
}

TENON_EXPORT bool keepUnfused(nvinfer1::IBuilderConfig& config, const char* patterns) noexcept {
  auto* settings = dynamic_cast<api::BuilderConfig*>(&config);
  if (settings == nullptr || patterns == nullptr) return false;
  for (std::string& pattern : split(patterns))
    settings->pass_switches().no_fuse.push_back(std::move(pattern));
  return true;
}

TENON_EXPORT int32_t getNbAppliedPasses(const nvinfer1::ICudaEngine& engine) noexcept {
  return static_cast<int32_t>(applied(engine).size());
}

TENON_EXPORT const char* getAppliedPass(const nvinfer1::ICudaEngine& engine,
                                        int32_t index) noexcept {
  const std::vector<std::string>& lines = applied(engine);
  return index >= 0 && static_cast<size_t>(index) < lines.size() ? lines[index].c_str() : nullptr;
}

}  // namespace tenon

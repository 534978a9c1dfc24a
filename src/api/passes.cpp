#include "tenon/passes.h"

#include "api/builder_config.h"
#include "api/engine.h"
#include "passes/pass.h"

#define TENON_EXPORT __attribute__((visibility("default")))

namespace tenon {
namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) pieces.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return pieces;
}

std::string describe_passes() {
  std::string text;
  for (const PassInfo& pass : pass_table())
    text += fmt::format("{}: {}\n", pass.name, pass.summary);
  return text;
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
  for (std::string& name : split(names)) {
    if (find_pass(std::string_view(name).substr(0, name.find(':'))) == nullptr) {
      logger.log(
          nvinfer1::ILogger::Severity::kERROR,
          fmt::format("there is no pass '{}'; the passes are:\n{}", name, passList()).c_str());
      return false;
    }
    settings->pass_switches().disabled.push_back(std::move(name));
  }
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

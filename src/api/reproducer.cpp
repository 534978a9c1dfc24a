#include "api/reproducer.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "api/builder_config.h"
#include "api/tactic_libraries.h"
#include "base/ascii.h"
#include "base/environment.h"
#include "base/guard.h"
#include "onnx/model_exporter.h"

namespace tenon::api {
namespace {

struct FlagText {
  BuilderFlag flag;
  bool given;  ///< The flag's value that the text stands for.
  const char* text;
};
constexpr FlagText kFlags[] = {
    {BuilderFlag::kFP16, true, "--fp16"},         {BuilderFlag::kBF16, true, "--bf16"},
    {BuilderFlag::kINT8, true, "--int8"},         {BuilderFlag::kFP8, true, "--fp8"},
    {BuilderFlag::kTF32, false, "--noTF32"},      {BuilderFlag::kREFIT, true, "--refit"},
    {BuilderFlag::kDIRECT_IO, true, "--directIO"}};

/// For a shell.
std::string quoted(const std::string& word) {
  const auto is_plain = [](char c) {
    return is_letter_or_digit(c) || std::string_view("-_./:=,+").find(c) != std::string_view::npos;
  };
  if (std::ranges::all_of(word, is_plain)) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string shapes_text(const Profile& profile, Extents ShapeRange::*end) {
  std::vector<std::string> shapes;
  for (const auto& [name, range] : profile)
    if (!(range.*end).empty())
      shapes.push_back(fmt::format("{}:{}", name, fmt::join(range.*end, "x")));
  return fmt::format("{}", fmt::join(shapes, ","));
}

std::vector<std::string> flags_of(const BuilderConfig& config, bool strongly_typed,
                                  std::span<const Profile> profiles) {
  std::vector<std::string> words;
  if (config.device() >= kCpuDevice) words.push_back(fmt::format("--device={}", config.device()));
  words.push_back(
      fmt::format("--builderOptimizationLevel={}", config.getBuilderOptimizationLevel()));
  for (const FlagText& one : kFlags)
    if (config.getFlag(one.flag) == one.given) words.emplace_back(one.text);
  if (strongly_typed) words.emplace_back("--stronglyTyped");
  if (config.exact_numerics()) words.emplace_back("--numerics=exact");
  std::string sources;
  for (const TacticLibrary& library : kTacticLibraries)
    if (!config.takes_from(library.source)) sources += fmt::format(",-{}", library.name);
  if (!sources.empty()) words.push_back("--tacticSources=" + sources.substr(1));
  if (profiles.empty() || profiles.front().empty()) return words;
  words.push_back("--minShapes=" + shapes_text(profiles.front(), &ShapeRange::min));
  words.push_back("--optShapes=" + shapes_text(profiles.front(), &ShapeRange::opt));
  words.push_back("--maxShapes=" + shapes_text(profiles.front(), &ShapeRange::max));
  return words;
}

/// A file of the folder that is not there yet, named after the network.
std::filesystem::path free_file(const std::filesystem::path& folder, const std::string& network) {
  std::string stem;
  for (const char c : network) stem += is_letter_or_digit(c) ? c : '_';
  if (stem.empty()) stem = "network";
  std::filesystem::path file = folder / (stem + ".onnx");
  for (int number = 2; std::filesystem::exists(file); ++number)
    file = folder / fmt::format("{}.{}.onnx", stem, number);
  return file;
}

}  // namespace

Reproducer::Reproducer(const Graph& network, const BuilderConfig& config, bool strongly_typed,
                       std::span<const Profile> profiles)
    : folder_(reproducer_folder()) {
  if (folder_.empty()) return;
  network_ = network.clone();
  std::vector<std::string> words = flags_of(config, strongly_typed, profiles);
  std::ranges::transform(words, words.begin(), quoted);
  flags_ = fmt::format("{}", fmt::join(words, " "));
}

Result<Plan> Reproducer::of(Result<Plan> plan) const {
  if (network_ == nullptr || plan.ok() || plan.error().kind == ErrorKind::kUser) return plan;
  Error error = std::move(plan).error();
  std::filesystem::path file;
  const Status kept = guarded("keeping a network", [&]() -> Status {
    std::filesystem::create_directories(folder_);
    file = free_file(folder_, network_->name);
    return importer::export_model(*network_, file.string());
  });
  error.message +=
      kept.ok() ? fmt::format("; repeat it by: tenon build {} {}", quoted(file.string()), flags_)
                : fmt::format("; the network was not kept in '{}': {}", folder_.string(),
                              kept.error().message);
  return error;
}

}  // namespace tenon::api

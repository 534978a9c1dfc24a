#include "api/recipe.h"

#include <fmt/ranges.h>

#include "base/log.h"

namespace tenon::api {
namespace {

/// Passes tell what they do; here they have told it before.
class Silence final : public Logger {
 public:
  void write(Severity, std::string_view) override {}
};

std::string value_of(const Plan& plan, const char* name) {
  const auto found = plan.settings.find(name);
  return found == plan.settings.end() ? std::string() : found->second;
}

void collect_tactics(const Graph& graph, std::map<std::string, std::string>& tactics) {
  for (const auto& node : graph.nodes())
    if (!node->tactic.empty()) tactics[node->name] = node->tactic;
}

/// A digit for each of kPassFlags.
std::string flags_text(const PassOptions& passes) {
  std::string text;
  for (const PassFlag& flag : kPassFlags) text += passes.*flag.member ? '1' : '0';
  return text;
}

/// "bf16 name" for each layer with a type of its own.
std::string types_text(const PassOptions& passes) {
  std::vector<std::string> lines;
  for (const auto& [pattern, type] : passes.types)
    lines.push_back(fmt::format("{} {}", name_of(type), pattern));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

void set_types(PassOptions& passes, const std::string& text) {
  for (const std::string& line : lines_of(text)) {
    const size_t space = line.find(' ');
    const auto type = data_type_by_name(line.substr(0, space));
    if (space != std::string::npos && type)
      passes.types.emplace_back(line.substr(space + 1), *type);
  }
}

/// What a plan does not know of, it was not built with.
void set_flags(PassOptions& passes, std::string_view text) {
  for (size_t i = 0; i < std::size(kPassFlags); ++i)
    passes.*kPassFlags[i].member = i < text.size() && text[i] != '0';
}

}  // namespace

std::string joined(const std::set<std::string>& names) {
  return fmt::format("{}", fmt::join(names, "\n"));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

std::map<std::string, std::string> recipe_of(const PassOptions& passes) {
  return {{"refit.level", std::to_string(passes.level)},
          {"refit.disabled", fmt::format("{}", fmt::join(passes.disabled, "\n"))},
          {"refit.no_fuse", fmt::format("{}", fmt::join(passes.no_fuse, "\n"))},
          {"refit.precision",
           passes.precision ? std::string(name_of(*passes.precision)) : std::string()},
          {"refit.types", types_text(passes)},
          {"refit.half_as", passes.half_as ? std::string(name_of(*passes.half_as)) : std::string()},
          {"refit.flags", flags_text(passes)}};
}

Result<Plan> optimize_again(const Plan& plan, std::unique_ptr<Graph> network,
                            const Backend& backend) {
  CompileRequest request;
  request.graph = std::move(network);
  request.profiles = plan.profiles;
  request.passes.level = std::atoi(value_of(plan, "refit.level").c_str());
  request.passes.disabled = lines_of(value_of(plan, "refit.disabled"));
  request.passes.no_fuse = lines_of(value_of(plan, "refit.no_fuse"));
  request.passes.precision = data_type_by_name(value_of(plan, "refit.precision"));
  set_types(request.passes, value_of(plan, "refit.types"));
  request.passes.half_as = data_type_by_name(value_of(plan, "refit.half_as"));
  set_flags(request.passes, value_of(plan, "refit.flags"));
  request.select.level = 0;
  const DeviceProperties& properties = backend.device->properties();
  request.select.threads = properties.kind == DeviceKind::kCpu ? properties.compute_units : 1;
  collect_tactics(*plan.graph, request.select.chosen);
  request.backend = backend;
  TimingCache cache;
  Silence silence;
  return compile(std::move(request), cache, silence);
}

}  // namespace tenon::api

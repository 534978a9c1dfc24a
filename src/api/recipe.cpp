#include "api/recipe.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/log.h"
#include "device/kernel_threads.h"
#include "ops/control_flow.h"
#include "plan/open_form.h"
#include "plan/packing.h"

namespace tenon::api {
namespace {

/// Passes log their changes; here they have logged them before.
class Silence final : public Logger {
 public:
  void write(Severity, std::string_view) override {}
};

std::string value_of(const Plan& plan, const char* name) {
  const auto found = plan.settings.find(name);
  return found == plan.settings.end() ? std::string() : found->second;
}

/// Kernels by the names of layers, those of bodies too; empty for names that several kernels have.
void collect_tactics(const Graph& graph, std::map<std::string, std::string>& tactics) {
  for (const auto& node : graph.nodes()) {
    for (const auto& body : node->bodies) collect_tactics(*body, tactics);
    if (node->tactic.empty() || node->tactic == kViewTactic || is_control_flow(*node)) continue;
    const auto [known, is_new] = tactics.emplace(node->name, node->tactic);
    if (!is_new && known->second != node->tactic) known->second.clear();
  }
}

std::map<std::string, std::string> tactics_of(const Graph& graph) {
  std::map<std::string, std::string> tactics;
  collect_tactics(graph, tactics);
  std::erase_if(tactics, [](const auto& one) { return one.second.empty(); });
  return tactics;
}

/// "name=1" for each of kPassFlags.
std::string flags_text(const PassOptions& passes) {
  std::vector<std::string> lines;
  for (const PassFlag& flag : kPassFlags)
    lines.push_back(fmt::format("{}={:d}", flag.name, passes.*flag.member));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

/// "bf16 name" for each layer with a type of its own.
std::string types_text(const PassOptions& passes) {
  std::vector<std::string> lines;
  for (const auto& [pattern, type] : passes.types)
    lines.push_back(fmt::format("{} {}", name_of(type), pattern));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

Error unknown(std::string_view what, std::string_view text) {
  return user_error("the plan cannot be refitted here: its {} '{}' is not known; build it again",
                    what, text);
}

Status set_types(PassOptions& passes, const std::string& text) {
  for (const std::string& line : lines_of(text)) {
    const size_t space = line.find(' ');
    const auto type = data_type_by_name(line.substr(0, space));
    if (space == std::string::npos || !type) return unknown("type of layers", line);
    passes.types.emplace_back(line.substr(space + 1), *type);
  }
  return {};
}

/// Flags that a plan does not have, it was not built with.
Status set_flags(PassOptions& passes, const std::string& text) {
  for (const PassFlag& flag : kPassFlags) passes.*flag.member = false;
  for (const std::string& line : lines_of(text)) {
    const size_t sign = line.find('=');
    const auto* const flag = std::ranges::find(kPassFlags, line.substr(0, sign), &PassFlag::name);
    const std::string value = sign == std::string::npos ? "" : line.substr(sign + 1);
    if (flag == std::end(kPassFlags) || (value != "0" && value != "1"))
      return unknown("setting", line);
    passes.*flag->member = value == "1";
  }
  return {};
}

/// Empty where there is none.
Result<std::optional<DataType>> type_of(const Plan& plan, const char* name) {
  const std::string text = value_of(plan, name);
  const auto type = data_type_by_name(text);
  if (!text.empty() && !type) return unknown("type", text);
  return type;
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

Result<PassOptions> passes_of(const Plan& plan) {
  PassOptions passes;
  const std::string level = value_of(plan, "refit.level");
  if (level.size() != 1 || level[0] < '0' || level[0] > '9') return unknown("level", level);
  passes.level = level[0] - '0';
  passes.disabled = lines_of(value_of(plan, "refit.disabled"));
  passes.no_fuse = lines_of(value_of(plan, "refit.no_fuse"));
  TENON_ASSIGN(passes.precision, type_of(plan, "refit.precision"));
  TENON_TRY(set_types(passes, value_of(plan, "refit.types")));
  TENON_ASSIGN(passes.half_as, type_of(plan, "refit.half_as"));
  TENON_TRY(set_flags(passes, value_of(plan, "refit.flags")));
  return passes;
}

Result<Plan> optimize_again(const Plan& plan, std::unique_ptr<Graph> network,
                            const Backend& backend) {
  CompileRequest request;
  request.graph = std::move(network);
  request.profiles = plan.profiles;
  TENON_ASSIGN(request.passes, passes_of(plan));
  request.select.level = 0;
  request.select.threads = kernel_threads(*backend.device);
  request.select.chosen = tactics_of(*plan.graph);
  request.packs = !value_of(plan, kPackingSetting).empty();
  request.opens_broadcasts = open_form_of(plan) > 0;
  request.backend = backend;
  TimingCache cache;
  Silence silence;
  return compile(std::move(request), cache, silence);
}

}  // namespace tenon::api

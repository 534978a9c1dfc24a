// `tenon why`.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/printable.h"
#include "tools/commands/engine_source.h"
#include "tools/commands/plan_table.h"
#include "tools/exports.h"
#include "tools/page.h"
#include "tools/values.h"

namespace tenon::tools {
namespace {

constexpr Example kExamples[] = {
    {"tenon why resnet50.onnx conv1", "builds, then shows conv1's candidates"},
    {"tenon build resnet50.onnx --recordCandidates", "keeps all candidates in the plan"},
    {"tenon why resnet50.plan 'layer1*'", "of such a plan, without a GPU"},
};

constexpr OwnFlag kFlags[] = {
    {"all", "", "show the candidates that do not fit one by one, not by reason"},
};

constexpr OptionGroup kGroups[] = {OptionGroup::kSystem};

constexpr Usage kUsage = {
    .command = "why",
    .words = "MODEL|PLAN NODE [flags]",
    .purpose =
        "Shows why a node runs on its kernel: every candidate with its time, or the reason "
        "why it was refused. NODE is a layer, or a node of the model; * stands for anything.",
    .examples = kExamples,
    .flags = kFlags,
    .exec_flags = ExecFlags::kAll,
    .least_words = 2,
    .most_words = 2,
    .groups = kGroups,
};

constexpr size_t kShownLayers = 8;

bool is_meant(const Json& layer, std::string_view pattern) {
  if (matches(pattern, layer["name"].get<std::string>())) return true;
  return std::ranges::any_of(layer["origins"], [&](const Json& origin) {
    return matches(pattern, origin.get<std::string>());
  });
}

/// Nodes of the model that no layer stands for.
Json gone_of(const Json& plan) {
  return plan.contains("gone") ? plan["gone"] : Json::array();
}

/// Prints a line for each of the first gone nodes that match; gives the number of all matches.
size_t show_gone(Session& session, const Json& plan, std::string_view pattern) {
  size_t count = 0;
  for (const Json& node : gone_of(plan)) {
    const std::string name = node["name"].get<std::string>();
    if (!matches(pattern, name) || ++count > kShownLayers) continue;
    const std::string pass = node["pass"].get<std::string>();
    const std::string by = pass.empty() ? "" : fmt::format(" by the pass {}", pass);
    session.line("\n  {}", session.bold(printable_name(name)));
    if (node["constant"].get<bool>())
      session.line("    is folded into a constant{}", by);
    else
      session.line("    is left out{}: no result needs it", by);
  }
  if (count > kShownLayers) session.line("\n  {} more such nodes match", count - kShownLayers);
  return count;
}

/// The names that were most likely meant, as " (did you mean 'a' or 'b'?)"; empty where none is
/// near.
std::string meant_names(const Json& plan, const std::string& typed) {
  constexpr size_t kMost = 3, kLetters = 60;
  std::set<std::pair<size_t, std::string>> near;
  const auto add = [&](const std::string& name) {
    const bool holds = name.find(typed) != std::string::npos;
    const size_t letters = holds ? 0 : edit_distance(typed, name);
    if (letters <= 1 + typed.size() / 4) near.emplace(letters, name);
  };
  for (const Json& layer : plan["layers"]) {
    add(layer["name"].get<std::string>());
    for (const Json& origin : layer["origins"]) add(origin.get<std::string>());
  }
  for (const Json& gone : gone_of(plan)) add(gone["name"].get<std::string>());
  std::string names;
  size_t shown = 0;
  for (const auto& [letters, name] : near)
    if (shown++ < kMost)
      names += fmt::format("{}'{}'", names.empty() ? "" : " or ",
                           shortened(printable_name(name), kLetters));
  return names.empty() ? "" : fmt::format(" (did you mean {}?)", names);
}

double time_of(const Json& candidate) {
  return candidate.contains("ms") ? candidate["ms"].get<double>() : -1;
}

std::string name_of(const Json& candidate) {
  return candidate["kernel"].get<std::string>();
}

/// Candidates with a time, the fastest first, then those that fit and were not timed.
void show_taken(Session& session, const Json& candidates, const std::string& chosen) {
  std::vector<const Json*> fitting;
  for (const Json& candidate : candidates)
    if (!candidate.contains("reason")) fitting.push_back(&candidate);
  std::ranges::stable_sort(fitting, [](const Json* a, const Json* b) {
    return time_of(*a) >= 0 && (time_of(*b) < 0 || time_of(*a) < time_of(*b));
  });
  Table table("lrl");
  for (const Json* candidate : fitting) {
    const double ms = time_of(*candidate);
    table.add({name_of(*candidate), ms < 0 ? "not timed" : seconds_text(ms / 1e3),
               name_of(*candidate) == chosen ? "<- chosen" : ""});
  }
  session.line("{}", table.text(4));
}

/// Those that were refused, one reason a line.
void show_refused(Session& session, const Json& candidates, bool one_by_one) {
  std::vector<std::pair<std::string, std::string>> reasons;
  for (const Json& candidate : candidates) {
    if (!candidate.contains("reason")) continue;
    const std::string reason = candidate["reason"].get<std::string>();
    const auto known =
        std::ranges::find(reasons, reason, &std::pair<std::string, std::string>::first);
    if (one_by_one || known == reasons.end())
      reasons.emplace_back(reason, name_of(candidate));
    else
      known->second += ", " + name_of(candidate);
  }
  if (reasons.empty()) return;
  session.line("    {}", session.dim("refused"));
  for (const auto& [reason, names] : reasons) {
    session.line("{}", wrapped("      -", reason, 8));
    session.line("{}", session.dim(wrapped("       ", names, 10)));
  }
}

void show_layer(Session& session, const Json& plan, const Json& layer, bool one_by_one) {
  const std::string name = layer["name"].get<std::string>();
  const std::string chosen = layer["kernel"].get<std::string>();
  session.line("\n  {}", session.bold(printable_name(name)));
  session.line("    runs on {}", chosen.empty() ? "no kernel: it depends on data" : chosen);
  std::set<std::string> told;  // A pass may do the same to a layer more than once.
  for (const Json& pass : plan["passes"])
    if (const std::string line = printable_name(pass.get<std::string>());
        line.find(name) != std::string::npos && told.insert(line).second)
      session.line("{}", wrapped("    pass", line, 9));
  if (!plan.contains("candidates") || !plan["candidates"].contains(name)) return;
  const Json& candidates = plan["candidates"][name];
  show_taken(session, candidates, chosen);
  show_refused(session, candidates, one_by_one);
}

Result<Json> described(Session& session, Arguments& arguments) {
  if (arguments.has(OptionId::loadEngine)) {
    session.enter(Stage::kRun);
    TENON_ASSIGN(const std::vector<char> bytes, read_file(arguments.text(OptionId::loadEngine)));
    return plan_json(session, bytes);
  }
  arguments.give(OptionId::recordCandidates, "");
  TENON_ASSIGN(const PlanSource plan, build_on_page(session, arguments));
  TENON_ASSIGN(const MappedBytes bytes, plan.bytes());
  return plan_json(session, bytes.chars());
}

Status why(Session& session, const CommandLine& line) {
  TENON_ASSIGN(Arguments arguments, prepare(session, line));
  TENON_ASSIGN(const Json plan, described(session, arguments));
  session.enter(Stage::kModel);
  std::vector<const Json*> layers;
  for (const Json& layer : plan["layers"])
    if (is_meant(layer, line.words()[1])) layers.push_back(&layer);
  const size_t gone = show_gone(session, plan, line.words()[1]);
  if (layers.empty() && gone > 0) return {};
  if (layers.empty())
    return session.fail(ErrorId::kNoSuchNode, "'{}' has no layer, and no node, called '{}'{}",
                        line.words()[0], line.words()[1],
                        meant_names(plan, std::string(line.words()[1])));
  for (size_t i = 0; i < std::min(layers.size(), kShownLayers); ++i)
    show_layer(session, plan, *layers[i], line.has("all"));
  if (layers.size() > kShownLayers)
    session.line("\n  {} more layers match", layers.size() - kShownLayers);
  if (!plan.contains("candidates"))
    session.line("\n{}", wrapped("",
                                 "The plan has no record of its candidates: build it with "
                                 "--recordCandidates, or give the model in its place.",
                                 2));
  return {};
}

}  // namespace

int run_why(std::span<const char* const> words) {
  return run_with_line(kUsage, words, why);
}

}  // namespace tenon::tools

#include "ops/extent_rules.h"

#include <algorithm>
#include <optional>
#include <set>

#include "ops/control_flow.h"
#include "ops/structure.h"
#include "ops/table.h"

namespace tenon {
namespace {

thread_local ExtentNotes* innermost = nullptr;

/// Larger expressions are not made of two extents: they would grow with each layer.
constexpr int64_t kMostLeaves = 16;

bool may_be_one(const Dim& dim, const InferContext& context) {
  const Range range = range_of(dim, context);
  return range.min <= 1 && range.max >= 1;
}

/// Whether symbols leave open which of both is the result.
bool is_open(const Dim& a, const Dim& b) {
  return !(a == b) && !(a == Dim(1)) && !(b == Dim(1)) && !(a.is_constant() && b.is_constant());
}

/// The broadcast shape. Each axis of which the symbols leave the result open is given to
/// f(x, y, joined), the last axis first.
template <class F> Result<Shape> joined_by(const Shape& a, const Shape& b, F f) {
  TENON_ASSIGN(Shape shape, broadcast(a, b));
  for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const Dim &x = a[a.size() - i], &y = b[b.size() - i];
    if (is_open(x, y)) f(x, y, shape[shape.size() - i]);
  }
  return shape;
}

std::string in_words(const Dim& dim, int64_t value) {
  return dim.is_constant() ? fmt::format("{}", value)
                           : fmt::format("{} = {}", dim.to_string(), value);
}

struct RuleExtents {
  int64_t a, b;
};

std::optional<RuleExtents> extents_of(const ExtentRule& rule, const SymbolValues& symbols) {
  const auto a = rule.a.evaluate(symbols), b = rule.b.evaluate(symbols);
  return a.has_value() && b.has_value() ? std::optional(RuleExtents{*a, *b}) : std::nullopt;
}

Status refused(const ExtentRule& rule, const RuleExtents& extents, std::string_view what) {
  return user_error("layer '{}': the extents {} and {} of its operands {}", rule.layer,
                    in_words(rule.a, extents.a), in_words(rule.b, extents.b), what);
}

Status check_operands_of(const ExtentRule& rule, const RuleExtents& extents) {
  const auto [a, b] = extents;
  switch (rule.kind) {
    case ExtentRule::Kind::kEqual:
      return a == b ? Status() : refused(rule, extents, "must be equal");
    case ExtentRule::Kind::kAtMost:
      return a <= b ? Status() : refused(rule, extents, "must not have the first larger");
    case ExtentRule::Kind::kJoined:
      if (a == b || a == 1 || b == 1) return {};
      return refused(rule, extents, "must be equal, or one of them 1");
  }
  return {};
}

/// That the extent which the plan took for the result is that.
Status check_result_of(const ExtentRule& rule, const RuleExtents& extents,
                       const SymbolValues& symbols) {
  if (rule.kind != ExtentRule::Kind::kJoined) return {};
  const auto result = rule.result.evaluate(symbols);
  if (!result.has_value() || *result == (extents.a == 1 ? extents.b : extents.a)) return {};
  return refused(
      rule, extents,
      "were taken as equal when the plan was built; bounds of at least 2 for the larger one, usual "
      "shapes with the other at 1, or one name for both in the model, tell which one is broadcast");
}

Status add_rules(Graph& graph, std::vector<ExtentRule>& rules) {
  for (const auto& node : graph.nodes()) {
    if (is_control_flow(*node)) {
      for (size_t i = 0; !node->is<If>() && i < node->bodies.size(); ++i)
        TENON_TRY(add_rules(*node->bodies[i], rules));
      continue;
    }
    const size_t before = rules.size();
    {
      const ExtentNotes notes(rules);
      TENON_TRY(infer_node(*node));
    }
    for (size_t i = before; i < rules.size(); ++i) rules[i].layer = node->name;
  }
  return {};
}

}  // namespace

ExtentNotes::ExtentNotes(std::vector<ExtentRule>& rules) : rules_(rules), outer_(innermost) {
  innermost = this;
}
ExtentNotes::~ExtentNotes() {
  innermost = outer_;
}

void ExtentNotes::append(ExtentRule rule) {
  if (innermost != nullptr) innermost->rules_.push_back(std::move(rule));
}

Result<ExtentRules> ExtentRules::of(Graph& graph) {
  ExtentRules found;
  TENON_TRY(add_rules(graph, found.rules_));
  return found;
}

Status ExtentRules::check_operands(const SymbolValues& symbols) const {
  for (const ExtentRule& rule : rules_)
    if (const auto extents = extents_of(rule, symbols))
      TENON_TRY(check_operands_of(rule, *extents));
  return {};
}

Status ExtentRules::check(const SymbolValues& symbols) const {
  TENON_TRY(check_operands(symbols));
  return check_results(symbols);
}

Status ExtentRules::check_results(const SymbolValues& symbols) const {
  for (const ExtentRule& rule : rules_)
    if (const auto extents = extents_of(rule, symbols))
      TENON_TRY(check_result_of(rule, *extents, symbols));
  return {};
}

std::string ExtentRules::joined_text() const {
  std::string text;
  std::set<std::string> known;
  for (const ExtentRule& rule : rules_) {
    if (rule.kind != ExtentRule::Kind::kJoined) continue;
    std::string extents = fmt::format("{}\n{}\n{}\n", rule.a.to_string(), rule.b.to_string(),
                                      rule.result.to_string());
    if (!known.insert(extents).second) continue;
    std::string layer = rule.layer;
    std::ranges::replace(layer, '\n', ' ');
    text += extents + layer + "\n";
  }
  return text;
}

Status ExtentRules::add_joined(std::string_view text) {
  const auto line = [&text]() {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view found = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return found;
  };
  std::vector<ExtentRule> found;
  while (!text.empty()) {
    ExtentRule rule{.kind = ExtentRule::Kind::kJoined};
    TENON_ASSIGN(rule.a, Dim::parse(line()));
    TENON_ASSIGN(rule.b, Dim::parse(line()));
    TENON_ASSIGN(rule.result, Dim::parse(line()));
    rule.layer = line();
    found.push_back(std::move(rule));
  }
  rules_.insert(rules_.begin(), found.begin(), found.end());
  return {};
}

bool surely_more(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return a.constant() > b.constant();
  if (!(a == b)) ExtentNotes::append({ExtentRule::Kind::kAtMost, a, b, b});
  return false;
}

Result<Shape> joined_shape(const Shape& a, const Shape& b, const InferContext& context) {
  return joined_by(a, b, [&](const Dim& x, const Dim& y, Dim& joined) {
    if (!y.is_constant() && !x.is_constant() && !may_be_one(y, context) && may_be_one(x, context))
      joined = y;
    ExtentNotes::append({ExtentRule::Kind::kJoined, x, y, joined});
  });
}

Result<Shape> expanded_shape(const Shape& x, const Shape& target, const InferContext& context) {
  return joined_by(x, target, [&](const Dim& from, const Dim& to, Dim& joined) {
    if (!may_be_one(to, context))
      joined = to;
    else if (!may_be_one(from, context))
      joined = from;
    else if (from.size() + to.size() <= kMostLeaves)  // Equal, or one of them 1; 0 stays 0.
      joined = range_of(from, context).min > 0 && range_of(to, context).min > 0
                   ? max(from, to)
                   : floor_div(from * to, max(min(from, to), 1));
    ExtentNotes::append({ExtentRule::Kind::kJoined, from, to, joined});
  });
}

}  // namespace tenon

#include "tools/commands/deviation.h"

#include <algorithm>
#include <cmath>

#include "tools/page.h"

namespace tenon::tools {
namespace {

constexpr double kLowestBin = 1e-7;

const OutputValues* find(const TensorValues& values, const std::string& name) {
  const auto found = std::ranges::find(values, name, &OutputValues::name);
  return found == values.end() ? nullptr : &*found;
}

size_t bin_of(double relative) {
  size_t bin = 0;
  for (double bound = kLowestBin; bin + 1 < Deviation::kBins && relative > bound; bound *= 10)
    ++bin;
  return bin;
}

/// A letter for each bin: the share of elements in it, from none to nearly all.
std::string histogram_text(const Deviation& deviation) {
  constexpr std::string_view kShades = " .:-=+*#";
  std::string text;
  for (const size_t count : deviation.histogram) {
    const double share =
        static_cast<double>(count) / static_cast<double>(std::max<size_t>(deviation.count, 1));
    const auto shade =
        static_cast<size_t>(std::ceil(share * static_cast<double>(kShades.size() - 1)));
    text += kShades[std::min(shade, kShades.size() - 1)];
  }
  return fmt::format("|{}|", text);
}

}  // namespace

const OutputValues* comparable_in(const TensorValues& got, const OutputValues& expected) {
  const OutputValues* found = find(got, expected.name);
  return found != nullptr && found->values.size() == expected.values.size() ? found : nullptr;
}

Deviation deviation_of(std::span<const double> got, std::span<const double> expected) {
  Deviation result;
  result.count = expected.size();
  double difference = 0, length = 0, own = 0, dot = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double a = got[i], b = expected[i];
    if (!std::isfinite(a) || !std::isfinite(b)) {
      const bool same = (std::isnan(a) && std::isnan(b)) || a == b;
      result.not_finite += same ? 0 : 1;
      continue;
    }
    difference += (a - b) * (a - b);
    length += b * b;
    own += a * a;
    dot += a * b;
    if (std::abs(a - b) <= result.largest) continue;
    result.largest = std::abs(a - b);
    result.where = i;
    result.got = a;
    result.expected = b;
  }
  result.norm = length > 0 ? std::sqrt(difference / length) : std::sqrt(difference);
  result.cosine = length > 0 && own > 0 ? dot / std::sqrt(length * own) : length == own ? 1 : 0;
  const double scale =
      std::sqrt(length / static_cast<double>(std::max<size_t>(expected.size(), 1)));
  for (size_t i = 0; i < expected.size(); ++i)
    if (std::isfinite(got[i]) && std::isfinite(expected[i]))
      ++result.histogram[bin_of(std::abs(got[i] - expected[i]) / (scale > 0 ? scale : 1))];
  return result;
}

Compared show_deviations(Session& session, const TensorValues& got, const TensorValues& expected,
                         const std::vector<std::string>& names, double tolerance) {
  Table table("lrrrrll");
  table.add({"tensor", "values", "distance", "cosine", "largest", "1e-7...1e-1", ""});
  Compared compared;
  for (const std::string& name : names)
    if (find(expected, name) == nullptr) table.add({name, "", "", "", "", "", "not on both sides"});
  for (const OutputValues& tensor : expected) {
    if (!names.empty() && std::ranges::find(names, tensor.name) == names.end()) continue;
    const OutputValues* other = comparable_in(got, tensor);
    if (other == nullptr) {
      if (!names.empty()) table.add({tensor.name, "", "", "", "", "", "not on both sides"});
      continue;
    }
    const Deviation found = deviation_of(other->values, tensor.values);
    const bool within = found.within(tolerance);
    ++compared.shared;
    compared.bad += within ? 0 : 1;
    const std::string verdict = within ? "agrees"
                                : found.not_finite > 0
                                    ? fmt::format("{} not finite", found.not_finite)
                                    : "differs";
    table.add({tensor.name, count_text(static_cast<double>(found.count)),
               fmt::format("{:.2g}", found.norm), fmt::format("{:.6f}", found.cosine),
               fmt::format("{:.3g}", found.largest), histogram_text(found), verdict});
  }
  session.line("{}", table.text());
  return compared;
}

bool all_agree(const TensorValues& got, const TensorValues& expected,
               const std::vector<std::string>& names, double tolerance) {
  return std::ranges::all_of(names, [&](const std::string& name) {
    const OutputValues* const wanted = find(expected, name);
    const OutputValues* const found = wanted == nullptr ? nullptr : comparable_in(got, *wanted);
    return found != nullptr && deviation_of(found->values, wanted->values).within(tolerance);
  });
}

void show_first_bad(Session& session, const TensorValues& got, const TensorValues& expected,
                    double tolerance) {
  std::string before;
  size_t compared = 0;
  for (const OutputValues& tensor : expected) {
    const OutputValues* other = comparable_in(got, tensor);
    if (other == nullptr) continue;
    ++compared;
    const Deviation found = deviation_of(other->values, tensor.values);
    if (found.within(tolerance)) {
      before = fmt::format("'{}' (distance {:.2g})", tensor.name, found.norm);
      continue;
    }
    session.heading("First bad tensor");
    session.line(
        "{}", wrapped("  ",
                      fmt::format(
                          "'{}': distance {:.2g}; element {} is {:.6g} where {:.6g} is expected{}",
                          tensor.name, found.norm, found.where, found.got, found.expected,
                          found.not_finite > 0
                              ? fmt::format("; {} of {} values are not finite on one side alone",
                                            found.not_finite, found.count)
                              : ""),
                      2));
    if (!before.empty()) session.line("  the last good one ahead of it: {}", before);
    return;
  }
  session.line(
      "\n  {} tensors inside were compared as well; none of them is further than the "
      "tolerance",
      compared);
}

}  // namespace tenon::tools

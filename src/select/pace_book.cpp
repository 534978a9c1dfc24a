#include "select/pace_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/replace_file.h"

namespace tenon {
namespace {

constexpr const char* kTitle = "tenon paces 5";
/// A file that was not written here is not read for long.
constexpr size_t kMostNames = 10'000, kMostFigures = 256;

bool are_finite(const std::vector<double>& figures) {
  return std::ranges::all_of(figures, [](double figure) { return std::isfinite(figure); });
}

/// The numbers ahead of the first other word, in no locale's form.
std::vector<double> figures_in(std::string_view text) {
  std::vector<double> figures;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end && figures.size() < kMostFigures; ++at) {
    double figure = 0;
    const auto [next, status] = std::from_chars(at, end, figure);
    if (status != std::errc()) break;
    figures.push_back(figure);
    at = next;
  }
  return figures;
}

}  // namespace

PaceBook PaceBook::read(const std::filesystem::path& file) {
  PaceBook book;
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line) || line != kTitle) return book;
  while (book.figures_.size() < kMostNames && std::getline(stream, line)) {
    const size_t end = line.find('\t');
    if (end == std::string::npos) return {};
    book.set(line.substr(0, end), figures_in(std::string_view(line).substr(end + 1)));
  }
  return book;
}

void PaceBook::write(const std::filesystem::path& file) const {
  std::string text = fmt::format("{}\n", kTitle);
  for (const auto& [name, figures] : figures_)
    text += fmt::format("{}\t{:.6g}\n", name, fmt::join(figures, " "));
  replace_file(file, text);
}

std::span<const double> PaceBook::find(const std::string& name) const {
  const auto found = figures_.find(name);
  return found == figures_.end() ? std::span<const double>() : found->second;
}

std::vector<std::pair<std::string, std::span<const double>>> PaceBook::with_prefix(
    const std::string& prefix) const {
  std::vector<std::pair<std::string, std::span<const double>>> found;
  for (auto it = figures_.lower_bound(prefix);
       it != figures_.end() && it->first.starts_with(prefix); ++it)
    found.emplace_back(it->first.substr(prefix.size()), it->second);
  return found;
}

void PaceBook::set(const std::string& name, std::vector<double> figures) {
  if (name.find_first_of("\t\n") != std::string::npos || !are_finite(figures)) return;
  figures_[name] = std::move(figures);
}

}  // namespace tenon

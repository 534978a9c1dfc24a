#include "select/pace_book.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <utility>

namespace tenon {
namespace {

constexpr const char* kTitle = "tenon paces 1";
/// A file that was not written here is not read for long.
constexpr size_t kMostNames = 10'000, kMostFigures = 256;

bool are_finite(const std::vector<double>& figures) {
  return std::ranges::all_of(figures, [](double figure) { return std::isfinite(figure); });
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
    std::istringstream text(line.substr(end));
    std::vector<double> figures;
    for (double figure = 0; figures.size() < kMostFigures && text >> figure;)
      figures.push_back(figure);
    book.set(line.substr(0, end), std::move(figures));
  }
  return book;
}

void PaceBook::write(const std::filesystem::path& file) const {
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  std::filesystem::path fresh = file;
  fresh += fmt::format(".{}", getpid());
  {
    std::ofstream stream(fresh);
    stream << kTitle << '\n';
    for (const auto& [name, figures] : figures_)
      stream << name << '\t' << fmt::format("{:.6g}", fmt::join(figures, " ")) << '\n';
    if (!stream.flush()) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) std::filesystem::rename(fresh, file, error);
  if (error) std::filesystem::remove(fresh, error);
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

#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tenon {

/// Figures of earlier builds on this machine, from which estimates start. No plan depends on them.
class PaceBook {
 public:
  /// How much less a build counts in the figures for each one behind it: paces of a machine differ
  /// from build to build.
  static constexpr double kEarlier = 0.85;

  /// Empty where there is no such file, or it is none of these.
  static PaceBook read(const std::filesystem::path& file);
  /// Replaces the file as a whole; a folder that cannot be written to stays as it is, since a build
  /// is as good without.
  void write(const std::filesystem::path& file) const;

  /// Of that name, in the order in which they were set; none where it is not known.
  std::span<const double> find(const std::string& name) const;
  /// The rest of each name that begins so, with its figures.
  std::vector<std::pair<std::string, std::span<const double>>> with_prefix(
      const std::string& prefix) const;
  /// Names have no line feeds, figures are finite: others are left out.
  void set(const std::string& name, std::vector<double> figures);

 private:
  std::map<std::string, std::vector<double>> figures_;
};

}  // namespace tenon

#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace tenon {

/// Measured times of tactics by a key that holds everything that decides the figure
/// (select/problem_key.h). Serializes to the same bytes for the same contents.
class TimingCache {
 public:
  /// Milliseconds, or nothing when not measured.
  std::optional<double> find(const std::string& key) const;
  void insert(const std::string& key, double milliseconds);
  /// The rests of the keys that begin with the prefix, in order.
  std::vector<std::string> find_prefix(std::string_view prefix) const;
  /// Values that are no times (bytes, numbers of candidates, spreads) lie beside the times, where
  /// the editable interface does not take it for one.
  std::optional<double> find_note(const std::string& key) const;
  /// As find_prefix(), of notes.
  std::vector<std::string> find_notes(std::string_view prefix) const;
  void insert_note(const std::string& key, double value);
  size_t size() const { return times_.size(); }
  const std::map<std::string, double>& entries() const { return times_; }

  std::vector<std::byte> serialize() const;
  /// Damaged bytes are an error; entries of other devices and versions do no harm, their keys
  /// differ. A cache of an earlier format, whose keys say less, is read as an empty one.
  static Result<TimingCache> deserialize(std::span<const std::byte> bytes);
  /// Adds the other's entries; on a conflict this cache's figure stays unless `theirs_win`.
  void combine(const TimingCache& other, bool theirs_win = false);
  /// The entries whose keys `keep` wants, notes included.
  TimingCache filtered(const std::function<bool(const std::string& key)>& keep) const;
  static bool is_of_earlier_format(std::span<const std::byte> bytes);

 private:
  std::map<std::string, double> times_, notes_;
};

}  // namespace tenon

#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "select/select.h"

namespace tenon::api {

/// The candidates of each layer of a build, for the plan to keep.
class CandidateRecord {
 public:
  /// For SelectOptions::record; refers to this object.
  std::function<void(const Node&, std::span<const Candidate>)> recorder();
  /// JSON: by layer, its candidates in their order, the fastest alone first.
  std::string text() const;

 private:
  std::map<std::string, std::vector<Candidate>> layers_;
};

}  // namespace tenon::api

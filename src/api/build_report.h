#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/build_record.h"
#include "plan/plan.h"

namespace tenon::api {

/// What a configuration keeps of its last build (include/tenon/report.h).
class BuildReport {
 public:
  /// A new build, of this network.
  void begin(const Graph& network);
  /// Its plan is there.
  void finish(const Plan& plan);
  BuildRecord* record() { return record_.get(); }
  /// JSON; empty before a build has ended.
  const std::string& text() const { return text_; }

 private:
  nlohmann::ordered_json network_;
  std::unique_ptr<BuildRecord> record_;
  std::string text_;
};

/// The settings of a plan that people read: all but those that hold whole tables.
std::map<std::string, std::string> short_settings(const Plan& plan);

/// "FP16", "INT8".
std::string precision_word(DataType type);

}  // namespace tenon::api

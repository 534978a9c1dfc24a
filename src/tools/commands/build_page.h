#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "NvInfer.h"
#include "tenon/progress.h"
#include "tools/build.h"
#include "tools/commands/session.h"

namespace tenon::tools {

/// The six steps of a build on a page: a line for each that has ended, and one that shows how far
/// the build is and how long it will still take.
class BuildPage final : public IBuildObserver {
 public:
  explicit BuildPage(Session& session) : session_(session) {}

  /// From here on each state of the build is a line of JSON in the file too.
  Status keep_log(const std::string& file);

  /// An error where the file did not take all of them.
  Status close_log();

  /// For build_plan().
  BuildListener listener();
  /// The last step's line: the plan is there, and in this file where it is saved.
  void written(const std::string& file, double bytes, double seconds);
  double seconds() const;

  void progress(const BuildState& state) noexcept override;
  void stepEnded(BuildStep step, double seconds, const char* facts) noexcept override;

 private:
  void parsed(const nvinfer1::INetworkDefinition& network, double seconds);
  void log(const std::string& line) noexcept;
  void line(int number, double seconds, std::string_view facts);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  Session& session_;
  std::string log_name_;
  std::unique_ptr<std::FILE, Close> log_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double writing_ = 0;
};

}  // namespace tenon::tools

#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "NvInfer.h"
#include "tenon/progress.h"
#include "tools/build.h"
#include "tools/commands/saving_pace.h"
#include "tools/commands/session.h"

namespace tenon::tools {

/// The six steps of a build on a page: a line for each that has ended, and one that shows how far
/// the build is and how long it will still take.
class BuildPage final : public IBuildObserver {
 public:
  /// The plan is `saved` to a file behind the build, as a part of the last step.
  BuildPage(Session& session, bool saved) : session_(session), is_saved_(saved) {}

  /// From here on each state of the build is a line of JSON in the file too.
  Status keep_log(const std::string& file);

  /// An error where the file did not take all of them.
  Status close_log();

  /// For build_plan().
  BuildListener listener();
  /// The plan is there, and begins to be saved.
  void saves();
  /// The last step's line: the plan is there, and in this file where it is saved.
  void written(const std::string& file, double bytes, double seconds);
  double seconds() const;

  void progress(const BuildState& state) noexcept override;
  void stepEnded(BuildStep step, double seconds, const char* facts) noexcept override;

 private:
  void parsed(const nvinfer1::INetworkDefinition& network, double seconds);
  void log(const std::string& line) noexcept;
  void show(const BuildState& state) noexcept;
  void ended(int number, double seconds) noexcept;
  void line(int number, double seconds, std::string_view facts);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  Session& session_;
  std::string log_name_;
  std::unique_ptr<std::FILE, Close> log_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const bool is_saved_;
  SavingPace saving_;
  double expected_ = 0;            ///< Seconds to put the plan together, as they were foreseen.
  double writing_ = 0;             ///< As they were.
  double elapsed_ = 0, done_ = 0;  ///< As shown last.
  std::chrono::steady_clock::time_point shown_ = start_;
};

}  // namespace tenon::tools

#include "tools/commands/build_page.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/counted.h"
#include "tools/exports.h"
#include "tools/page.h"

namespace tenon::tools {
namespace {

constexpr std::string_view kTitles[] = {"Read the model",   "Optimize the graph", "Choose kernels",
                                        "Tune in sequence", "Check the plan",     "Write the plan"};
constexpr int kSteps = static_cast<int>(std::size(kTitles));
constexpr int kBar = 24;

/// Steps without work say why.
constexpr std::string_view kNothing[] = {
    "", "", "", "nothing to do: kernels on the CPU do not overlap", "not asked for", ""};

/// Of the check, while a step ahead of it waits.
constexpr std::string_view kReference = "Compute a reference";

/// Its number: the first step that is not over, so that numbers never go back.
int shown_step(const BuildState& state) {
  int step = 0;
  while (step < static_cast<int>(state.step) && state.left[step] <= 0) ++step;
  return step + 2;
}

std::string bar(double done) {
  const int filled = std::clamp(static_cast<int>(done * kBar + 0.5), 0, kBar);
  return std::string(static_cast<size_t>(filled), '#') +
         std::string(static_cast<size_t>(kBar - filled), '-');
}

}  // namespace

BuildListener BuildPage::listener() {
  return {[this](const nvinfer1::INetworkDefinition& network, double seconds) {
            parsed(network, seconds);
          },
          this};
}

double BuildPage::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void BuildPage::line(int number, double seconds, std::string_view facts) {
  const std::string_view nothing = kNothing[number - 1];
  const bool idle = seconds <= 0 && !nothing.empty();
  session_.line("  {}/{}  {:20}{:>9}   {}", number, kSteps, kTitles[number - 1],
                idle ? "-" : seconds_text(seconds), idle && facts.empty() ? nothing : facts);
}

void BuildPage::parsed(const nvinfer1::INetworkDefinition& network, double seconds) {
  line(1, seconds,
       fmt::format("{}, {}, {}", counted(network.getNbLayers(), "layer"),
                   counted(network.getNbInputs(), "input"),
                   counted(network.getNbOutputs(), "output")));
}

Status BuildPage::keep_log(const std::string& file) {
  TENON_TRY(check_writable(file));
  log_name_ = file;
  log_.reset(std::fopen(file.c_str(), "w"));
  if (log_ == nullptr)
    return resource_error("--progressLog: cannot write '{}': {}", file, std::strerror(errno));
  // Who follows the build sees each line when it comes.
  std::setvbuf(log_.get(), nullptr, _IOLBF, BUFSIZ);
  return {};
}

Status BuildPage::close_log() {
  if (log_ == nullptr) return {};
  const bool incomplete = std::ferror(log_.get()) != 0;
  if (std::fclose(log_.release()) == 0 && !incomplete) return {};
  return resource_error("--progressLog: cannot write '{}': it takes no more; the plan is there",
                        log_name_);
}

/// A full disk does not end the build: close_log() tells of it.
void BuildPage::log(const std::string& line) noexcept {
  if (log_ != nullptr) std::fwrite(line.data(), 1, line.size(), log_.get());
}

/// With the time for saving the plan, which the build knows nothing of.
void BuildPage::progress(const BuildState& state) noexcept {
  constexpr auto kLast = static_cast<size_t>(BuildStep::kWRITE);
  BuildState all = state;
  expected_ =
      state.step == BuildStep::kWRITE ? std::max(expected_, state.left[kLast]) : state.left[kLast];
  if (is_saved_ && state.remaining >= 0) {
    const double seconds = saving_.seconds(expected_);
    all.remaining += seconds;
    all.left[kLast] += seconds;
    all.done = state.elapsed / (state.elapsed + all.remaining);
  }
  show(all);
}

void BuildPage::saves() {
  if (!is_saved_) return;
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - shown_;
  const double elapsed = elapsed_ + since.count(), seconds = saving_.seconds(expected_);
  BuildState state{BuildStep::kWRITE, elapsed / (elapsed + seconds), elapsed, seconds, {}};
  state.left[static_cast<size_t>(BuildStep::kWRITE)] = seconds;
  show(state);
}

void BuildPage::show(const BuildState& state) noexcept {
  elapsed_ = state.elapsed;
  shown_ = std::chrono::steady_clock::now();
  done_ = std::max(done_, state.done);
  log(fmt::format(R"({{"step": {}, "done": {:.4f}, "elapsed": {:.3f}, "remaining": {:.3f}, )"
                  R"("left": [{:.3f}]}})"
                  "\n",
                  static_cast<int>(state.step) + 2, done_, state.elapsed, state.remaining,
                  fmt::join(state.left, ", ")));
  const int number = shown_step(state);
  const bool is_ahead = number < static_cast<int>(state.step) + 2;
  session_.console().progress(fmt::format("  {}/{}  {:20}[{}] {:3.0f} %  {}", number, kSteps,
                                          is_ahead ? kReference : kTitles[number - 1], bar(done_),
                                          100 * done_, left_text(state.remaining)));
}

void BuildPage::stepEnded(BuildStep step, double seconds, const char* facts) noexcept {
  if (step == BuildStep::kWRITE) {
    writing_ = seconds;
    return;
  }
  ended(static_cast<int>(step) + 2, seconds);
  line(static_cast<int>(step) + 2, seconds, facts);
}

void BuildPage::ended(int number, double seconds) noexcept {
  log(fmt::format(R"({{"ended": {}, "seconds": {:.3f}}})"
                  "\n",
                  number, seconds));
}

void BuildPage::written(const std::string& file, double bytes, double seconds) {
  if (is_saved_) saving_.saved(expected_, seconds);
  ended(kSteps, writing_ + seconds);
  line(kSteps, writing_ + seconds,
       file.empty() ? fmt::format("{}, not saved", bytes_text(bytes))
                    : fmt::format("{}, {}", file, bytes_text(bytes)));
}

}  // namespace tenon::tools

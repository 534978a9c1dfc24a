#include "suite_process.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace tenon::onnx_suite {
namespace {

constexpr unsigned kSecondsPerCase = 120;

sigset_t termination() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

CaseProcess::CaseProcess(std::string root, std::span<const Case* const> cases, Way way)
    : root_(std::move(root)), cases_(cases), way_(std::move(way)) {
  const sigset_t signals = termination();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  told_ = signalfd(-1, &signals, SFD_CLOEXEC);
}

CaseProcess::~CaseProcess() {
  if (child_ != 0) kill(child_, SIGKILL);
  end();
  close(told_);
}

bool CaseProcess::start(size_t index) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return false;
  first_ = index;
  buffer_.clear();
  child_ = fork();
  if (child_ == 0) {
    const sigset_t signals = termination();
    sigprocmask(SIG_UNBLOCK, &signals, nullptr);
    close(ends[0]);
    serve(index, ends[1]);
    _exit(0);
  }
  close(ends[1]);
  in_ = ends[0];
  return child_ > 0;
}

/// Up to the first case that fails.
void CaseProcess::serve(size_t index, int out) const {
  for (bool good = true; good && index < cases_.size(); ++index) {
    alarm(kSecondsPerCase);
    const Case& one = *cases_[index];
    const Outcome outcome = run_case(fmt::format("{}/{}/{}", root_, one.set, one.name), one, way_);
    const std::string line = (outcome.passed ? "+" : "-") + outcome.note + "\n";
    const bool written = write(out, line.data(), line.size()) == static_cast<ssize_t>(line.size());
    good = outcome.passed && written;
  }
}

/// Nothing at the end, or when this process is told to stop.
std::optional<std::string> CaseProcess::read_line() {
  while (true) {
    if (const size_t end = buffer_.find('\n'); end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    std::array<pollfd, 2> waiting{{{in_, POLLIN, 0}, {told_, POLLIN, 0}}};
    if (poll(waiting.data(), waiting.size(), -1) < 0) continue;
    // Results that are there count first.
    stopped_ = waiting[0].revents == 0 && (waiting[1].revents & POLLIN) != 0;
    if (stopped_) return std::nullopt;
    std::array<char, 1024> bytes{};
    const ssize_t count = read(in_, bytes.data(), bytes.size());
    if (count <= 0) return std::nullopt;
    buffer_.append(bytes.data(), static_cast<size_t>(count));
  }
}

/// The child's status.
int CaseProcess::end() {
  int status = 0;
  if (child_ > 0) waitpid(child_, &status, 0);
  if (in_ >= 0) close(in_);
  child_ = 0;
  in_ = -1;
  return status;
}

std::optional<Outcome> CaseProcess::outcome_of(size_t index) {
  while (true) {
    if (child_ == 0 && !start(index)) return Outcome{false, "no process could be started"};
    const std::optional<std::string> line = read_line();
    if (stopped_) return std::nullopt;
    if (line.has_value() && line->starts_with('+')) return Outcome{true, line->substr(1)};
    const bool alone = first_ == index;
    const int status = end();
    if (!alone) continue;
    if (line.has_value()) return Outcome{false, line->substr(1)};
    if (WIFSIGNALED(status))
      return Outcome{false, fmt::format("ended by signal {}", WTERMSIG(status))};
    return Outcome{false, "the process ended without a result"};
  }
}

}  // namespace tenon::onnx_suite

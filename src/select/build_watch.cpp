#include "select/build_watch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "select/time_left.h"

namespace tenon {
namespace {

/// The share of a budget that is kept for the check at most.
constexpr double kCheckShare = 0.5;
/// A build may go beyond its budget by so much before the check is left out.
constexpr double kSlack = 0.2;
/// In the book: number, seconds of the choice and of the sequence, of each network that was built,
/// the last one first.
constexpr const char* kNetworks = "networks";
constexpr size_t kMostNetworks = 160, kFiguresOfNetwork = 3;

}  // namespace

BuildWatch::BuildWatch(Ended ended, double budget) : ended_(std::move(ended)), budget_(budget) {}

double BuildWatch::elapsed() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

bool BuildWatch::tuning_is_over() const {
  if (!has_budget()) return false;
  const std::lock_guard lock(mutex_);
  const double check = whole(Step::kCheck);
  // The kernels that were chosen are still to be made, and the plan is to be written.
  const double must = foreseen(Step::kChoose, elapsed()) + whole(Step::kWrite);
  const double reserved = (check <= kCheckShare * budget_ ? check : 0) + must;
  const bool over = elapsed() + reserved >= budget_;
  if (over) cut_short_ = true;
  return over;
}

double BuildWatch::left_to_check() const {
  if (!has_budget()) return std::numeric_limits<double>::infinity();
  const std::lock_guard lock(mutex_);
  return std::max(budget_ - elapsed() - whole(Step::kWrite), 0.0);
}

bool BuildWatch::has_no_time_to_check() const {
  if (!has_budget()) return false;
  const std::lock_guard lock(mutex_);
  const double check = whole(Step::kCheck);
  const double end = elapsed() + check + whole(Step::kWrite);
  return check > kCheckShare * budget_ || end > (1 + kSlack) * budget_;
}

void BuildWatch::stop_running() {
  if (!is_running_) return;
  Part& part = parts_[static_cast<size_t>(running_)];
  part.seconds = seconds_in(part, running_);
  is_running_ = false;
}

/// Steps are told of in their order, once each: one that is begun again was told of before.
void BuildWatch::tell_up_to(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (std::exchange(parts_[i].told, true) || ended_ == nullptr) continue;
    ended_(static_cast<Step>(i), parts_[i].seconds, parts_[i].facts);
  }
}

void BuildWatch::begin(Step step) {
  const std::lock_guard lock(mutex_);
  stop_running();
  waiting_.reset();
  is_running_ = true;
  running_ = step;
  running_since_ = Clock::now();
  tell_up_to(static_cast<size_t>(step));
}

void BuildWatch::recall(std::filesystem::path file) {
  const std::lock_guard lock(mutex_);
  file_ = std::move(file);
  book_ = PaceBook::read(file_);
}

void BuildWatch::begin_aside(Step step) {
  const std::lock_guard lock(mutex_);
  stop_running();
  waiting_ = std::exchange(running_, step);
  is_running_ = true;
  running_since_ = Clock::now();
}

void BuildWatch::end_aside() {
  const std::lock_guard lock(mutex_);
  if (!waiting_) return;
  stop_running();
  running_ = *std::exchange(waiting_, std::nullopt);
  is_running_ = true;
  kernel_done_ = running_since_ = Clock::now();
}

void BuildWatch::foresee(Step step, Span span, Forecast forecast) {
  const std::lock_guard lock(mutex_);
  Part& part = parts_[static_cast<size_t>(step)];
  part.forecast = std::move(forecast);
  part.span = span;
}

void BuildWatch::is_of(int network, int kin) {
  const std::lock_guard lock(mutex_);
  networks_ = {network, kin};
  before_.reset();
  const auto known = book_.find(kNetworks);
  for (const int number : networks_)
    for (size_t i = 0; i + kFiguresOfNetwork <= known.size() && !before_; i += kFiguresOfNetwork) {
      if (known[i] != number || number == 0) continue;
      before_ = std::array<double, kSteps>();
      (*before_)[static_cast<size_t>(Step::kChoose)] = known[i + 1];
      (*before_)[static_cast<size_t>(Step::kSequence)] = known[i + 2];
    }
}

/// A build that was cut short says nothing of others.
void BuildWatch::note_network() {
  if (cut_short_) return;
  std::vector<double> figures;
  const auto seconds = [&](Step step) { return parts_[static_cast<size_t>(step)].seconds; };
  for (const int number : networks_)
    if (number != 0)
      figures.insert(figures.end(), {static_cast<double>(number), seconds(Step::kChoose),
                                     seconds(Step::kSequence)});
  if (figures.empty()) return;
  const auto known = book_.find(kNetworks);
  for (size_t i = 0; i + kFiguresOfNetwork <= known.size(); i += kFiguresOfNetwork)
    if (std::ranges::find(networks_, static_cast<int>(known[i])) == networks_.end() &&
        figures.size() < kMostNetworks * kFiguresOfNetwork)
      figures.insert(figures.end(), known.begin() + static_cast<std::ptrdiff_t>(i),
                     known.begin() + static_cast<std::ptrdiff_t>(i + kFiguresOfNetwork));
  book_.set(kNetworks, std::move(figures));
}

void BuildWatch::announced() {
  const std::lock_guard lock(mutex_);
  is_announced_ = true;
}

void BuildWatch::begin_kernels(int threads, const MachinePace& pace, int runs) {
  const std::lock_guard lock(mutex_);
  kernels_ = BuildForecast(threads, pace.among_earlier(book_), runs);
  kernels_.recall(book_);
  trials_ = TrialForecast(static_cast<double>(helper_threads()), elapsed());
  trials_.recall(book_);
  sequence_ = SequenceForecast();
  sequence_.recall(book_);
}

double BuildWatch::foreseen(Step step, double before) const {
  const Part& part = parts_[static_cast<size_t>(step)];
  if (part.forecast == nullptr) return 0;
  const double passes = seconds_in(parts_[static_cast<size_t>(Step::kOptimize)], Step::kOptimize);
  const double stretch = kernels_.load();
  const MachinePace& idle = kernels_.pace();
  const MachinePace pace{idle.step * stretch, idle.byte * stretch};
  return std::max(part.forecast({kernels_, pace, stretch, passes, before}), 0.0);
}

/// Seconds of a step that did not begin, after the time that has passed.
double BuildWatch::whole(Step step) const {
  return foreseen(step, elapsed());
}

double BuildWatch::seconds(Step step) const {
  const std::lock_guard lock(mutex_);
  return seconds_in(parts_[static_cast<size_t>(step)], step);
}

void BuildWatch::note(Step step, std::string facts) {
  const std::lock_guard lock(mutex_);
  parts_[static_cast<size_t>(step)].facts = std::move(facts);
}

void BuildWatch::finish() {
  const std::lock_guard lock(mutex_);
  stop_running();
  tell_up_to(kSteps);
  if (file_.empty()) return;
  kernels_.keep(book_);
  trials_.keep(book_, !cut_short_);
  sequence_.keep(book_);
  note_network();
  book_.write(file_);
}

double BuildWatch::seconds_in(const Part& part, Step step) const {
  const bool runs = is_running_ && running_ == step;
  if (!runs) return part.seconds;
  return part.seconds + std::chrono::duration<double>(Clock::now() - running_since_).count();
}

/// A trial that is over its time by some is expected to take as long again.
double BuildWatch::trials_left() const {
  const double left = kernels_.trials_left() + trials_.left(elapsed());
  const std::optional<double> running = kernels_.trial_left();
  if (!running.has_value()) return left;
  const double here = std::chrono::duration<double>(Clock::now() - kernel_done_).count();
  return left + std::abs(*running - here);
}

double BuildWatch::sequence_left() const {
  return sequence_.left(running_ == Step::kSequence ? elapsed() - sequence_told_ : 0);
}

double BuildWatch::remaining_of(Step step, double before) const {
  const Part& part = parts_[static_cast<size_t>(step)];
  if (step < first()) return 0;
  const double tried = step == Step::kChoose     ? trials_left()
                       : step == Step::kSequence ? sequence_left()
                                                 : 0;
  const double ahead = foreseen(step, before) + tried;
  if (step != running_ || tried > 0 || part.span == Span::kRest) return ahead;
  // Of a step that tells nothing until it ends, and is overdue, some is left all the same.
  const double here = std::chrono::duration<double>(Clock::now() - running_since_).count();
  return left_after(ahead, here);
}

BuildWatch::State BuildWatch::state() const {
  const std::lock_guard lock(mutex_);
  State state{running_, 0, elapsed(), 0, {}};
  bool is_foreseen = false;
  const bool waits = !is_announced_ && first() <= Step::kChoose;
  for (size_t i = static_cast<size_t>(first()); i < kSteps; ++i) {
    state.left[i] = remaining_of(static_cast<Step>(i), state.elapsed + state.remaining);
    if (waits && before_.has_value()) state.left[i] = std::max(state.left[i], (*before_)[i]);
    state.remaining += state.left[i];
    is_foreseen |= parts_[i].forecast != nullptr;
  }
  if (budget_ > state.elapsed) state.remaining = std::min(state.remaining, budget_ - state.elapsed);
  if (!is_foreseen || (waits && !before_.has_value()))
    state.remaining = -1;
  else
    state.done = state.elapsed / (state.elapsed + state.remaining);
  return state;
}

}  // namespace tenon

#include "select/build_forecast.h"

#include <algorithm>

#include "select/effort.h"

namespace tenon {
namespace {

/// The weight of the common pace, of what was measured: it decides where amounts always come
/// together, and hardly matters otherwise.
constexpr double kCommon = 0.02;
/// First guesses weigh as much as so many seconds of measured work.
constexpr double kGuessSeconds = 2e-3;
/// No rate is below this share of the common pace: measurements are never so exact.
constexpr double kLeast = 0.02;

// First guesses, in units of the machine's pace: steps to make a kernel, and for a multiplication
// of one that runs, of which vectors do many at a time; copies of a byte of weights, and of an
// operand.
constexpr double kMake = 3e4, kOperation = 0.01, kWeightByte = 2.5, kByte = 0.5;

bool is_same(const KernelWork& a, const KernelWork& b) {
  return a.operations == b.operations && a.bytes == b.bytes && a.weights == b.weights;
}

}  // namespace

void TwoRates::add(double first, double second, double seconds) {
  const double x = first * first_, y = second * second_;
  if (x + y <= 0 || seconds < 0) return;
  const double weight = 1 / (x + y);
  xx_ += weight * x * x;
  xy_ += weight * x * y;
  yy_ += weight * y * y;
  xt_ += weight * x * seconds;
  yt_ += weight * y * seconds;
  guessed_ += x + y;
  took_ += seconds;
}

/// The least squares of relative errors, drawn towards the common pace.
double TwoRates::seconds(double first, double second) const {
  const double x = first * first_, y = second * second_;
  const double pace = (took_ + kGuessSeconds) / (guessed_ + kGuessSeconds);
  const double common = kCommon * (guessed_ + kGuessSeconds);
  const double a = xx_ + common, d = yy_ + common;
  const double p = xt_ + common * pace, q = yt_ + common * pace;
  const double determinant = a * d - xy_ * xy_;
  double s = (p * d - q * xy_) / determinant, u = (q * a - p * xy_) / determinant;
  // Where one would be negative, the other explains all.
  const double least = kLeast * pace;
  if (s < least) {
    s = least;
    u = std::max((q - s * xy_) / d, least);
  } else if (u < least) {
    u = least;
    s = std::max((p - u * xy_) / a, least);
  }
  return s * x + u * y;
}

BuildForecast::BuildForecast(int threads, const MachinePace& pace, int runs)
    : threads_(threads < 1 ? 1 : threads),
      runs_(runs),
      pace_(pace),
      all_(new_trials()),
      decided_(kMake * pace.step, kWeightByte * pace.byte),
      run_(kOperation * pace.step, kByte * pace.byte) {}

BuildForecast::Trials BuildForecast::new_trials() const {
  return {{kMake * pace_.step, kWeightByte * pace_.byte},
          {kOperation * pace_.step, kByte * pace_.byte}};
}

void BuildForecast::will_try(const std::string& tactic, const KernelWork& work) {
  open_.push_back({tactic, work});
}

void BuildForecast::left_out(const std::string& tactic, const KernelWork& work) {
  const auto found = std::ranges::find_if(open_, [&](const Candidate& candidate) {
    return candidate.tactic == tactic && is_same(candidate.work, work);
  });
  if (found != open_.end()) open_.erase(found);
}

void BuildForecast::tried(const std::string& tactic, const KernelWork& work,
                          const TrialTimes& times) {
  left_out(tactic, work);
  tried_.push_back({tactic, work, times.make});
  const double rest = std::max(times.all - times.make, 0.0);
  const double launch = times.launches > 0 ? rest / times.launches : 0;
  Trials& own = trials_.try_emplace(tactic, new_trials()).first->second;
  for (Trials* trials : {&own, &all_}) {
    trials->make.add(1, work.weights, times.make);
    ++trials->count;
    if (times.launches == 0) continue;
    trials->launch.add(work.operations / threads_, work.bytes, launch);
    trials->ran += rest;
    trials->planned += all_launches(launch);
  }
  if (times.is_preferred && times.launches > 0)
    run_.add(work.operations / threads_, work.bytes, launch);
}

void BuildForecast::decided(const std::string& tactic, const KernelWork& work) {
  const auto found = std::ranges::find_if(tried_, [&](const Candidate& candidate) {
    return candidate.tactic == tactic && is_same(candidate.work, work);
  });
  (found == tried_.end() ? other_weights_ : tried_weights_) += work.weights;
  if (found != tried_.end()) decided_.add(1, work.weights, found->make);
}

/// Kernels without rivals are not tried: theirs may be most of the weights, as of large products
/// behind convolutions.
double BuildForecast::making(double kernels, double weights) const {
  if (made_) return made_->seconds(kernels, weights);
  const double all = tried_weights_ + other_weights_;
  const double share = all > 0 ? tried_weights_ / all : 1;
  return decided_.seconds(kernels, share * weights) + making_others(0, (1 - share) * weights);
}

double BuildForecast::making_others(double kernels, double weights) const {
  return kernels * kMake * pace_.step + weights * kWeightByte * pace_.byte;
}

void BuildForecast::made(double kernels, double weights, double seconds) {
  if (!made_) made_.emplace(making(1, 0), making(0, 1));
  made_->add(kernels, weights, seconds);
}

double BuildForecast::running(double operations, double bytes) const {
  return run_.seconds(operations / threads_, bytes);
}

/// Short kernels run more often.
double BuildForecast::all_launches(double launch) const {
  return launch * effort::launches_of_trial(launch * 1e3, runs_);
}

double BuildForecast::seconds(const Trials& trials, const KernelWork& work) const {
  const double launch = trials.launch.seconds(work.operations / threads_, work.bytes);
  const double share = trials.planned > 0 ? trials.ran / trials.planned : 1;
  return trials.make.seconds(1, work.weights) + share * all_launches(launch);
}

/// Those of a tactic follow its own trials, the more the more there were.
double BuildForecast::trials_left() const {
  double left = 0;
  for (const Candidate& candidate : open_) {
    const double usual = seconds(all_, candidate.work);
    const auto found = trials_.find(candidate.tactic);
    const int count = found == trials_.end() ? 0 : found->second.count;
    const double own = count == 0 ? 0 : seconds(found->second, candidate.work);
    left += (own * count + usual) / (count + 1);
  }
  return left;
}

}  // namespace tenon

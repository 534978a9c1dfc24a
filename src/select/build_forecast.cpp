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
/// The share of all candidates that are given up weighs as much as so many of a tactic's own.
constexpr double kCommonTrials = 1;
/// Times vary so much from run to run, in each direction.
constexpr double kNear = 1.3;
/// No rate is below this share of the common pace: measurements are never so exact.
constexpr double kLeast = 0.02;

/// The weight of a whole's first guess beside its measured part, as a share of the whole.
constexpr double kBelief = 0.2;
/// Guesses of moving weights weigh so much beside measurements.
constexpr double kGuessed = 0.5;

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
      making_(kMake * pace.step, kWeightByte * pace.byte),
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
  Layers& layers = layers_[key(work)];
  layers.makes[tactic] = times.make;
  const double rest = std::max(times.all - times.make, 0.0);
  const double launch = times.launches > 0 ? rest / times.launches : 0;
  Trials& own = trials_.try_emplace(tactic, new_trials()).first->second;
  for (Trials* trials : {&own, &all_}) {
    trials->make.add(1, work.weights, times.make);
    ++trials->count;
    if (times.launches == 0) continue;
    trials->launch.add(work.operations / threads_, work.bytes, launch);
    trials->given_up += times.launches <= effort::kFirstLaunches;
    trials->longer += is_long(launch) || times.launches <= effort::kFirstLaunches;
    trials->ran += rest;
    trials->planned += launch * launches(*trials, launch);
  }
  if (times.launches > 0 && times.is_preferred)
    run_.add(work.operations / threads_, work.bytes, launch);
}

void BuildForecast::decided(const std::string& tactic, const KernelWork& work) {
  Layers& layers = layers_[key(work)];
  const auto found = layers.makes.find(tactic);
  if (found != layers.makes.end()) layers.make = found->second;
}

double BuildForecast::guessed(double kernels, double weights) const {
  return kernels * kMake * pace_.step + weights * kWeightByte * pace_.byte;
}

double BuildForecast::making(double kernels, double weights) const {
  return making_.seconds(kernels, weights);
}

void BuildForecast::will_make(const KernelWork& work) {
  Layers& layers = layers_[key(work)];
  ++layers.open;
  layers.weights = work.weights;
}

void BuildForecast::made_other(const KernelWork& work, double kept) {
  double& least = others_.try_emplace(work.weights, kept).first->second;
  least = std::min(least, kept);
}

void BuildForecast::made(const KernelWork& work, double kept, double seconds) {
  if (const auto found = layers_.find(key(work));
      found != layers_.end() && found->second.open > 0) {
    said_ += make_of(work, found->second);
    took_ += seconds;
    --found->second.open;
  }
  making_.add(1, kept, seconds);
  moved(kept, seconds);
}

/// Others keep weights in another form, or need none either.
double BuildForecast::make_of(const KernelWork& work, const Layers& layers) const {
  if (layers.make >= 0) return layers.make;
  const auto found = others_.find(work.weights);
  return making(1, found != others_.end() ? found->second : work.weights);
}

/// Scaled by the ratio of measured and predicted seconds of the kernels made so far.
double BuildForecast::making_left() const {
  double left = 0;
  for (const auto& [place, layers] : layers_)
    if (layers.open > 0)
      left += layers.open * make_of({place.first, place.second, layers.weights}, layers);
  const double belief = kBelief * (said_ + left) + kGuessSeconds;
  return left * (took_ + belief) / (said_ + belief);
}

/// Kernels that keep no weights tell nothing of it.
void BuildForecast::moved(double kept, double seconds) {
  const double guess = guessed(1, kept);
  if (guess < 2 * guessed(1, 0)) return;
  moved_ += guess;
  moving_took_ += seconds;
}

std::optional<double> BuildForecast::moving() const {
  if (moved_ == 0) return std::nullopt;
  return (moving_took_ + kGuessed * moved_) / ((1 + kGuessed) * moved_);
}

double BuildForecast::running(double operations, double bytes) const {
  return run_.seconds(operations / threads_, bytes);
}

bool BuildForecast::is_long(double launch) {
  return 1e3 * launch > effort::kShortMilliseconds;
}

/// Short kernels run more often; of long ones of a tactic that is far behind the best, most are
/// given up. Close to the limit of short ones either may happen.
double BuildForecast::launches(const Trials& trials, double launch) const {
  const double all_share = all_.longer > 0 ? all_.given_up / all_.longer : 0;
  const double given_up =
      (trials.given_up + kCommonTrials * all_share) / (trials.longer + kCommonTrials);
  double sum = 0;
  for (const double factor : {1 / kNear, 1.0, kNear}) {
    const int all = effort::launches_of_trial(1e3 * launch * factor, runs_);
    sum +=
        is_long(launch * factor) ? given_up * effort::kFirstLaunches + (1 - given_up) * all : all;
  }
  return sum / 3;
}

double BuildForecast::launch_of(const Trials& trials, const KernelWork& work) const {
  return trials.launch.seconds(work.operations / threads_, work.bytes);
}

double BuildForecast::make_of(const Trials& trials, const KernelWork& work) const {
  return trials.make.seconds(1, work.weights);
}

/// Those of a tactic follow its own trials, the more the more there were; of others it is known how
/// fast the preferred ones run, and how fast weights are moved.
double BuildForecast::trials_left() const {
  double left = 0;
  for (const auto& [tactic, work] : open_) {
    double launch = running(work.operations, work.bytes), make = making(1, work.weights);
    const auto found = trials_.find(tactic);
    const Trials& own = found == trials_.end() ? all_ : found->second;
    if (found != trials_.end()) {
      const double squared = static_cast<double>(own.count) * own.count;
      const double share = squared / (squared + 1);
      launch += share * (launch_of(own, work) - launch);
      make += share * (make_of(own, work) - make);
    }
    const double ran = own.planned > 0 ? own.ran / own.planned : 1;
    left += make + ran * launch * launches(own, launch);
  }
  return left;
}

}  // namespace tenon

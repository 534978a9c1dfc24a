#include "tools/inference.h"

#include <span>
#include <thread>

#include "tools/interrupt.h"

namespace tenon::tools {
namespace {

constexpr double kProgressEveryMs = 200;

/// One runner's part of the run.
class Stream {
 public:
  Stream(Runner& runner, const InferenceSettings& settings, const Clock& clock, Console* console)
      : runner_(runner), settings_(settings), clock_(clock), console_(console) {}

  /// One step of the run; false when that is over.
  bool advance() {
    status_ = step();
    // The run of a loop was stopped, perhaps before its first query ended.
    if (!status_.ok() && interrupted() && phase_ != Phase::kOver) {
      cut_short_ = true;
      phase_ = Phase::kOver;
      status_ = {};
    }
    return status_.ok() && phase_ != Phase::kOver;
  }

  const Status& status() const { return status_; }
  const QueryLog& queries() const { return queries_; }
  bool cut_short() const { return cut_short_; }
  int64_t warm_up_queries() const { return warm_up_queries_; }

 private:
  enum class Phase { kWarmUp, kMeasure, kOver };

  Status step() {
    if (phase_ == Phase::kWarmUp) {
      if (clock_.now() < settings_.warm_up_ms && !interrupted()) {
        ++warm_up_queries_;
        TENON_TRY(runner_.query(clock_, ended_));
        ended_.clear();
        return {};
      }
      TENON_TRY(runner_.finish(ended_));
      ended_.clear();
      phase_ = Phase::kMeasure;
      start_ = clock_.now();
    }
    const bool wanted = goes_on(done_, clock_.now() - start_);
    if (wanted && !interrupted()) return measure_one();
    cut_short_ = wanted && (settings_.duration_ms >= 0 || done_ == 0);
    phase_ = Phase::kOver;
    TENON_TRY(runner_.finish(ended_));
    keep_ended();
    return {};
  }

  void keep_ended() {
    for (const QueryTimes& query : ended_) queries_.add(query);
    ended_.clear();
  }

  Status measure_one() {
    TENON_TRY(runner_.query(clock_, ended_));
    keep_ended();
    ++done_;
    if (settings_.idle_ms > 0)
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(settings_.idle_ms));
    const double elapsed = clock_.now() - start_;
    if (console_ && elapsed - shown_ > kProgressEveryMs) {
      console_->progress(fmt::format("Running: {} queries in {:.1f} s", done_, elapsed / 1000));
      shown_ = elapsed;
    }
    return {};
  }

  bool goes_on(int64_t done, double elapsed) const {
    return settings_.duration_ms < 0 || done < settings_.iterations ||
           elapsed < settings_.duration_ms;
  }

  Runner& runner_;
  const InferenceSettings& settings_;
  const Clock& clock_;
  Console* console_;  ///< Null for all but the first, which shows progress.
  Status status_;
  std::vector<QueryTimes> ended_;  ///< Not in `queries_` yet.
  QueryLog queries_;
  bool cut_short_ = false;
  Phase phase_ = Phase::kWarmUp;
  int64_t warm_up_queries_ = 0, done_ = 0;
  double start_ = 0, shown_ = 0;  ///< Of the measured part; when progress was last shown.
};

void run_all(std::vector<Stream>& streams, bool thread_each) {
  const auto run = [](std::span<Stream> mine) {
    std::vector<Stream*> left;
    for (Stream& stream : mine) left.push_back(&stream);
    while (!left.empty()) std::erase_if(left, [](Stream* stream) { return !stream->advance(); });
  };
  if (!thread_each || streams.size() == 1) return run(streams);
  std::vector<std::jthread> threads;
  for (Stream& stream : streams) threads.emplace_back([&] { run({&stream, 1}); });
}

}  // namespace

Result<InferenceTimes> run_inference(std::vector<std::unique_ptr<Runner>>& runners,
                                     const InferenceSettings& settings, Console& console) {
  const Clock clock;
  std::vector<Stream> streams;
  for (const auto& runner : runners) {
    streams.emplace_back(*runner, settings, clock, streams.empty() ? &console : nullptr);
  }
  run_all(streams, settings.thread_each);
  console.clear_progress();
  InferenceTimes times;
  std::vector<QueryLog> logs;
  for (const Stream& stream : streams) {
    if (!stream.status().ok()) return stream.status().error();
    logs.push_back(stream.queries());
    times.warm_up_queries += stream.warm_up_queries();
    times.cut_short |= stream.cut_short();
  }
  times.queries = QueryLog::merged(logs);
  return times;
}

}  // namespace tenon::tools

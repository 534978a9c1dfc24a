#include "tools/inference.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <thread>

namespace tenon::tools {
namespace {

constexpr double kProgressEveryMs = 200;

/// One runner's part of the run.
class Stream {
 public:
  Stream(Runner& runner, const InferenceSettings& settings, const Clock& clock, Console* console)
      : runner_(runner), settings_(settings), clock_(clock), console_(console) {}

  void run() {
    status_ = warm_up();
    if (status_.ok()) status_ = measure();
  }

  const Status& status() const { return status_; }
  const std::vector<QueryTimes>& queries() const { return queries_; }
  int64_t warm_up_queries() const { return warm_up_queries_; }

 private:
  Status warm_up() {
    std::vector<QueryTimes> ignored;
    while (clock_.now() < settings_.warm_up_ms) {
      TENON_TRY(runner_.query(clock_, ignored));
      ++warm_up_queries_;
    }
    return runner_.finish(ignored);
  }

  Status measure() {
    const double start = clock_.now();
    double shown = 0;
    for (int64_t done = 0; goes_on(done, clock_.now() - start); ++done) {
      TENON_TRY(runner_.query(clock_, queries_));
      if (settings_.idle_ms > 0) {
        std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(settings_.idle_ms));
      }
      const double elapsed = clock_.now() - start;
      if (console_ && elapsed - shown > kProgressEveryMs) {
        console_->progress(
            fmt::format("Running: {} queries in {:.1f} s", done + 1, elapsed / 1000));
        shown = elapsed;
      }
    }
    return runner_.finish(queries_);
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
  std::vector<QueryTimes> queries_;
  int64_t warm_up_queries_ = 0;
};

void run_all(std::vector<Stream>& streams) {
  if (streams.size() == 1) return streams.front().run();
  std::vector<std::jthread> threads;
  for (Stream& stream : streams) threads.emplace_back([&stream] { stream.run(); });
}

double wall_time(const std::vector<QueryTimes>& queries) {
  if (queries.empty()) return 0;
  const auto last = std::ranges::max_element(queries, {}, &QueryTimes::end_d2h);
  return last->end_d2h - queries.front().start_h2d;
}

}  // namespace

Result<InferenceTimes> run_inference(std::vector<std::unique_ptr<Runner>>& runners,
                                     const InferenceSettings& settings, Console& console) {
  const Clock clock;
  std::vector<Stream> streams;
  for (const auto& runner : runners) {
    streams.emplace_back(*runner, settings, clock, streams.empty() ? &console : nullptr);
  }
  run_all(streams);
  console.clear_progress();
  InferenceTimes times;
  for (const Stream& stream : streams) {
    if (!stream.status().ok()) return stream.status().error();
    times.queries.insert(times.queries.end(), stream.queries().begin(), stream.queries().end());
    times.warm_up_queries += stream.warm_up_queries();
  }
  std::ranges::sort(times.queries, {}, &QueryTimes::start_h2d);
  times.wall_ms = wall_time(times.queries);
  return times;
}

}  // namespace tenon::tools

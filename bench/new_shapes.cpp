// The host's cost of a shape: microseconds of setInputShape and enqueueV3 for each of a plan's
// shapes when it is met first and when it was met before, beside those of a shape that stays; and
// milliseconds until a plan is ready and has run.
//
//     g++ -std=c++17 -O2 -Iinclude -I/usr/local/cuda/include bench/new_shapes.cpp -o
//     /tmp/new_shapes -Lbuild/release/lib -ltenon LD_LIBRARY_PATH=build/release/lib /tmp/new_shapes
//     resnet50.plan 8 1 2 3 5 7 11 13 17 24 31
//
// The first number is that of open extents at the start, the others follow three times: let it be
// the largest, or memory that grows is measured as well. For plans of a GPU, which may be the
// driver of the tests that only pretends (TENON_CUDA_PATH=build/release/tests/fake_driver): with
// that the host's work is all there is. For plans of the CPU (--cpu as first argument) the run is
// left out: times are those of setInputShape and updateDeviceMemorySizeForShapes, which makes the
// shape ready. With --verbose ahead of the plan's name the library lists the work for each new
// shape: kernels, modules of code, compilations; each line begins with the milliseconds so far.
// Behind each turn stands the memory that is resident then. With --threads N ahead of --cpu, N
// threads with a context each then go through the shapes once more, each from another one on: the
// median of a shape, and all time by the number of shapes.
// With --wait behind that it waits half a second when the context is made: kernels of libraries,
// and all shapes of plans that have few, are made beside the application until then.
#include <NvInfer.h>
#include <tenon/device.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace nvinfer1;

constexpr size_t kTensorBytes = size_t{64} << 20;  // Of each input and output.
constexpr int kTurns = 3, kRuns = 200;

double microseconds() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Messages with the milliseconds since the first.
class Log final : public ILogger {
 public:
  bool is_verbose = false;
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kWARNING || is_verbose)
      std::fprintf(stderr, "%.1f: %s\n", (microseconds() - start_) / 1e3, message);
  }

 private:
  const double start_ = microseconds();
};

double resident_mib() {
  std::ifstream file("/proc/self/statm");
  double all = 0, resident = 0;
  file >> all >> resident;
  return resident * 4096 / (1 << 20);
}

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

/// A context whose open extents all take one value at a time.
class Runs {
 public:
  /// `gpu` is null for plans of the CPU, which are not run.
  Runs(ICudaEngine& engine, IExecutionContext& context, tenon::IGpu* gpu)
      : context_(context), gpu_(gpu), stream_(gpu == nullptr ? nullptr : gpu->createStream()) {
    for (int i = 0; i < engine.getNbIOTensors(); ++i) {
      const char* name = engine.getIOTensorName(i);
      if (gpu != nullptr) context.setTensorAddress(name, gpu->allocate(kTensorBytes));
      if (engine.getTensorIOMode(name) == TensorIOMode::kINPUT)
        inputs_.emplace_back(name, engine.getTensorShape(name));
    }
  }
  /// The host's part; ends the process where a run fails.
  double run(int64_t value) {
    const double start = microseconds();
    for (const auto& [name, shape] : inputs_) {
      Dims dims = shape;
      std::replace(dims.d, dims.d + dims.nbDims, int64_t{-1}, value);
      context_.setInputShape(name.c_str(), dims);
    }
    return finish(start);
  }
  double run_again() { return finish(microseconds()); }

 private:
  double finish(double start) {
    if (gpu_ == nullptr) {
      context_.updateDeviceMemorySizeForShapes();
      return microseconds() - start;
    }
    const bool enqueued = context_.enqueueV3(stream_);
    const double took = microseconds() - start;
    if (!enqueued || !gpu_->synchronize(stream_)) std::exit(2);
    return took;
  }

  IExecutionContext& context_;
  tenon::IGpu* gpu_;
  cudaStream_t stream_;
  std::vector<std::pair<std::string, Dims>> inputs_;
};

void compare(Runs& runs, const std::vector<int64_t>& values) {
  for (int turn = 0; turn < kTurns; ++turn) {
    std::printf("us, turn %d:", turn);
    for (const int64_t value : values)
      std::printf(" %lld:%.0f", static_cast<long long>(value), runs.run(value));
    std::printf(" (%.1f MiB)\n", resident_mib());
  }
  std::vector<double> same, changing;
  for (int i = 0; i < kRuns; ++i) same.push_back(runs.run_again());
  for (int i = 0; i < kRuns; ++i)
    changing.push_back(runs.run(values[static_cast<size_t>(i) % values.size()]));
  std::printf("us, medians: one shape %.1f, all in turn %.1f\n", median(same), median(changing));
}

/// As many contexts as threads, each in one of its own.
void meet_in_threads(ICudaEngine& engine, int count, const std::vector<int64_t>& values) {
  std::vector<std::vector<double>> times(count);
  std::vector<std::thread> threads;
  const double start = microseconds();
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      const std::unique_ptr<IExecutionContext> context(engine.createExecutionContext());
      if (!context) std::exit(2);
      Runs runs(engine, *context, nullptr);
      for (size_t k = 0; k < values.size(); ++k)
        times[i].push_back(runs.run(values[(k + i * values.size() / count) % values.size()]));
    });
  for (std::thread& thread : threads) thread.join();
  std::vector<double> all;
  for (const std::vector<double>& each : times) all.insert(all.end(), each.begin(), each.end());
  std::printf("us, %d threads: median %.1f, %.1f a shape of all together (%.1f MiB)\n", count,
              median(all), (microseconds() - start) / static_cast<double>(all.size()),
              resident_mib());
}

}  // namespace

int main(int count, char** words) {
  const auto take = [&](const char* flag) {
    const bool given = count > 1 && std::string(words[1]) == flag;
    if (given) --count, ++words;
    return given;
  };
  int threads = 0;
  if (take("--threads") && count > 1) threads = std::atoi(words[1]), --count, ++words;
  const bool on_cpu = take("--cpu");
  Log log;
  log.is_verbose = take("--verbose");
  const bool waits = take("--wait");
  if (count < 3) {
    std::fprintf(
        stderr,
        "usage: new_shapes [--threads N] [--cpu] [--verbose] [--wait] PLAN FIRST [VALUE...]\n");
    return 1;
  }
  std::ifstream file(words[1], std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  const std::unique_ptr<tenon::IGpu> gpu(on_cpu ? nullptr : tenon::openGpu(0, log));
  if (!gpu && !on_cpu) return 2;
  const double start = microseconds();
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(log));
  const std::unique_ptr<ICudaEngine> engine(
      runtime->deserializeCudaEngine(bytes.data(), bytes.size()));
  if (!engine) return 2;
  const double loaded = microseconds();
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  if (!context) return 2;
  const double made = microseconds();
  if (waits) std::this_thread::sleep_for(std::chrono::milliseconds(500));
  Runs runs(*engine, *context, gpu.get());
  const double first = runs.run(std::atoll(words[2]));
  std::printf("ms: loaded %.1f, context %.1f, first run's host part %.1f\n", (loaded - start) / 1e3,
              (made - loaded) / 1e3, first / 1e3);
  std::vector<int64_t> values;
  for (int i = 3; i < count; ++i) values.push_back(std::atoll(words[i]));
  if (!values.empty()) compare(runs, values);
  if (on_cpu && threads > 0) meet_in_threads(*engine, threads, values);
  return 0;
}

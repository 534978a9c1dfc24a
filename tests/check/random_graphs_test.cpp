// Random graphs through builds and runs, at all levels: no crash, no difference. On the CPU, or
// with TENON_TEST_DEVICE=cuda on a GPU.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string_view>

#include "check/compare.h"
#include "check/compile_checked.h"
#include "check/deadline.h"
#include "check/rounding.h"
#include "check/sensitivity.h"
#include "gpu_bindings.h"
#include "ir/text.h"
#include "kernels/algorithm.h"
#include "memory_logger.h"
#include "ops/numerics.h"
#include "ops/table.h"
#include "passes/numeric.h"
#include "passes/random_graph.h"
#include "plan/plan_file.h"
#include "runtime/graphs.h"
#include "select/compile.h"

namespace tenon {
namespace {

/// More on cores than that is a hang. (A GPU's kernels are compiled.)
constexpr double kSeconds = 10, kSecondsOnGpu = 60;

/// Seeds whose graphs normalize rows of nearly equal numbers several times, some in loops: one bit
/// of the first mean is 1.9e-5 behind it, and 6e-3 behind the second.
constexpr uint64_t kIllConditioned[] = {15724,   20694,   23235,   23237,   35563,
                                        1009718, 1011982, 3001799, 3002778, 3013593};

/// Seeds whose graphs were once built wrongly or not at all: the softmax of a vector as
/// attention's, and a normalization behind a sum without readers, whose result came out as the sum.
constexpr uint64_t kOnceWrong[] = {32836, 35439};
/// The same of several batches: a branch that is not taken normalizes by factors for another one.
constexpr uint64_t kOnceWrongOfBatches[] = {12007992};

/// Seeds whose graphs, though right, did not pass the self-check once: rows of nearly equal numbers
/// are normalized, normalized pairs averaged, branches compute in 16 bits, of two nearly equal
/// numbers the larger one is chosen, a fused region keeps f32 where the branch around it has 16
/// bits, another rounds values in a branch that it casts to f32, inputs are rounded for nodes that
/// are no products, and normalized pairs of equal numbers are normalized again.
constexpr uint64_t kAlarmedOnce[] = {24,      1001827, 1002069, 1002557, 1004929,
                                     1005559, 1007018, 1007444, 1008284, 1012073,
                                     2000727, 5001553, 7102411, 7107081, 7200024};

/// The same of graphs of several types: constants that are computed in 16 bits before the run,
/// regions that round at casts alone, and passes behind which more digits are kept.
constexpr uint64_t kAlarmedOnceOfTypes[] = {153, 196, 245, 417, 1194, 1469, 2636, 2680};

struct Seeds {
  uint64_t first = 0, count = 0;
  double seconds = 1e9;  ///< No seed begins later.
};

/// TENON_TEST_SEEDS=FIRST:COUNT, and TENON_TEST_SECONDS=N; 20,000 take two minutes. `count`: where
/// none is given.
Seeds seeds(uint64_t count = 400) {
  Seeds seeds{.count = count};
  if (const char* limit = std::getenv("TENON_TEST_SECONDS"))
    seeds.seconds = std::strtod(limit, nullptr);
  const char* text = std::getenv("TENON_TEST_SEEDS");
  if (text == nullptr) return seeds;
  const std::string_view all = text;
  const size_t colon = all.find(':');
  std::from_chars(all.data(), all.data() + std::min(colon, all.size()), seeds.first);
  if (colon != std::string_view::npos)
    std::from_chars(all.data() + colon + 1, all.data() + all.size(), seeds.count);
  return seeds;
}

/// A random graph as a network has it: each output a value of its own, with a name of its own.
std::unique_ptr<Graph> network_of(uint64_t seed) {
  auto graph = random_graph(seed, 10 + static_cast<int>(seed % 5) * 8);
  for (size_t i = 0; i < graph->outputs().size(); ++i) {
    Node* copy = graph->add_node(std::make_unique<Identity>(), {graph->outputs()[i]}, 1,
                                 fmt::format("output{}", i));
    EXPECT_TRUE(infer_node(*copy).ok());
    copy->output()->name = fmt::format("out{}", i);
    graph->set_output(static_cast<int>(i), copy->output());
  }
  return graph;
}

bool on_gpu() {
  const char* device = std::getenv("TENON_TEST_DEVICE");
  return device != nullptr && std::string_view(device) == "cuda";
}

Result<Backend> backend_of(int threads) {
  if (!on_gpu()) return cpu_backend(threads);
  static const Result<Backend> kGpu = cuda_backend();
  return kGpu;
}

/// How a seed's graph is built: every level, one thread or several, transforms or none.
Result<CompileRequest> request_of(uint64_t seed) {
  CompileRequest request;
  request.graph = network_of(seed);
  const int threads = 1 + static_cast<int>(seed / 6 % 3);
  TENON_ASSIGN(request.backend, backend_of(threads));
  if (seed / 18 % 2 == 1) request.backend.numerics = request.backend.numerics.exact();
  request.passes = pass_options_for(*request.backend.device);
  request.passes.level = request.select.level = static_cast<int>(seed % 6);
  request.select.threads = threads;
  request.select.average_runs = 1;
  return request;
}

Result<std::vector<Tensor>> run_on_device(const std::shared_ptr<Engine>& engine,
                                          const std::vector<Tensor>& inputs, int threads) {
  if (!on_gpu()) return run_engine(engine, inputs, threads);
  Device& device = *engine->backend().device;
  TENON_TRY(device.activate());
  TENON_ASSIGN(const std::unique_ptr<Context> context, Context::create(engine, threads));
  GpuBindings bindings(device, *context);
  TENON_TRY(bindings.bind(engine->graph(), inputs));
  for (int run = 0; run < 2; ++run) TENON_TRY(context->enqueue());
  return bindings.results();
}

/// Right results: in f64, and with the rounding that any kernel may do.
struct Right {
  std::vector<Tensor> exact, rounded;
};
Result<Right> right_results(const Graph& network, const std::vector<Tensor>& inputs) {
  Right right;
  TENON_ASSIGN(right.exact, exact_results(network, inputs));
  TENON_ASSIGN(const auto cut, with_rounding(network, {}));
  TENON_ASSIGN(right.rounded, evaluate_graph(*cut, inputs));
  return right;
}

/// Empty, or the error.
std::string difference(const Tensor& actual, const Tensor& exact, const Tensor& rounded) {
  if (actual.extents() != exact.extents()) return "other extents";
  if (!is_real(actual.type())) return actual == exact || actual == rounded ? "" : "integers differ";
  const Deviation found = compare_tensors(actual, exact, &rounded,
                                          tolerance(Computation::kTransform, actual.type()), true);
  return found.agrees() ? "" : found.describe();
}

/// The first output that rounding does not explain, or nothing.
Result<std::string> compare(const Graph& network, const std::vector<Tensor>& inputs,
                            const std::vector<Tensor>& actual) {
  TENON_ASSIGN(const Right right, right_results(network, inputs));
  for (size_t i = 0; i < actual.size(); ++i) {
    const std::string what = difference(actual[i], right.exact[i], right.rounded[i]);
    if (what.empty()) continue;
    TENON_ASSIGN(const Sensitivity sensitivity, Sensitivity::of(network, inputs));
    if (!sensitivity.explains(actual[i], i)) return fmt::format("output {}: {}", i, what);
  }
  return std::string();
}

/// The same for graphs with types of 16 bits: one of several draws has to explain an output, some
/// of which round every value to bf16.
Result<std::string> compare_types(const Graph& network, const std::vector<Tensor>& inputs,
                                  const std::vector<Tensor>& actual) {
  constexpr int kDraws = 6, kOwnDraws = 3;
  TENON_ASSIGN(const std::vector<Tensor> expected, evaluate_graph(network, inputs));
  const Tolerance limit = tolerance(Computation::kNetwork, DataType::kBFloat16);
  const Steadiness steadiness = std::max(steadiness_of(network), Steadiness::kSteady);
  std::vector<std::string> left(actual.size(), "not compared");
  for (int draw = 0; draw < kDraws; ++draw) {
    const auto stored = [&](const Value& value) -> std::optional<DataType> {
      const bool rounds = draw >= kOwnDraws && value.type.type == DataType::kFloat32;
      return rounds ? std::optional(DataType::kBFloat16) : std::nullopt;
    };
    TENON_ASSIGN(const auto cut, with_rounding(network, {.stored = stored, .draw = draw}));
    TENON_ASSIGN(const std::vector<Tensor> rounded, evaluate_graph(*cut, inputs));
    for (size_t i = 0; i < actual.size(); ++i) {
      if (left[i].empty()) continue;
      const Deviation found =
          compare_results(actual[i], expected[i], &rounded[i], limit, steadiness);
      left[i] = found.agrees() ? "" : found.describe();
    }
  }
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i].empty()) continue;
    TENON_ASSIGN(const Sensitivity sensitivity,
                 Sensitivity::of(network, inputs, Sensitivity::kShareOfBFloat16));
    if (!sensitivity.explains(actual[i], i)) return fmt::format("output {}: {}", i, left[i]);
  }
  return std::string();
}

/// The results of a plan that is written and read again.
Result<std::vector<Tensor>> build_and_run(CompileRequest request,
                                          const std::vector<Tensor>& inputs) {
  const Backend backend = request.backend;
  const int threads = request.select.threads;
  NullLogger logger;
  TimingCache cache;
  TENON_ASSIGN(const Plan plan, compile(std::move(request), cache, logger));
  TENON_ASSIGN(const LargeBytes bytes, write_plan(plan));
  TENON_ASSIGN(Plan loaded, read_plan(bytes, nullptr));
  TENON_ASSIGN(const auto engine, Engine::create(std::move(loaded), backend));
  return run_on_device(engine, inputs, threads);
}

std::string told(uint64_t seed, const std::string& what, const Graph& network) {
  if (what.empty()) return what;
  return fmt::format("level {}: {}\n{}", seed % 6, what, seeds().count == 1 ? print(network) : "");
}

/// Empty, or the error.
Result<std::string> try_plan(uint64_t seed) {
  TENON_ASSIGN(CompileRequest request, request_of(seed));
  const auto network = request.graph->clone();
  const std::vector<Tensor> inputs = random_inputs(*network, seed);
  TENON_ASSIGN(const auto actual, build_and_run(std::move(request), inputs));
  TENON_ASSIGN(const std::string what, compare(*network, inputs, actual));
  return told(seed, what, *network);
}

/// The same for a graph of several types.
Result<std::string> try_types(uint64_t seed) {
  TENON_ASSIGN(CompileRequest request, request_of(seed));
  TENON_TRY(change_types(*request.graph, seed));
  const auto network = request.graph->clone();
  const std::vector<Tensor> inputs = random_inputs(*network, seed);
  TENON_ASSIGN(const auto actual, build_and_run(std::move(request), inputs));
  TENON_ASSIGN(const std::string what, compare_types(*network, inputs, actual));
  return told(seed, what, *network);
}

constexpr Range kBatches = {1, 4};
/// The error of a run in which one of two halves of an odd batch would be repeated for the other.
constexpr std::string_view kTakenAsEqual = "were taken as equal when the plan was built";

/// Of inputs with open extents.
Profile profile_of(const Graph& network) {
  Profile profile;
  for (const Value* input : network.inputs()) {
    const auto under = [&](int64_t batch) {
      Extents extents;
      for (const Dim& dim : input->type.shape) extents.push_back(*dim.evaluate({{"n", batch}}));
      return extents;
    };
    profile[input->name] = {under(kBatches.min), under(2), under(kBatches.max)};
  }
  return profile;
}

/// The network as it is for these inputs alone, if all of its branches allow their extents.
std::unique_ptr<Graph> fixed_to(const Graph& network, const std::vector<Tensor>& inputs) {
  auto fixed = network.clone();
  for (size_t i = 0; i < inputs.size(); ++i)
    fixed->inputs()[i]->type.shape = to_shape(inputs[i].extents());
  return infer_graph(*fixed).ok() ? std::move(fixed) : network.clone();
}

/// A plan for several batches, run with inputs of any of these. Graphs and batches that operators
/// do not allow are passed over.
Result<std::string> try_batches(uint64_t seed) {
  TENON_ASSIGN(CompileRequest request, request_of(seed));
  if (!open_batch(*request.graph, kBatches).ok()) return std::string();
  if (seed % 2 == 1) TENON_TRY(change_types(*request.graph, seed));
  request.profiles = {profile_of(*request.graph)};
  const Backend backend = request.backend;
  const int threads = request.select.threads;
  const auto network = request.graph->clone();
  NullLogger logger;
  TimingCache cache;
  std::shared_ptr<Engine> engine;
  for (uint64_t run = 0; run < 3; ++run) {
    const std::vector<Tensor> inputs = random_inputs(*network, seed + run);
    if (!evaluate_graph(*network, inputs).ok()) continue;
    if (engine == nullptr) {
      TENON_ASSIGN(Plan plan, compile(std::move(request), cache, logger));
      TENON_ASSIGN(engine, Engine::create(std::move(plan), backend));
    }
    const auto actual = run_on_device(engine, inputs, threads);
    if (!actual.ok() && actual.error().message.find(kTakenAsEqual) != std::string::npos) continue;
    if (!actual.ok()) return actual.error();
    TENON_ASSIGN(const std::string what,
                 compare_types(*fixed_to(*network, inputs), inputs, *actual));
    if (!what.empty()) return told(seed, what, *network);
  }
  return std::string();
}

/// Nothing, or the error.
std::string text_of(const Result<std::string>& found) {
  return found.ok() ? *found : found.error().message;
}

std::string try_seed(uint64_t seed) {
  return text_of(try_plan(seed));
}

/// Seconds that all threads were on cores: on a busy machine a graph takes longer, but not more.
double seconds_on_cores() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// A hang ends the process after some time on cores.
class EndOfHangs {
 public:
  EndOfHangs() { getrlimit(RLIMIT_CPU, &before_); }
  ~EndOfHangs() { setrlimit(RLIMIT_CPU, &before_); }
  EndOfHangs(const EndOfHangs&) = delete;
  void begin(double seconds) const {
    rlimit limit = before_;
    limit.rlim_cur =
        std::min(before_.rlim_cur, static_cast<rlim_t>(seconds_on_cores() + 2 * seconds));
    setrlimit(RLIMIT_CPU, &limit);
  }

 private:
  rlimit before_{};
};

/// `try_one` gives nothing, or the error of a seed. A GPU may be of no more use to the process
/// behind a failure, which ends the test: random_graphs.py goes on behind it.
void try_seeds(const Seeds& tried, const std::function<std::string(uint64_t)>& try_one) {
  const Deadline end(tried.seconds);
  const double limit = on_gpu() ? kSecondsOnGpu : kSeconds;
  const bool is_told = std::getenv("TENON_TEST_SEEDS") != nullptr;
  const EndOfHangs hangs;
  uint64_t seed = tried.first;
  while (seed < tried.first + tried.count && !end.passed()) {
    if (is_told) fmt::print("seed {}\n", seed);
    std::fflush(stdout);
    hangs.begin(limit);
    const double begin = seconds_on_cores();
    EXPECT_EQ(try_one(seed), "") << "TENON_TEST_SEEDS=" << seed << ":1";
    EXPECT_LT(seconds_on_cores() - begin, limit) << "TENON_TEST_SEEDS=" << seed << ":1";
    ++seed;
    if (on_gpu() && testing::Test::HasFailure()) break;
  }
  fmt::print("{} graphs\n", seed - tried.first);
}

TEST(RandomGraphs, ComputeWhatTheReferenceDoes) {
  try_seeds(seeds(), try_seed);
}

TEST(RandomGraphs, OfSeveralTypesComputeWhatTheReferenceDoes) {
  try_seeds(seeds(100), [](uint64_t seed) { return text_of(try_types(seed)); });
}

TEST(RandomGraphs, OfSeveralBatchesComputeWhatTheReferenceDoes) {
  try_seeds(seeds(100), [](uint64_t seed) { return text_of(try_batches(seed)); });
}

/// Builds that check themselves find nothing in graphs that are right: in f32 and in 16 bits, every
/// region and as many as there is time for.
Result<CompileRequest> checked_request_of(uint64_t seed) {
  TENON_ASSIGN(CompileRequest request, request_of(seed));
  request.passes.level = request.select.level = SelfCheck::kMinLevel + static_cast<int>(seed % 3);
  if (seed % 2 == 1) request.passes.precision = DataType::kBFloat16;
  if (seed % 4 == 1 && on_gpu()) request.passes.precision = DataType::kFloat16;
  return request;
}

/// Empty, or the finding.
Result<std::string> check_itself(CompileRequest request, uint64_t seed) {
  SelfCheck check;
  check.regions = seed / 4 % 2 == 1;
  const auto network = request.graph->clone();
  MemoryLogger logger;
  TimingCache cache;
  check.keep_failed = true;
  TENON_ASSIGN(const Plan plan, compile_checked(std::move(request), cache, check, logger));
  const std::string outcome = plan.settings.at("self_check");
  const bool is_fine = outcome == "passed" || outcome.starts_with("not done");
  if (is_fine) return std::string();
  return outcome + "\n" + logger.text + (seeds().count == 1 ? print(*network) : "");
}

Result<std::string> try_check(uint64_t seed) {
  TENON_ASSIGN(CompileRequest request, checked_request_of(seed));
  return check_itself(std::move(request), seed);
}

/// The same for graphs of several types, of several batches, or both.
Result<std::string> try_check_of_types(uint64_t seed) {
  TENON_ASSIGN(CompileRequest request, checked_request_of(seed));
  const bool is_open = seed / 2 % 2 == 1;
  if (is_open && !open_batch(*request.graph, kBatches).ok()) return std::string();
  if (is_open) request.profiles = {profile_of(*request.graph)};
  if (!is_open || seed / 8 % 2 == 1) TENON_TRY(change_types(*request.graph, seed));
  return check_itself(std::move(request), seed);
}

TEST(RandomGraphs, PassTheSelfCheck) {
  try_seeds(seeds(100), [](uint64_t seed) { return text_of(try_check(seed)); });
}

TEST(RandomGraphs, OfSeveralTypesAndBatchesPassTheSelfCheck) {
  try_seeds(seeds(100), [](uint64_t seed) { return text_of(try_check_of_types(seed)); });
}

TEST(RandomGraphs, ThatAlarmedOnce) {
  for (const uint64_t seed : kAlarmedOnce) EXPECT_EQ(text_of(try_check(seed)), "") << seed;
  for (const uint64_t seed : kAlarmedOnceOfTypes)
    EXPECT_EQ(text_of(try_check_of_types(seed)), "") << seed;
}

TEST(RandomGraphs, ThatAreIllConditioned) {
  for (const uint64_t seed : kIllConditioned) EXPECT_EQ(try_seed(seed), "") << seed;
}

/// The yardstick has to tell an error from rounding.
TEST(RandomGraphs, ErrorsAreNoRounding) {
  size_t outputs = 0, noticed = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const auto network = network_of(seed);
    const auto right = Sensitivity::of(*network, random_inputs(*network, seed));
    ASSERT_TRUE(right.ok()) << right.error().message;
    for (size_t i = 0; i < right->exact().size(); ++i) {
      const Tensor& exact = right->exact()[i];
      Tensor wrong(exact.type(), exact.extents());
      for (int64_t k = 0; k < exact.count(); ++k) wrong.set_from_double(k, exact.as_double(k));
      EXPECT_TRUE(right->explains(wrong, i)) << seed;
      if (!is_real(wrong.type()) || wrong.count() == 0) continue;
      wrong.set_from_double(0, wrong.as_double(0) + 1e-2);
      ++outputs;
      noticed += !right->explains(wrong, i);
    }
  }
  EXPECT_GE(noticed, outputs * 99 / 100) << outputs;
}

TEST(RandomGraphs, ThatWereOnceWrong) {
  for (const uint64_t seed : kOnceWrong) EXPECT_EQ(try_seed(seed), "") << seed;
  for (const uint64_t seed : kOnceWrongOfBatches) EXPECT_EQ(text_of(try_batches(seed)), "") << seed;
}

}  // namespace
}  // namespace tenon

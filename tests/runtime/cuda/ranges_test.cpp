// Plans for ranges of shapes hold the code of all of them: no batch within a profile waits for a
// compiler.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <set>
#include <sstream>

#include "../list_numbers.h"
#include "device/cuda/compiler.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/nvrtc.h"
#include "ir/text.h"
#include "kernels/movable_constants.h"
#include "kernels/tactic.h"
#include "lower/verify_steps.h"
#include "ops/table.h"
#include "passes/observed_passes.h"
#include "plan/plan_file.h"
#include "runtime/context.h"
#include "runtime/engine.h"
#include "select/collect_code.h"
#include "select/compile.h"

namespace tenon {
namespace {

const int kFakeDriverIsSet = setenv("TENON_CUDA_PATH", FAKE_DRIVER "/..", 1);

/// A graph of n, and the most of a profile.
struct Case {
  const char* name;
  const char* text;
  int64_t most;
};

/// A node a line; inference finds the types. Inputs of fixed shapes are constants.
constexpr Case kCases[] = {
    {"images",
     "(%0: f16[n,64,14,14], %1: f16[64,64,3,3]) {\n"
     "%2 = conv(%0, %1) {pads_begin = [1,1], pads_end = [1,1], strides = [1,1], dilations = "
     "[1,1]}\n"
     "%3 = relu(%2)\n"
     "%4 = pool(%3) {function = max, kernel = [2,2], strides = [2,2]}\n"
     "%5 = reduce(%4) {function = mean, axes = [2,3], keep_dims = false}\n"
     "return %5\n}",
     16},
    {"rows",
     "(%0: f32[n,40]) {\n"
     "%1 = softmax(%0) {axes = [1]}\n"
     "%2 = normalization(%1) {norm = layer}\n"
     "%3 = reduce(%2) {axes = [1]}\n"
     "return %3\n}",
     129},
    {"attention",
     "(%0: f16[n,4,16,64], %1: f16[n,4,16,64]) {\n%2 = attention(%0, %1, %1)\nreturn %2\n}", 16},
    {"products",
     "(%0: f16[n,3,64], %1: f16[64,96]) {\n"
     "%2 = matmul(%0, %1)\n"
     "%3 = relu(%2)\n"
     "return %3\n}",
     24},
    {"recurrence",
     "(%0: f16[5,n,16], %1: f16[1,64,16], %2: f16[1,64,16]) {\n"
     "%3, %4, %5 = rnn(%0, %1, %2) {hidden = 16} : f16[1], f16[1], f16[1]\n"
     "return %3\n}",
     16},
    {"joined rows",
     "(%0: f16[n,24], %1: f16[n,40]) {\n%2 = concat(%0, %1) {axis = 1}\nreturn %2\n}", 24},
    {"gathered rows",
     "(%0: f32[300,24], %1: i64[n]) {\n%2 = gather(%0, %1) {axis = 0}\nreturn %2\n}", 24},
    {"sequences",
     "(%0: f16[2,n,4,64], %1: f16[2,n,4,64]) {\n"
     "%2 = transpose(%0) {permutation = [0,2,1,3]}\n"
     "%3 = transpose(%1) {permutation = [0,2,1,3]}\n"
     "%4 = attention(%2, %3, %3)\n"
     "%5 = transpose(%4) {permutation = [0,2,1,3]}\n"
     "%6 = softmax(%5) {axes = [3]}\n"
     "return %6\n}",
     200},
    {"words", "(%0: f32[300,24], %1: i64[3,n]) {\n%2 = gather(%0, %1) {axis = 0}\nreturn %2\n}",
     200},
    {"masks", "(%0: f16[2,1,n], %1: f16[2,n,1]) {\n%2 = mul(%0, %1)\n%3 = relu(%2)\nreturn %3\n}",
     200},
    {"numbers of extents",
     "(%0: i64[2,n]) {\n%1 = dims() {expressions = [\"n\"], extents = [], to = i64}\n"
     "%2 = add(%0, %1)\nreturn %2\n}",
     200},
    {"turned axes", "(%0: f32[n,6,20]) {\n%1 = transpose(%0) {permutation = [0,2,1]}\nreturn %1\n}",
     24},
};

/// With a type for each node, which the parser asks for.
std::string with_types(const char* text) {
  std::string typed = "graph \"\" ";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line); typed += line + '\n')
    if (line.starts_with('%') && line.find(" : ") == std::string::npos) line += " : f16[1]";
  return typed;
}

class OnPretendedGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC here";
    auto device = cuda::CudaDevice::open(0);
    ASSERT_TRUE(device.ok()) << device.error().message;
    backend_.device = *device;
    // Libraries do not run here.
    for (const Tactic& tactic : cuda_tactics())
      if (tactic.traits.origin == TacticOrigin::kOwn) tactics_.push_back(tactic);
    backend_.tactics = tactics_;
    use_cache("built");
  }

  /// Sources that were compiled are in no other cache.
  static void use_cache(const std::string& name) {
    const std::string folder = testing::TempDir() + "/ranges_cache_" + name;
    std::filesystem::remove_all(folder);
    setenv("TENON_CACHE_DIR", folder.c_str(), 1);
  }

  static void give_constants(Graph& graph) {
    for (int i = static_cast<int>(graph.inputs().size()); i-- > 0;) {
      Value* const input = graph.inputs()[static_cast<size_t>(i)];
      if (!is_constant(input->type.shape)) continue;
      Tensor numbers(input->type.type, constants(input->type.shape));
      for (int64_t k = 0; k < numbers.count(); ++k)
        numbers.set_from_double(k, static_cast<double>((k + i) % 7 - 3) / 8);
      graph.replace_uses(input, graph.add_constant(std::move(numbers)));
      graph.erase_input(i);
    }
  }

  using Change = std::function<void(Plan&, const Graph& network, const Backend&)>;
  std::shared_ptr<Engine> engine_of(const Case& network, const Change& change = {}) {
    auto graph = parse_graph(with_types(network.text));
    EXPECT_TRUE(graph.ok()) << graph.error().message;
    if (!graph.ok()) return nullptr;
    give_constants(**graph);
    if (!infer_graph(**graph).ok()) return nullptr;
    Profile profile;
    int number = 0;
    for (Value* input : (*graph)->inputs()) {
      input->name = fmt::format("in{}", number++);
      profile[input->name] = {extents_of(*input, 1), extents_of(*input, 8),
                              extents_of(*input, network.most)};
    }
    for (Value* output : (*graph)->outputs()) output->name = fmt::format("out{}", number++);
    ConstantStore constants(*backend_.device);
    CompileRequest request;
    const std::unique_ptr<Graph> original = (*graph)->clone();
    request.graph = std::move(*graph);
    request.profiles = {profile};
    request.backend = backend_;
    request.backend.constants = &constants;
    request.select.level = 0;
    TimingCache cache;
    NullLogger logger;
    const Backend backend = request.backend;
    auto plan = compile(std::move(request), cache, logger);
    EXPECT_TRUE(plan.ok()) << plan.error().message;
    if (!plan.ok()) return nullptr;
    if (change) change(*plan, *original, backend);
    EXPECT_TRUE(collect_code(*plan, backend, logger).ok());
    auto loaded = read_plan(*write_plan(*plan), nullptr);
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    auto engine = Engine::create(std::move(loaded).value(), backend_);
    EXPECT_TRUE(engine.ok()) << engine.error().message;
    return engine.ok() ? *engine : nullptr;
  }

  static Extents extents_of(const Value& value, int64_t n) {
    Extents extents;
    for (const Dim& dim : value.type.shape) extents.push_back(dim.evaluate({{"n", n}}).value_or(0));
    return extents;
  }

  void run(Context& context, int64_t n) {
    const Graph& graph = context.engine().graph();
    for (const Value* input : graph.inputs()) {
      ASSERT_TRUE(context.set_input_shape(input->name, extents_of(*input, n)).ok());
      ASSERT_TRUE(context.set_address(input->name, memory_.data()).ok());
    }
    for (const Value* output : graph.outputs())
      ASSERT_TRUE(context.set_address(output->name, memory_.data()).ok());
    const Status status = context.enqueue();
    ASSERT_TRUE(status.ok()) << status.error().message;
  }

  std::vector<Tactic> tactics_;
  Backend backend_;
  alignas(256) static inline std::array<std::byte, 4096> memory_{};
};

class GpuRanges : public OnPretendedGpu, public testing::WithParamInterface<Case> {};

TEST_P(GpuRanges, AreRunWithoutACompiler) {
  const std::shared_ptr<Engine> engine = engine_of(GetParam());
  ASSERT_NE(engine, nullptr);
  use_cache("empty");
  const auto context = Context::create(engine);
  ASSERT_TRUE(context.ok());
  for (const int64_t n : {1, 2, 3, 5, 7, 8, 13, 24, 31, 64, 100, 127, 129}) {
    if (n > GetParam().most) break;
    const int64_t before = cuda::compiler_work().compiled;
    ASSERT_NO_FATAL_FAILURE(run(**context, n));
    EXPECT_EQ(cuda::compiler_work().compiled, before) << "n = " << n;
  }
}

/// Programs take the list of an earlier one: it says the same as one that is made for them alone.
TEST_P(GpuRanges, ShareListsThatSayTheSame) {
  const std::shared_ptr<Engine> engine = engine_of(GetParam());
  ASSERT_NE(engine, nullptr);
  const auto first = engine->program({{"n", GetParam().most}}, 1);
  ASSERT_TRUE(first.ok()) << first.error().message;
  int shared = 0;
  for (const int64_t n : {1, 2, 3, 5, 7, 13, 22, 64, 127}) {
    if (n > GetParam().most) break;
    const auto program = engine->program({{"n", n}}, 1);
    ASSERT_TRUE(program.ok()) << program.error().message;
    shared += (*program)->shares_list_of(**first) ? 1 : 0;
    const StepList list = (*program)->list();
    const Status sound = verify(list, engine->graph());
    EXPECT_TRUE(sound.ok()) << sound.error().message;
    const auto alone = Engine::create(copy_of(engine->plan()), backend_);
    ASSERT_TRUE(alone.ok()) << alone.error().message;
    const auto same = (*alone)->program({{"n", n}}, 1);
    ASSERT_TRUE(same.ok()) << same.error().message;
    EXPECT_EQ(numbers_of(list), numbers_of((*same)->list())) << "n = " << n;
    EXPECT_LE((*program)->arena_bytes(), (*first)->arena_bytes());
  }
  EXPECT_GT(shared, 0);
}

/// Calls of a driver's function since the last reset.
class Calls {
 public:
  Calls() : library_(dlopen(FAKE_DRIVER "/libcuda.so.1", RTLD_NOW)) {}
  void reset() const {
    reinterpret_cast<void (*)(const char*, int, int)>(dlsym(library_, "fake_driver_fail"))(nullptr,
                                                                                           -1, 0);
  }
  int of(const char* function) const {
    return reinterpret_cast<int (*)(const char*)>(dlsym(library_, "fake_driver_calls"))(function);
  }

 private:
  void* library_;
};

/// Where the constants of each step's kernel lie.
std::vector<const void*> constants_of(const Program& program) {
  std::vector<const void*> addresses;
  for (int step = 0; step < program.step_count(); ++step)
    if (const auto* kernel = dynamic_cast<const MovableConstants*>(program.step_kernel(step)))
      for (const auto& block : kernel->blocks()) addresses.push_back(block.address);
  return addresses;
}

using EqualLayers = OnPretendedGpu;

TEST_F(EqualLayers, ShareTheLaunchesOfANewShapeAndKeepTheirConstants) {
  std::string text = "(%0: f16[n,64,14,14]";
  constexpr int kLayers = 6;
  for (int i = 1; i <= kLayers; ++i) text += fmt::format(", %{}: f16[64,64,3,3]", i);
  text += ") {\n";
  for (int i = 1; i <= kLayers; ++i)
    text += fmt::format(
        "%{} = conv(%{}, %{}) {{pads_begin = [1,1], pads_end = [1,1], strides = [1,1], dilations = "
        "[1,1]}}\n",
        kLayers + i, i == 1 ? 0 : kLayers + i - 1, i);
  text += fmt::format("return %{}\n}}", 2 * kLayers);
  const std::shared_ptr<Engine> engine = engine_of({"layers", text.c_str(), 32});
  ASSERT_NE(engine, nullptr);
  const auto context = Context::create(engine);
  ASSERT_TRUE(context.ok());
  ASSERT_NO_FATAL_FAILURE(run(**context, 5));
  const auto before = constants_of(*(*context)->program());
  EXPECT_EQ(std::set<const void*>(before.begin(), before.end()).size(), size_t{kLayers});
  const Calls calls;
  calls.reset();
  ASSERT_NO_FATAL_FAILURE(run(**context, 7));
  EXPECT_EQ(calls.of("cuLaunchKernelEx"), (*context)->program()->step_count());
  EXPECT_EQ(calls.of("cuModuleGetFunction"), 0) << "code that is loaded is not asked for again";
  EXPECT_GT((*context)->program()->making().planned, size_t{0});
  EXPECT_LT((*context)->program()->making().planned, size_t{kLayers});
  EXPECT_EQ(constants_of(*(*context)->program()), before);
}

/// Of images, or of lengths.
constexpr const char* kRows[] = {"f16[n,16,64]", "f16[2,n,64]"};
constexpr char kNormalized[] =
    ", %1: f16[64,64], %2: f16[64,128], %3: f16[128,64]) {\n"
    "%4 = matmul(%0, %1)\n"
    "%5 = normalization(%4) {norm = layer}\n"
    "%6 = matmul(%5, %2)\n"
    "%7 = tanh(%6)\n"
    "%8 = matmul(%7, %3)\n"
    "%9 = add(%8, %4)\n"
    "return %9\n}";

class GpuForms : public OnPretendedGpu, public testing::WithParamInterface<const char*> {
 protected:
  static void become(int capability) {
    void* const library = dlopen(FAKE_DRIVER "/libcuda.so.1", RTLD_NOW);
    reinterpret_cast<void (*)(int)>(dlsym(library, "fake_driver_become"))(capability);
  }
  void SetUp() override {
    become(90);
    OnPretendedGpu::SetUp();
  }
  void TearDown() override { become(80); }

  /// Up to two of the slowest axis run by the form whose products normalize.
  void add_form(Plan& plan, std::unique_ptr<Graph> network, const Backend& backend) const {
    ASSERT_TRUE(apply_profiles(*network, plan.profiles).ok());
    NullLogger logger;
    PassOptions options = pass_options_for(*backend.device);
    options.leaves_forms = true;
    auto run = run_observed_passes(*network, options, logger, nullptr);
    ASSERT_TRUE(run.ok()) << run.error().message;
    ASSERT_EQ(run->forms.size(), 1u);
    TimingCache cache;
    SelectOptions select;
    select.level = 0;
    const Status chosen = select_tactics(*run->forms[0], backend, {{"n", 2}}, select, cache);
    ASSERT_TRUE(chosen.ok()) << chosen.error().message;
    plan.forms.push_back(std::move(run->forms[0]));
    plan.choices = {{{{"n", 2}}, {}, 1}, {{{"n", 8}}}, {{{"n", 24}}}};
  }
};

TEST_P(GpuForms, RunWithoutACompiler) {
  const std::string text = fmt::format("(%0: {}{}", GetParam(), kNormalized);
  const std::shared_ptr<Engine> engine =
      engine_of({"normalized", text.c_str(), 24},
                [&](Plan& plan, const Graph& network, const Backend& backend) {
                  add_form(plan, network.clone(), backend);
                });
  ASSERT_NE(engine, nullptr);
  ASSERT_EQ(engine->plan().forms.size(), 1u);
  use_cache("empty");
  const auto context = Context::create(engine);
  ASSERT_TRUE(context.ok());
  for (const int64_t n : {1, 8, 2, 3, 24, 1}) {
    const int64_t before = cuda::compiler_work().compiled;
    ASSERT_NO_FATAL_FAILURE(run(**context, n));
    EXPECT_EQ(cuda::compiler_work().compiled, before) << "n = " << n;
    const bool is_split = (*context)->program()->step_count() == 3;
    EXPECT_EQ(is_split, n <= 2) << "n = " << n << ": " << (*context)->program()->step_count();
  }
}

INSTANTIATE_TEST_SUITE_P(All, GpuForms, testing::ValuesIn(kRows));

INSTANTIATE_TEST_SUITE_P(All, GpuRanges, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case>& info) {
                           std::string name = info.param.name;
                           std::ranges::replace(name, ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace tenon

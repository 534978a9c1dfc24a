// The CUDA kernels of our own over the cases of every family: they compile for each architecture
// wherever NVRTC is, and give the reference's results where a GPU is.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "device/cuda/compiler.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/nvrtc.h"
#include "device/open_extents.h"
#include "kernels/constant_store.h"
#include "kernels/jit/kernel_case.h"
#include "kernels/tactic.h"

namespace tenon::test {
namespace {

/// Kernels of libraries need the device itself; the fallback is not ours to test here.
bool is_own(const Tactic& tactic) {
  for (const char* other : {"cudnn", ".lt", "cublas", "reference"})
    if (tactic.name.find(other) != std::string_view::npos) return false;
  return tactic.name != "cuda.gemm.sparse";
}

/// The environment has the value while this exists.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~ScopedVariable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  ScopedVariable(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// TENON_TEST_TACTICS limits them to those whose names contain it.
std::vector<Tactic> all_tactics() {
  std::vector<Tactic> all(cuda_tactics().begin(), cuda_tactics().end());
  if (const char* wanted = std::getenv("TENON_TEST_TACTICS"))
    std::erase_if(all, [&](const Tactic& tactic) {
      return tactic.name.find(wanted) == std::string_view::npos;
    });
  return all;
}

bool is_tried(const KernelCase& one, const Tactic& tactic) {
  return is_own(tactic) && (one.only_tactic().empty() || one.only_tactic() == tactic.name);
}

std::vector<Tactic> tactics_for(const KernelCase& one, const Problem& problem) {
  std::vector<Tactic> fitting;
  for (const Tactic& tactic : all_tactics())
    if (is_tried(one, tactic) && tactic.supports(problem)) fitting.push_back(tactic);
  return fitting;
}

/// TENON_TEST_CONFIGS limits the configurations of each tactic to so many, spread over the list, or
/// to those with that text.
std::vector<std::string> configs_of(const KernelCase& one, const Tactic& tactic,
                                    const Problem& problem) {
  std::vector<std::string> configs = one.chosen(tactic.configs(problem));
  const char* text = std::getenv("TENON_TEST_CONFIGS");
  if (text != nullptr && std::isdigit(static_cast<unsigned char>(*text)) == 0) {
    std::erase_if(
        configs, [&](const std::string& config) { return config.find(text) == std::string::npos; });
    return configs;
  }
  const size_t most = text == nullptr ? configs.size() : std::strtoul(text, nullptr, 10);
  if (most == 0 || most >= configs.size()) return configs;
  std::vector<std::string> some;
  for (size_t i = 0; i < most; ++i) some.push_back(configs[i * configs.size() / most]);
  return some;
}

/// Whether constants are variables in memory. Drivers allocate, write and link these whenever code
/// is loaded, which takes several times as long as the code. Tables that are read at computed
/// places have to be in memory: kernels that have one are not looked at. Names of sections and
/// symbols stand in the file.
bool has_variables(std::string_view code) {
  // The last one begins the names of the tables that CUDA's own sin, cos and tan read.
  constexpr std::string_view kTables[] = {"kDown", "kAcross", "__cudart_"};
  const auto has = [&](std::string_view name) { return code.find(name) != std::string_view::npos; };
  return has(".nv.global") && std::ranges::none_of(kTables, has);
}

/// Compiles the kernel.
void expect_code(const Tactic& tactic, Problem problem, const std::string& config,
                 const std::string& name) {
  ConstantStore store(*problem.device);
  const auto library = std::make_shared<CodeLibrary>(CodeLibrary::Use::kCollect);
  store.set_code(library);
  problem.constants = &store;
  const auto kernel = tactic.create(problem, config);
  const std::string what = fmt::format("{}, {}{{{}}}, sm_{}", name, tactic.name, config,
                                       problem.device->properties().compute_capability);
  EXPECT_TRUE(kernel.ok()) << what << ": " << kernel.error().message;
  library->for_each([&](const std::string&, const CodeLibrary::Code& code) {
    EXPECT_FALSE(has_variables(code.text())) << what;
  });
}

TEST(JitKernels, CompileForEveryArchitecture) {
  if (!cuda::load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC here";
  DescribedDevice devices[] = {described_gpu(75), described_gpu(80), described_gpu(90)};
  std::set<std::pair<std::string_view, int>> compiled;  // Tactics with capabilities.
  const bool chosen = limits_cases();
  size_t number = 0;
  for (const auto& one : all_cases()) {
    if (!is_wanted(one->name)) continue;
    const bool hopper = one->name.starts_with("hopper") || !one->only_tactic().empty() ||
                        std::getenv("TENON_TEST_HOPPER") != nullptr;
    Problem problem = one->describe(&devices[0]);
    ++number;
    const size_t first = hopper ? 2 : one->name.starts_with("ampere") ? 1 : 0;
    for (size_t i = first; i < std::size(devices); ++i) {
      problem.device = &devices[i];
      const int capability = devices[i].properties().compute_capability;
      int taken = 0;
      for (const Tactic& tactic : all_tactics()) {
        if (!is_tried(*one, tactic) || !tactic.supports(problem)) continue;
        ++taken;
        // Compiling takes a while: every ninth case for each architecture, and the first case of
        // each tactic.
        const bool is_new = compiled.emplace(tactic.name, capability).second;
        if (!is_new && !chosen && number % 9 != i) continue;
        std::vector<std::string> configs = one->chosen(tactic.configs(problem));
        EXPECT_FALSE(configs.empty()) << one->name << " shows no configuration";
        if (!chosen && !configs.empty()) configs.resize(1);
        for (const std::string& config : configs) expect_code(tactic, problem, config, one->name);
      }
      EXPECT_GT(taken, 0) << "no kernel takes " << one->name << " on sm_" << capability;
    }
  }
  for (const Tactic& tactic : cuda_tactics())
    if (is_own(tactic) && !chosen) {
      EXPECT_TRUE(compiled.contains({tactic.name, 90})) << "no case shows " << tactic.name;
    }
}

/// Whether a kernel's blocks share k, or multiply pixels that lie in registers.
bool keeps_products_in_flight(const Tactic& tactic, const std::string& config) {
  if (tactic.name == "cuda.quantized.pooled_stem") return true;
  if (tactic.name == "cuda.quantized.stem") return config.find("groups=1") != std::string::npos;
  return (tactic.name == "cuda.gemm.hopper" || tactic.name == "cuda.conv.hopper") &&
         config.find("splits=1,") == std::string::npos;
}

/// The products of a tile's k overlap, also where blocks of a cluster share it: ptxas tells where
/// it found no way to let them.
TEST(JitKernels, SplitTilesKeepProductsInFlight) {
  if (!cuda::load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC here";
  const std::string folder = testing::TempDir() + "/split_tiles";  // Nothing is cached there.
  std::filesystem::remove_all(folder);
  const ScopedVariable cache("TENON_CACHE_DIR", folder);
  DescribedDevice device = described_gpu(90);
  constexpr int kEach = 3;  // Compiling takes a while.
  std::map<std::string_view, int> tried;
  for (const auto& one : all_cases()) {
    if (!is_wanted(one->name)) continue;
    const Problem problem = one->describe(&device);
    for (const Tactic& tactic : tactics_for(*one, problem)) {
      for (const std::string& config : tactic.configs(problem)) {
        if (!keeps_products_in_flight(tactic, config) || tried[tactic.name] == kEach) continue;
        const int64_t compiled = cuda::compiler_work().compiled;
        const int64_t serial = cuda::compiled_with_serial_products();
        expect_code(tactic, problem, config, one->name);
        // Cases may share code, which is compiled once.
        tried[tactic.name] += cuda::compiler_work().compiled > compiled ? 1 : 0;
        EXPECT_EQ(cuda::compiled_with_serial_products(), serial) << one->name << ": " << config;
        break;
      }
    }
  }
  EXPECT_TRUE(limits_cases() || tried.size() == 4);
  for (const auto& [tactic, count] : tried) EXPECT_GT(count, 0) << tactic;
  std::filesystem::remove_all(folder);
}

/// Where steps of a region are rounded in between, results are near, and where a kernel that keeps
/// 32 bits in between was called wrong for it (a square of a sum of four steps), they are further
/// away than a kernel may be.
TEST(JitKernels, ReferencesOfRegionsRoundOnce) {
  constexpr double kNear = 40;
  DescribedDevice device = described_gpu(90);
  double furthest = 0;
  for (const auto& one : all_cases()) {
    if (!is_wanted(one->name) || !one->is_region()) continue;
    one->finish(&device);
    const auto rounded = one->rounded_steps();
    ASSERT_TRUE(rounded.ok()) << one->name << ": " << rounded.error().message;
    for (size_t i = 0; i < rounded->size(); ++i) {
      const Tensor& expected = one->expected()[i];
      if (!is_real(expected.type())) continue;
      const double error = one->error_of_result((*rounded)[i], i);
      EXPECT_LE(error, kNear) << one->name;
      if (one->name == "matmul used twice f16 200x264x128") furthest = error;
    }
  }
  EXPECT_TRUE(furthest > 1 || limits_cases()) << furthest;
}

/// Zeros, and results that are off by one share in a hundred, are wrong whatever the case.
TEST(JitKernels, NoCaseAcceptsZeros) {
  DescribedDevice device = described_gpu(90);
  for (const auto& one : all_cases()) {
    if (!is_wanted(one->name)) continue;
    one->finish(&device);
    double worst = 0;
    bool is_zero = true;
    for (size_t output = 0; output < one->expected().size(); ++output) {
      const Tensor& expected = one->expected()[output];
      Tensor zeros(expected.type(), expected.extents());
      for (int64_t i = 0; i < zeros.count(); ++i) {
        zeros.set_from_double(i, 0);
        is_zero &= expected.as_double(i) == 0;
      }
      worst = std::max(worst, one->error_of_result(zeros, output));
    }
    EXPECT_TRUE(worst > 1 || is_zero) << one->name << ": zeros are " << worst;
  }
}

/// The tactic's kernel of code for all extents, of all axes or of the slowest, whose constants and
/// code are the store's; null where it has none.
Result<std::unique_ptr<Kernel>> make_open_kernel(const Tactic& tactic, Problem problem,
                                                 std::string_view config, ConstantStore& store,
                                                 bool all_axes) {
  using Use = CodeLibrary::Use;
  problem.constants = &store;
  const auto library = std::make_shared<CodeLibrary>(Use::kCollectOpen);
  if (all_axes) open_all_axes(*library);
  const size_t before = library->size();
  store.set_code(library);
  TENON_ASSIGN(auto collected, tactic.create(problem, config));
  if (library->size() == before) return std::unique_ptr<Kernel>();
  if (is_described(*problem.device)) return collected;
  store.set_code(std::make_shared<CodeLibrary>(*library, Use::kLend));
  return tactic.create(problem, config);
}

TEST(JitKernels, CompileForAllExtents) {
  if (!cuda::load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC here";
  DescribedDevice device = described_gpu(90);
  ConstantStore store(device);
  constexpr int kEach = 3;  // Compiling takes a while.
  std::map<std::string_view, int> tried, open;
  for (const auto& one : all_cases()) {
    if (!is_wanted(one->name)) continue;
    const Problem problem = one->describe(&device);
    for (const Tactic& tactic : all_tactics()) {
      if (!is_tried(*one, tactic) || (!limits_cases() && tried[tactic.name] >= kEach) ||
          !tactic.supports(problem))
        continue;
      const std::vector<std::string> configs = one->chosen(tactic.configs(problem));
      ASSERT_FALSE(configs.empty()) << one->name << ": " << tactic.name;
      const std::string& config = configs.front();
      for (const bool all_axes : {false, true}) {
        const auto kernel = make_open_kernel(tactic, problem, config, store, all_axes);
        EXPECT_TRUE(kernel.ok()) << one->name << ", " << tactic.name << "{" << config
                                 << "}: " << kernel.error().message;
        open[tactic.name] += kernel.ok() && *kernel != nullptr;
      }
      ++tried[tactic.name];
    }
  }
  for (const char* name : {"cuda.pointwise", "cuda.gemm.hopper", "cuda.conv.hopper",
                           "cuda.conv.matrix", "cuda.softmax.rows", "cuda.normalization.rows"})
    if (tried.contains(name)) {
      EXPECT_GT(open[name], 0) << name;
    }
}

/// Steps of large images follow walks, others do not; so do those by code for all extents.
TEST(JitKernels, LargeConvolutionsWalk) {
  if (!cuda::load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC here";
  DescribedDevice device = described_gpu(90);
  ConstantStore exact(device), open(device);
  exact.set_code(std::make_shared<CodeLibrary>(CodeLibrary::Use::kCollect));
  std::map<std::string_view, std::array<int, 2>> found;
  for (const auto& one : all_cases()) {
    const bool is_large = one->name.starts_with("hopper quantized conv that walks") ||
                          one->name == "hopper conv f16 64x320";
    if (!is_large && one->name != "hopper quantized conv of a patch 1" &&
        one->name != "hopper conv f16 64x72")
      continue;
    Problem problem = one->describe(&device);
    problem.constants = &exact;
    for (const Tactic& tactic : cuda_tactics()) {
      if (tactic.name != "cuda.conv.hopper" && tactic.name != "cuda.quantized.hopper" &&
          tactic.name != "cuda.quantized.patch")
        continue;
      int& count = found[tactic.name][is_large ? 1 : 0];
      if (count > 0 || !is_tried(*one, tactic) || !tactic.supports(problem)) continue;
      ++count;
      const std::string config = tactic.configs(problem).front();
      const auto kernel = tactic.create(problem, config);
      ASSERT_TRUE(kernel.ok()) << kernel.error().message;
      EXPECT_EQ((*kernel)->walks(), is_large) << one->name << ": " << tactic.name;
      const auto of_all = make_open_kernel(tactic, problem, config, open, false);
      ASSERT_TRUE(of_all.ok() && *of_all != nullptr) << one->name << ": " << tactic.name;
      EXPECT_EQ((*of_all)->walks(), is_large) << one->name << ": " << tactic.name;
    }
  }
  EXPECT_EQ(found.size(), 3u);
  for (const auto& [name, counts] : found) {
    EXPECT_GT(counts[0], 0) << name;
    EXPECT_GT(counts[1], 0) << name;
  }
}

/// How large a step is that walks is for the device's cache to say.
TEST(JitKernels, WalkWhereTheCacheIsKnownAndNotLarge) {
  if (!cuda::load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC here";
  DescribedDevice usual = described_gpu(90);
  const auto with_cache = [&](size_t bytes) {
    DeviceProperties properties = usual.properties();
    properties.cache_bytes = bytes;
    return DescribedDevice(std::move(properties));
  };
  const auto tactic =
      std::ranges::find(cuda_tactics(), std::string_view("cuda.conv.hopper"), &Tactic::name);
  ASSERT_NE(tactic, cuda_tactics().end());
  const auto cases = all_cases();
  const auto large = std::ranges::find(cases, std::string_view("hopper conv f16 64x320"),
                                       [](const auto& one) { return std::string_view(one->name); });
  ASSERT_NE(large, cases.end());
  Problem problem = (*large)->describe(&usual);
  for (const size_t bytes : {size_t{50} << 20, size_t{0}, size_t{1} << 30}) {
    DescribedDevice device = with_cache(bytes);
    problem.device = &device;
    const auto kernel = tactic->create(problem, tactic->configs(problem).front());
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    EXPECT_EQ((*kernel)->walks(), bytes == usual.properties().cache_bytes) << bytes;
  }
}

/// A problem of images with another number of them.
Problem with_images(Problem problem, int64_t count) {
  for (Operand& input : problem.inputs)
    if (input.constant == nullptr) input.extents[0] = count;
  for (Operand& output : problem.outputs) output.extents[0] = count;
  return problem;
}

/// Code for all extents walks where the largest ones of a plan do: it is one code for all of them.
/// In plans without large ones it has no trace of walks.
TEST(JitKernels, OpenCodeWalksWhereThePlanHasLargeExtents) {
  if (!cuda::load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC here";
  DeviceProperties properties = described_gpu(90).properties();
  properties.cache_bytes = size_t{1} << 29;  // Of 64 images of each case some are out of it.
  DescribedDevice device(std::move(properties));
  ConstantStore store(device);
  const auto library = std::make_shared<CodeLibrary>(CodeLibrary::Use::kCollectOpen);
  store.set_code(library);
  int tried = 0;
  for (const auto& one : all_cases()) {
    if (!one->name.starts_with("hopper quantized conv that walks") &&
        one->name != "hopper conv f16 64x320")
      continue;
    Problem large = with_images(one->describe(&device), 64);
    large.constants = &store;
    Problem small = with_images(large, 2), few = small;
    large.most_bytes = small.most_bytes = int64_t{1} << 30;
    for (const Tactic& tactic : cuda_tactics()) {
      if (tactic.name != "cuda.conv.hopper" && tactic.name != "cuda.quantized.hopper" &&
          tactic.name != "cuda.quantized.patch")
        continue;
      if (!is_tried(*one, tactic) || !tactic.supports(large) || !tactic.supports(few)) continue;
      const std::string config = tactic.configs(few).front();
      const size_t before = library->size();
      const auto collect = [&](const Problem& problem) {
        const auto kernel = tactic.create(problem, config);
        EXPECT_TRUE(kernel.ok()) << kernel.error().message;
        return kernel.ok() && (*kernel)->walks();
      };
      EXPECT_TRUE(collect(large)) << one->name;
      EXPECT_FALSE(collect(small)) << one->name;
      EXPECT_EQ(library->size(), before + 1) << one->name << ": " << tactic.name;
      EXPECT_FALSE(collect(few)) << one->name;
      EXPECT_EQ(library->size(), before + 2) << one->name << ": " << tactic.name;
      ++tried;
      break;
    }
  }
  EXPECT_GE(tried, 2);
}

/// Attention of sequences of `length`, whose heads lie side by side.
KernelCase attention_of(int64_t length) {
  Attention op;
  op.q_bsnh = op.k_bsnh = op.v_bsnh = op.out_bsnh = true;
  const CaseInput each = input(random_reals(DataType::kFloat16, {1, length, 2, 64}, 1));
  return KernelCase("attention", op, {each, each, each});
}

/// Its code for all extents of all axes is one for all lengths of as many keys a tile and tiles.
TEST(JitKernels, AttentionOfLikeLengthsHasOneCode) {
  if (!cuda::load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC here";
  DescribedDevice device = described_gpu(90);
  ConstantStore store(device);
  const auto library = std::make_shared<CodeLibrary>(CodeLibrary::Use::kCollectOpen);
  open_all_axes(*library);
  store.set_code(library);
  const auto tactic =
      std::ranges::find(cuda_tactics(), std::string_view("cuda.attention.hopper"), &Tactic::name);
  ASSERT_NE(tactic, cuda_tactics().end());
  const auto codes_with = [&](int64_t length) {
    KernelCase one = attention_of(length);
    Problem problem = one.describe(&device);
    problem.constants = &store;
    const auto kernel = tactic->create(problem, "rows=64,most=128");
    EXPECT_TRUE(kernel.ok()) << kernel.error().message;
    return library->size();
  };
  const size_t before = library->size();
  EXPECT_EQ(codes_with(97), before + 1);
  for (const int64_t length : {98, 104, 111, 112}) EXPECT_EQ(codes_with(length), before + 1);
  EXPECT_EQ(codes_with(113), before + 2);  // More keys a tile.
}

TEST(JitKernels, HaveATinyCaseEach) {
  std::set<std::string_view> shown;
  const auto cases = tiny_cases();
  for (const auto& one : cases) shown.insert(one->only_tactic());
  for (const Tactic& tactic : cuda_tactics())
    if (is_own(tactic)) {
      EXPECT_TRUE(shown.contains(tactic.name)) << tactic.name;
    }
}

/// Buffers of one launch: inputs with their contents, outputs and their surroundings poisoned.
class LaunchedCase {
 public:
  LaunchedCase(cuda::CudaDevice& device, KernelCase& one, void* stream)
      : device_(device), case_(one), queue_{.stream = stream} {}

  Status prepare() {
    for (const CaseInput& input : case_.inputs()) {
      inputs_.push_back(nullptr);
      if (!input.tensor.defined()) continue;
      const auto bytes = in_memory(input);
      TENON_ASSIGN(buffers_.emplace_back(), device_.allocate(bytes.size() + 16));
      TENON_TRY(device_.upload(buffers_.back().get(), bytes.data(), bytes.size(), queue_));
      inputs_.back() = buffers_.back().get();
    }
    return device_.synchronize(queue_);
  }

  /// Other contents than those that the expected results are of.
  Status replace(size_t input, const Tensor& tensor) {
    TENON_TRY(device_.upload(inputs_[input], tensor.bytes(),
                             static_cast<size_t>(tensor.byte_count()), queue_));
    return device_.synchronize(queue_);
  }

  /// Worst error as a multiple of the allowed one, over all outputs, of `runs` launches.
  Result<double> run(const Problem& problem, const Kernel& kernel, int runs) {
    double worst = 0;
    std::vector<std::vector<std::byte>> first;
    for (int i = 0; i < runs; ++i) {
      TENON_ASSIGN(const auto outputs, launch(problem, kernel));
      if (i > 0 && outputs != first) return internal_error("results differ from run to run");
      first = outputs;
    }
    for (size_t i = 0; i < first.size(); ++i) {
      const Tensor& expected = case_.expected()[i];
      const Tensor actual = from_layout(expected.type(), expected.extents(),
                                        problem.outputs[i].layout, first[i].data() + kGuard);
      worst = std::max(worst, case_.error_of_result(actual, i));
      if (worst > 1) show_difference(actual, expected);
    }
    return worst;
  }

  /// The first elements that are wrong, and how many there are.
  static void show_difference(const Tensor& actual, const Tensor& expected) {
    int64_t wrong = 0;
    for (int64_t i = 0; i < expected.count(); ++i) {
      const double a = actual.as_double(i), b = expected.as_double(i);
      if (std::abs(a - b) <= 0.02 * (1 + std::abs(b)) || (std::isnan(a) && std::isnan(b))) continue;
      if (wrong++ < 4) std::printf("  element %ld: %g instead of %g\n", long(i), a, b);
    }
    std::printf("  %ld of %ld elements differ\n", long(wrong), long(expected.count()));
  }

 private:
  static constexpr size_t kGuard = 256;
  static constexpr std::byte kPoison{0xfb};

  Result<std::vector<std::vector<std::byte>>> launch(const Problem& problem, const Kernel& kernel) {
    std::vector<std::vector<std::byte>> results;
    std::vector<DeviceBuffer> buffers;
    std::vector<void*> outputs;
    for (const Tensor& expected : case_.expected()) {
      results.emplace_back(static_cast<size_t>(expected.byte_count()) + 2 * kGuard, kPoison);
      TENON_ASSIGN(buffers.emplace_back(), device_.allocate(results.back().size()));
      TENON_TRY(device_.upload(buffers.back().get(), results.back().data(), results.back().size(),
                               queue_));
      outputs.push_back(static_cast<char*>(buffers.back().get()) + kGuard);
    }
    const std::vector<std::byte> poison(kernel.workspace_bytes() + 16, kPoison);
    TENON_ASSIGN(DeviceBuffer workspace, device_.allocate(poison.size()));
    TENON_TRY(device_.upload(workspace.get(), poison.data(), poison.size(), queue_));
    TENON_TRY(device_.synchronize(queue_));
    std::vector<const void*> inputs(inputs_.begin(), inputs_.end());
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!kernel.uses_input(static_cast<int>(i))) inputs[i] = nullptr;
    LaunchArguments arguments{inputs, outputs, workspace.get(), queue_};
    arguments.walk = walk_;
    // The next one the other way, and as the last reader of all.
    walk_ = walk_.backwards ? Walk{} : Walk{true, UINT32_MAX >> 1};
    TENON_TRY(kernel.run(arguments));
    for (size_t i = 0; i < results.size(); ++i)
      TENON_TRY(device_.download(results[i].data(), buffers[i].get(), results[i].size(), queue_));
    TENON_TRY(device_.synchronize(queue_));
    for (const auto& bytes : results)
      for (size_t i = 0; i < kGuard; ++i)
        if (bytes[i] != kPoison || bytes[bytes.size() - 1 - i] != kPoison)
          return internal_error("writes outside the output");
    static_cast<void>(problem);
    return results;
  }

  cuda::CudaDevice& device_;
  KernelCase& case_;
  Queue queue_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<void*> inputs_;
  Walk walk_;
};

/// The cases are dealt out to parts, which can run side by side.
class JitKernelsOnAGpu : public testing::TestWithParam<size_t> {
 protected:
  /// Making them takes seconds: once for all parts of a process.
  static void SetUpTestSuite() {
    cases_ = all_cases();
    std::erase_if(cases_, [](const auto& one) { return !is_wanted(one->name); });
  }
  static void TearDownTestSuite() { cases_.clear(); }
  static inline Cases cases_;
};
constexpr size_t kParts = 64;

TEST_P(JitKernelsOnAGpu, AgreeWithTheReference) {
  if (GetParam() >= cases_.size()) GTEST_SKIP() << "fewer cases than parts";
  auto device = cuda::CudaDevice::open();
  if (!device.ok()) GTEST_SKIP() << device.error().message;
  auto stream = (*device)->make_stream();
  ASSERT_TRUE(stream.ok());
  std::vector<std::string> untaken;
  int compared = 0;
  for (size_t number = GetParam(); number < cases_.size(); number += kParts) {
    const auto& one = cases_[number];
    const Problem& problem = one->finish(device->get());
    LaunchedCase launched(**device, *one, stream->get());
    const Status prepared = launched.prepare();
    ASSERT_TRUE(prepared.ok()) << prepared.error().message;
    const std::vector<Tactic> taken = tactics_for(*one, problem);
    if (taken.empty()) untaken.push_back(one->name);
    for (const Tactic& tactic : taken) {
      for (const std::string& config : configs_of(*one, tactic, problem)) {
        SCOPED_TRACE(
            fmt::format("TENON_TEST_CASES=\"{}\": {}{{{}}}", one->name, tactic.name, config));
        const auto kernel = tactic.create(problem, config);
        ASSERT_TRUE(kernel.ok()) << kernel.error().message;
        const auto error = launched.run(problem, **kernel, 2);
        ASSERT_TRUE(error.ok()) << error.error().message;
        EXPECT_LE(*error, 1.0);
        ++compared;
      }
    }
  }
  RecordProperty("kernels", compared);  // Of a part that is skipped for some of its cases, too.
  if (!untaken.empty())
    GTEST_SKIP() << "no kernel here takes " << fmt::format("{}", fmt::join(untaken, "; "));
}

TEST_P(JitKernelsOnAGpu, CodeForAllExtentsAgreesWithTheReference) {
  if (GetParam() >= cases_.size()) GTEST_SKIP() << "fewer cases than parts";
  auto device = cuda::CudaDevice::open();
  if (!device.ok()) GTEST_SKIP() << device.error().message;
  auto stream = (*device)->make_stream();
  ASSERT_TRUE(stream.ok());
  ConstantStore store(**device);
  for (size_t number = GetParam(); number < cases_.size(); number += kParts) {
    const auto& one = cases_[number];
    const Problem& problem = one->finish(device->get());
    LaunchedCase launched(**device, *one, stream->get());
    const Status prepared = launched.prepare();
    ASSERT_TRUE(prepared.ok()) << prepared.error().message;
    for (const Tactic& tactic : all_tactics()) {
      if (!is_tried(*one, tactic) || !tactic.supports(problem)) continue;
      const std::vector<std::string> configs = one->chosen(tactic.configs(problem));
      if (configs.empty()) continue;  // It is for other GPUs.
      const std::string& config = configs.front();
      SCOPED_TRACE(
          fmt::format("TENON_TEST_CASES=\"{}\": {}{{{}}}", one->name, tactic.name, config));
      for (const bool all_axes : {false, true}) {
        const auto kernel = make_open_kernel(tactic, problem, config, store, all_axes);
        ASSERT_TRUE(kernel.ok()) << kernel.error().message;
        if (*kernel == nullptr) continue;
        const auto error = launched.run(problem, **kernel, 2);
        ASSERT_TRUE(error.ok()) << error.error().message;
        EXPECT_LE(*error, 1.0) << (all_axes ? "all axes" : "the slowest axis");
      }
    }
  }
}

/// A recurrence from the end, of sequences that are as long as can be.
KernelCase backward(RnnKind kind, int64_t steps, int64_t batch) {
  constexpr int64_t kHidden = 32, kInput = 16;
  Rnn op;
  op.cell = kind;
  op.direction = RnnDirection::kReverse;
  op.hidden = kHidden;
  const int64_t rows = kHidden * (kind == RnnKind::kLstm ? 4 : 3);
  const auto reals = [](Extents extents, int seed) {
    return random_reals(DataType::kFloat32, std::move(extents), seed, -0.3, 0.3);
  };
  return KernelCase(
      "rnn", op,
      std::vector{input(reals({steps, batch, kInput}, 1)), constant(reals({1, rows, kInput}, 2)),
                  constant(reals({1, rows, kHidden}, 3)), absent(),
                  input(random_integers(DataType::kInt32, {batch}, 4, steps, steps))});
}

TEST(JitKernelsOfLengths, StayInsideWhateverTheLengths) {
  auto device = cuda::CudaDevice::open();
  if (!device.ok()) GTEST_SKIP() << device.error().message;
  auto stream = (*device)->make_stream();
  ASSERT_TRUE(stream.ok());
  constexpr int64_t kSteps = 3, kBatch = 2;
  int tried = 0;
  for (const RnnKind kind : {RnnKind::kLstm, RnnKind::kGru}) {
    KernelCase one = backward(kind, kSteps, kBatch);
    const Problem& problem = one.finish(device->get());
    LaunchedCase launched(**device, one, stream->get());
    ASSERT_TRUE(launched.prepare().ok());
    for (const int64_t length : {kSteps + 1, int64_t{-1}}) {
      const Tensor lengths = random_integers(DataType::kInt32, {kBatch}, 1, length, length);
      ASSERT_TRUE(launched.replace(4, lengths).ok());
      for (const Tactic& tactic : cuda_tactics()) {
        if (!is_own(tactic) || !tactic.supports(problem)) continue;
        const auto kernel = tactic.create(problem, "");
        ASSERT_TRUE(kernel.ok()) << kernel.error().message;
        const auto error = launched.run(problem, **kernel, 1);
        EXPECT_TRUE(error.ok()) << tactic.name << ": " << error.error().message;
        ++tried;
      }
    }
  }
  EXPECT_GE(tried, 4);
}

/// Operators that read where numbers say, and the number of the operand that holds these.
std::vector<std::pair<std::unique_ptr<KernelCase>, size_t>> placed_cases() {
  constexpr DataType kFloat = DataType::kFloat32, kLong = DataType::kInt64;
  const auto reals = [](Extents extents) {
    return input(random_reals(kFloat, std::move(extents), 1));
  };
  const auto numbers = [](Extents extents, int64_t low, int64_t high) {
    return input(random_integers(kLong, std::move(extents), 1, low, high));
  };
  std::vector<std::pair<std::unique_ptr<KernelCase>, size_t>> cases;
  const auto add = [&](auto op, std::vector<CaseInput> inputs, size_t operand) {
    cases.emplace_back(std::make_unique<KernelCase>("placed", op, std::move(inputs)), operand);
  };
  ReverseSequence reverse;
  reverse.batch_axis = 1, reverse.time_axis = 0;
  add(reverse, {reals({5, 3, 4}), numbers({3}, 0, 5)}, 1);
  RotaryEmbedding rotary;
  add(rotary, {reals({2, 3, 5, 8}), reals({9, 4}), reals({9, 4}), numbers({2, 5}, 0, 8)}, 3);
  for (const size_t operand : {1, 2})
    add(Slice(), {reals({8, 8}), numbers({2}, 2, 2), numbers({2}, 6, 6)}, operand);
  add(Gather(), {reals({8, 8}), numbers({3}, 0, 7)}, 1);
  add(ScatterNd(), {reals({8, 8}), numbers({30, 1}, 0, 7), reals({30, 8})}, 1);
  add(ScatterElements(), {reals({8, 8}), numbers({30, 8}, 0, 7), reals({30, 8})}, 1);
  MaxUnpool unpool;
  unpool.kernel = unpool.strides = {2, 2};
  add(unpool, {reals({1, 1, 4, 4}), numbers({1, 1, 4, 4}, 0, 63)}, 1);
  return cases;
}

TEST(JitKernelsOfPlaces, StayInsideWhateverTheNumbers) {
  auto device = cuda::CudaDevice::open();
  if (!device.ok()) GTEST_SKIP() << device.error().message;
  auto stream = (*device)->make_stream();
  ASSERT_TRUE(stream.ok());
  for (const auto& [one, operand] : placed_cases()) {
    const Problem& problem = one->finish(device->get());
    LaunchedCase launched(**device, *one, stream->get());
    ASSERT_TRUE(launched.prepare().ok());
    int tried = 0;
    for (const Tactic& tactic : cuda_tactics()) {
      if (!is_own(tactic) || !tactic.supports(problem)) continue;
      ++tried;
      const auto kernel = tactic.create(problem, "");
      ASSERT_TRUE(kernel.ok()) << kernel.error().message;
      for (const int64_t number :
           {int64_t{-1}, int64_t{100}, int64_t{-100}, int64_t{1} << 50, INT64_MAX, INT64_MIN}) {
        const Extents extents = one->inputs()[operand].tensor.extents();
        Tensor far(DataType::kInt64, extents);
        for (int64_t i = 0; i < far.count(); ++i) far.set_from_int64(i, number);
        ASSERT_TRUE(launched.replace(operand, far).ok());
        const auto error = launched.run(problem, **kernel, 1);
        EXPECT_TRUE(error.ok()) << tactic.name << ", " << number << ": " << error.error().message;
      }
    }
    EXPECT_GT(tried, 0) << problem.operation.name();
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, JitKernelsOnAGpu, testing::Range(size_t{0}, kParts));

}  // namespace
}  // namespace tenon::test

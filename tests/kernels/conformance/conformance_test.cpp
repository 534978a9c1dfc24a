// Every CPU tactic against the reference evaluation, over the cases of cases.def: types, placements
// in memory, numbers of threads and instruction sets. A failure prints the line that runs its case
// again.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "case.h"
#include "device/cpu/aligned_buffer.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/isa.h"
#include "device/cpu/thread_pool.h"
#include "kernels/algorithm.h"
#include "kernels/backend.h"
#include "kernels/wide_reference.h"
#include "operand.h"
#include "ops/numerics.h"
#include "ops/structure.h"
#include "ops/table.h"

namespace tenon::conformance {
namespace {

constexpr int kThreads = 3;
/// Where inputs and outputs lie; the last is the entry of an image network.
struct Placements {
  Placement inputs, outputs;
};
constexpr Placements kPlacements[] = {
    {Placement::kDense, Placement::kDense},
    {Placement::kChannelsLast, Placement::kChannelsLast},
    {Placement::kStrided, Placement::kStrided},
    {Placement::kStridedChannelsLast, Placement::kStridedChannelsLast},
    {Placement::kSliced, Placement::kDense},
    {Placement::kDense, Placement::kChannelsLast}};

/// A case, placed in memory.
struct Setting {
  Built built;
  std::vector<Placed> inputs, outputs;  ///< Absent and unneeded ones are empty.
  std::vector<Tensor> expected;
  Problem problem;
  std::shared_ptr<Device> device = cpu::make_cpu_device(kThreads);

  Setting(const Case& test, bool bf16, Placements placements)
      : Setting(build(test, bf16), placements) {
    EXPECT_TRUE(ready() || built.node == nullptr) << test.name << ": no reference";
  }
  Setting(Built from, Placements placements) : built(std::move(from)) {
    if (built.node == nullptr) return;
    problem.operation = *built.node;
    problem.device = device.get();
    problem.threads = kThreads;
    std::vector<const Tensor*> tensors;
    for (const Sample& sample : built.inputs) {
      // Contents known at build time are dense.
      const Placement here = sample.constant ? Placement::kDense : placements.inputs;
      inputs.emplace_back(sample.present ? sample.tensor.type() : DataType::kFloat32,
                          sample.present ? sample.tensor.extents() : Extents{}, here);
      Operand operand = sample.present ? inputs.back().operand() : Operand{};
      if (sample.constant) operand.constant = &sample.tensor;
      operand.uniform_rows = sample.uniform_rows;
      if (sample.present) inputs.back().fill(sample.tensor);
      problem.inputs.push_back(operand);
      tensors.push_back(sample.present ? &sample.tensor : nullptr);
    }
    auto results = reference(tensors);
    if (!results.ok()) return;
    expected = std::move(*results);
    for (const Tensor& result : expected) {
      outputs.emplace_back(result.type(), result.extents(), placements.outputs);
      problem.outputs.push_back(outputs.back().operand());
    }
  }
  bool ready() const { return !expected.empty(); }

 private:
  /// Regions are rounded once.
  Result<std::vector<Tensor>> reference(const std::vector<const Tensor*>& tensors) const {
    if (!built.node->is<Fused>()) return evaluate_node(*built.node, tensors);
    std::vector<Tensor> given;
    for (const Tensor* tensor : tensors) given.push_back(tensor == nullptr ? Tensor() : *tensor);
    return test::evaluate_widely(*built.node->bodies[0], given);
  }
};

/// Runs the kernel and gives its results; a failure for everything that is wrong with the run.
testing::AssertionResult run(Setting& setting, const Kernel& kernel, int threads,
                             std::vector<Tensor>& results) {
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (size_t i = 0; i < setting.inputs.size(); ++i) {
    const bool given = setting.problem.inputs[i].present && kernel.uses_input(static_cast<int>(i));
    inputs.push_back(given ? setting.inputs[i].address() : nullptr);
  }
  for (Placed& output : setting.outputs) {
    output.poison();
    outputs.push_back(output.address());
  }
  const size_t bytes = kernel.workspace_bytes();
  cpu::AlignedBuffer workspace(bytes + 512);
  std::memset(workspace.data(), 0xff, bytes + 512);
  char* start = workspace.as<char>() + (256 - reinterpret_cast<uintptr_t>(workspace.data()) % 256);
  cpu::ThreadPool pool(threads);
  const std::vector<std::byte> ahead(kernel.fetch_capacity() > 0 ? 1 << 16 : 0);
  const Status status = kernel.run({inputs, outputs, start, Queue{.pool = &pool}, ahead});
  if (!status.ok()) return testing::AssertionFailure() << status.error().message;
  for (const char* p = start + bytes; p < workspace.as<char>() + bytes + 512; ++p)
    if (*p != '\xff') return testing::AssertionFailure() << "wrote behind its workspace";
  results.clear();
  for (const Placed& output : setting.outputs) {
    if (!output.untouched()) return testing::AssertionFailure() << "wrote beside its result";
    results.push_back(output.read());
  }
  return testing::AssertionSuccess();
}

/// Bytes that were computed as numbers: their rounding may differ by one.
bool next_to(const Tensor& got, const Tensor& want) {
  for (int64_t i = 0; i < want.count(); ++i)
    if (std::abs(got.as_int64(i) - want.as_int64(i)) > 1) return false;
  return true;
}

testing::AssertionResult near(const Setting& setting, const std::vector<Tensor>& results,
                              Computation computation) {
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor& want = setting.expected[i];
    if (!is_real(want.type())) {
      const bool rounds = setting.built.node->is<Fused>() && byte_size(want.type()) == 1;
      if (rounds ? !next_to(results[i], want) : !(results[i] == want))
        return testing::AssertionFailure() << "output " << i << " differs";
      continue;
    }
    const DataType coarse = setting.built.inputs[0].tensor.type() == DataType::kBFloat16
                                ? DataType::kBFloat16
                                : want.type();
    const Deviation found =
        compare_tensors(results[i], want, nullptr, tolerance(computation, coarse));
    if (!found.agrees())
      return testing::AssertionFailure() << "output " << i << ": " << found.describe();
  }
  return testing::AssertionSuccess();
}

/// Weights that a kernel keeps a copy of are in packed(): else each new shape would pack them
/// again.
void check_kept(const Problem& problem, const Kernel& kernel) {
  constexpr int64_t kFewBytes = 1024;
  for (int i = 0; i < static_cast<int>(problem.inputs.size()); ++i) {
    const Tensor* const constant = problem.inputs[i].constant;
    if (constant == nullptr || constant->byte_count() <= kFewBytes || kernel.uses_input(i))
      continue;
    EXPECT_TRUE(kernel.packs_input(i)) << "input " << i << " is kept, and not in packed()";
  }
}

/// A kernel made from another one's packed weights, without the contents of the constants, is the
/// same.
void check_packed(Setting& setting, const Tactic& tactic, std::string_view config,
                  const Kernel& kernel, const std::vector<Tensor>& expected) {
  if (kernel.packed().empty()) return;
  const Problem original = setting.problem;
  std::vector<Tensor> emptied(original.inputs.size());
  for (size_t i = 0; i < emptied.size(); ++i) {
    const Operand& operand = original.inputs[i];
    if (operand.constant == nullptr || !kernel.packs_input(static_cast<int>(i))) continue;
    emptied[i] = Tensor(operand.type, operand.extents, nullptr, nullptr);
    setting.problem.inputs[i].constant = &emptied[i];
  }
  const std::vector<std::byte> packed(kernel.packed().begin(), kernel.packed().end());
  setting.problem.packed = packed;
  auto again = tactic.create(setting.problem, config);
  EXPECT_TRUE(again.ok());
  std::vector<Tensor> results;
  if (again.ok()) {
    EXPECT_TRUE(run(setting, **again, kThreads, results));
    EXPECT_EQ((*again)->packed().data(), packed.data()) << "packed weights were made again";
  }
  for (size_t i = 0; i < results.size(); ++i)
    EXPECT_TRUE(expected[i] == results[i]) << "packed weights give other results";
  setting.problem = original;
}

void check(Setting& setting, const Tactic& tactic, std::string_view config) {
  auto kernel = tactic.create(setting.problem, config);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  std::vector<Tensor> first, other;
  ASSERT_TRUE(run(setting, **kernel, 1, first));
  const bool plain = tactic.traits.algorithm == Algorithm::kPlain;
  EXPECT_TRUE(near(setting, first, plain ? Computation::kKernel : Computation::kTransform));
  ASSERT_TRUE(run(setting, **kernel, kThreads, other));
  for (size_t i = 0; i < first.size(); ++i)
    EXPECT_TRUE(first[i] == other[i]) << "results depend on the number of threads";
  Problem single = setting.problem;
  single.threads = 1;
  auto alone = tactic.create(single, config);
  ASSERT_TRUE(alone.ok());
  ASSERT_TRUE(run(setting, **alone, 1, other));
  for (size_t i = 0; i < first.size(); ++i)
    EXPECT_TRUE(first[i] == other[i]) << "results depend on the threads it was made for";
  check_kept(setting.problem, **kernel);
  check_packed(setting, tactic, config, **kernel, first);
}

class Conformance : public testing::TestWithParam<Case> {};

TEST_P(Conformance, Case) {
  const Case& test = GetParam();
  // Their f32 are scales and results of integers.
  const bool quantized = test.name.starts_with("quantized_");
  int checked = 0;
  for (const bool bf16 : quantized ? std::vector{false} : std::vector{false, true})
    for (const Placements placements : kPlacements) {
      Setting setting(test, bf16, placements);
      ASSERT_TRUE(setting.ready());
      for (int isa = 0; isa <= static_cast<int>(cpu::detected_isa()); ++isa) {
        setting.problem.isa_limit = isa;
        for (const Tactic& tactic : cpu_tactics()) {
          if (tactic.traits.origin != TacticOrigin::kOwn || tactic.name == "cpu.reference")
            continue;
          if (!tactic.supports(setting.problem)) {
            // Kernels of new shapes are made without being asked for.
            EXPECT_FALSE(tactic.create(setting.problem, "").ok()) << tactic.name;
            continue;
          }
          for (const std::string& config : tactic.configs(setting.problem)) {
            SCOPED_TRACE(fmt::format(
                "{}, {}, {} to {}, {}; again: test_kernels_conformance --gtest_filter='*/{}'",
                join_tactic(tactic.name, config), bf16 ? "bf16" : "f32",
                kPlacementNames[static_cast<int>(placements.inputs)],
                kPlacementNames[static_cast<int>(placements.outputs)],
                cpu::isa_name(static_cast<cpu::Isa>(isa)), test.name));
            check(setting, tactic, config);
            ++checked;
          }
        }
      }
    }
  EXPECT_GT(checked, 0) << "no tactic takes it: it belongs into reference_cases.def";
}

/// A tactic of a table that fits an empty operand agrees with the reference; operands that it
/// should not get are not computed.
void check_empty(Setting& setting, const Backend& backend) {
  for (const Tactic& tactic : backend.tactics) {
    if (!fits(tactic, setting.problem)) continue;
    for (const std::string& config : tactic.configs(setting.problem)) {
      SCOPED_TRACE(join_tactic(tactic.name, config));
      auto kernel = create_kernel(tactic, setting.problem, config);
      ASSERT_TRUE(kernel.ok()) << kernel.error().message;
      std::vector<Tensor> results;
      ASSERT_TRUE(run(setting, **kernel, kThreads, results));
      EXPECT_TRUE(near(setting, results, Computation::kKernel));
    }
  }
}

TEST_P(Conformance, WithoutElements) {
  const Backend backend{.device = nullptr, .tactics = cpu_tactics()};
  const Case& test = GetParam();
  int checked = 0;
  for (const int64_t extent : extents_of(test))
    for (const Placements placements : kPlacements) {
      Setting setting(build_without_elements(test, extent), placements);
      if (!setting.ready()) continue;
      SCOPED_TRACE(fmt::format("extents of {} are 0, {} to {}", extent,
                               kPlacementNames[static_cast<int>(placements.inputs)],
                               kPlacementNames[static_cast<int>(placements.outputs)]));
      check_empty(setting, backend);
      ++checked;
    }
  if (checked == 0) GTEST_SKIP() << "the operator has no results where one of its extents is 0";
}

/// Inference gives the extents of the results, whichever of the operands' are open.
class OpenExtents : public testing::TestWithParam<Case> {};

TEST_P(OpenExtents, AreInferred) {
  const Case& test = GetParam();
  const Setting setting(test, false, kPlacements[0]);
  ASSERT_TRUE(setting.ready());
  std::set<int64_t> all = extents_of(test);
  all.erase(1);
  std::vector<std::set<int64_t>> choices = {{}, all};
  for (const int64_t extent : all) choices.push_back({extent});
  for (const std::set<int64_t>& open : choices) {
    const std::vector<OpenShape> shapes = open_shapes(test, open);
    if (shapes.empty()) continue;
    ASSERT_EQ(shapes.size(), setting.expected.size());
    for (size_t i = 0; i < shapes.size(); ++i) {
      const Extents& extents = setting.expected[i].extents();
      ASSERT_EQ(shapes[i].size(), extents.size()) << fmt::format("open: {}", fmt::join(open, ","));
      for (size_t axis = 0; axis < extents.size(); ++axis)
        EXPECT_EQ(shapes[i][axis].value_or(extents[axis]), extents[axis])
            << fmt::format("axis {} of result {}, open: {}", axis, i, fmt::join(open, ","));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, Conformance, testing::ValuesIn(all_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(Cpu, OpenExtents, testing::ValuesIn(all_cases()),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Reference, OpenExtents, testing::ValuesIn(reference_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Coverage, EveryTacticHasACase) {
  std::set<std::string_view> missing;
  for (const Tactic& tactic : cpu_tactics()) missing.insert(tactic.name);
  missing.erase("cpu.reference");  // the reference of the others
  missing.erase("cpu.plugin");     // computes its author's code: tests/api/plugin_test.cpp
  if (cpu::detected_isa() < cpu::Isa::avx512) missing.erase("cpu.conv.mixed_winograd");
  if (!cpu::has_tiles())
    for (const char* of_tiles : {"cpu.gemm.tiles", "cpu.conv.tiles"}) missing.erase(of_tiles);
  for (const Case& test : all_cases())
    for (const Placements placements : kPlacements) {
      const Setting setting(test, false, placements);
      if (!setting.ready()) continue;
      for (const Tactic& tactic : cpu_tactics())
        if (tactic.supports(setting.problem)) missing.erase(tactic.name);
    }
  EXPECT_TRUE(missing.empty()) << fmt::format("no case for {}", fmt::join(missing, ", "));
}

}  // namespace
}  // namespace tenon::conformance

#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../select/made_up_device.h"
#include "graph_text.h"
#include "kernels/backend.h"
#include "kernels/constant_store.h"
#include "runtime/program.h"

namespace tenon {

/// A program's ranges for profilers; nothing by default.
using RangeTexts = std::function<std::vector<std::string>(const Program&)>;

/// Runs a graph from one f32[8] to another whose nodes all have the tactic `name`, kernels that are
/// made from the device. `weights`: where their constants are; null: each kernel has its own.
template <class OneKernel, class MadeUp>
void run_with_one_kernel(const std::shared_ptr<MadeUp>& device, const char* name, const char* text,
                         const RangeTexts& texts_of = {}, WeightStore* weights = nullptr) {
  Tactic row = cpu_tactics().back();
  row.name = name, row.device = DeviceKind::kCuda;
  row.traits = {}, row.takes = [](const Problem&) { return Support{}; };
  row.create = [](const Problem& problem, std::string_view) -> Result<std::unique_ptr<Kernel>> {
    return std::unique_ptr<Kernel>(
        std::make_unique<OneKernel>(static_cast<MadeUp&>(*problem.device)));
  };
  const Backend backend{.device = device, .tactics = {&row, 1}};
  const auto graph = inferred(text);
  for (const auto& node : graph->nodes()) node->tactic = name;
  auto concrete = ConcreteGraph::create(*graph, {});
  ASSERT_TRUE(concrete.ok());
  ConstantStore constants(*device);
  const auto program = Program::create(backend, constants, std::move(*concrete), 1, {}, weights);
  ASSERT_TRUE(program.ok()) << program.error().message;
  std::vector<float> memory(1 << 18);
  void* const x = memory.data();
  void* const y = memory.data() + 512;
  std::vector<void*> pointers;
  const auto texts = texts_of ? texts_of(**program) : std::vector<std::string>();
  EXPECT_TRUE((*program)->run(backend, {&x, 1}, {&y, 1}, x, {}, pointers, nullptr, texts).ok());
}

}  // namespace tenon

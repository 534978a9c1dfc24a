// Plans for a GPU that is not there, from its description and a timing cache.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <span>

#include "device/described_device.h"
#include "ir/text.h"
#include "kernels/tactic.h"
#include "ops/ops.h"
#include "ops/structure.h"
#include "plan/plan_file.h"
#include "select/compile.h"
#include "select/problem_key.h"

namespace tenon {
namespace {

/// As `tenon exec --exportDevice` writes it on an H200.
constexpr char kH200[] =
    "name = NVIDIA H200\n"
    "architecture = sm_90\n"
    "libraries = driver 13.0, nvrtc 13.0, cublasLt 130100, cudnn 9.19.0\n"
    "compute_units = 132\n"
    "compute_capability = 90\n"
    "memory_bytes = 150109880320\n"
    "shared_memory_per_block = 232448\n"
    "cache_bytes = 52428800\n"
    "native_bf16 = 1\n"
    "native_fp16 = 1\n";

constexpr char kNetwork[] =
    "graph \"\" (%0 \"x\": f32[8,64]) {"
    " %1 = softmax(%0){axes = [1]} : f32[8,64]"
    " %2 = transpose(%1){permutation = [1,0]} : f32[64,8]"
    " %3 = matmul(%0,%2) : f32[8,8]"
    " return %3}";

Backend described() {
  auto properties = parse_description(kH200);
  EXPECT_TRUE(properties.ok()) << properties.error().message;
  return {std::make_shared<DescribedDevice>(*properties), cuda_tactics()};
}

Result<Plan> build(TimingCache& cache, int level = 3, const char* network = kNetwork) {
  auto graph = parse_graph(network);
  if (!graph.ok()) return Error(graph.error());
  CompileRequest request;
  request.graph = std::move(*graph);
  request.backend = described();
  request.select.level = level;
  NullLogger logger;
  return compile(std::move(request), cache, logger);
}

const Node* product_of(const Plan& plan) {
  for (const auto& node : plan.graph->nodes())
    if (node->is<MatMul>() || node->is<Fused>()) return node.get();
  return nullptr;
}

/// The key that the product of a plan has on this device.
std::string product_key(const Plan& plan, const Backend& backend) {
  const auto concrete = ConcreteGraph::create(*plan.graph, {});
  EXPECT_TRUE(concrete.ok());
  const Node* product = product_of(plan);
  EXPECT_NE(product, nullptr);
  return problem_key(concrete->problem(*product, backend, 1));
}

TEST(Description, SurvivesItsText) {
  const auto properties = parse_description(kH200);
  ASSERT_TRUE(properties.ok());
  EXPECT_EQ(properties->kind, DeviceKind::kCuda);
  EXPECT_EQ(properties->compute_capability, 90);
  EXPECT_EQ(description_of(*properties), kH200);
  EXPECT_EQ(properties->cache_bytes, size_t{50} << 20);
  EXPECT_FALSE(parse_description("name = a GPU\n").ok());
  EXPECT_FALSE(parse_description(std::string(kH200).replace(0, 4, "xxxx")).ok());
}

/// Of versions that took every cache for one of 50 MB.
TEST(Description, MayLackTheCache) {
  std::string text = kH200;
  const size_t line = text.find("cache_bytes"), next = text.find('\n', line) + 1;
  const auto larger = parse_description(std::string(text).replace(line + 14, 1, "6"));
  ASSERT_TRUE(larger.ok()) << larger.error().message;
  EXPECT_EQ(larger->cache_bytes, size_t{62428800});
  const auto former = parse_description(text.erase(line, next - line));
  ASSERT_TRUE(former.ok()) << former.error().message;
  EXPECT_EQ(description_of(*former), kH200);
  EXPECT_FALSE(parse_description(text + "cache_bytes = many\n").ok());
}

TEST(DescribedGpu, PlansAreTheSameTwice) {
  TimingCache first, second;
  const auto a = build(first, 0), b = build(second, 0);
  ASSERT_TRUE(a.ok()) << a.error().message;
  ASSERT_TRUE(b.ok()) << b.error().message;
  EXPECT_EQ(*write_plan(*a), *write_plan(*b));
}

TEST(DescribedGpu, TheCacheDecidesAlsoForLibraries) {
  TimingCache none;
  const auto preferred = build(none, 0);
  ASSERT_TRUE(preferred.ok()) << preferred.error().message;
  const Backend backend = described();
  const std::string key = product_key(*preferred, backend);
  const Tactic *library = backend.find("cuda.gemm.lt"), *own = backend.find("cuda.gemm.tile");
  ASSERT_NE(library, nullptr);
  ASSERT_NE(own, nullptr);
  TimingCache cache;
  cache.insert(timing_key(key, *library, "algo=66,tile=20"), 0.004);
  cache.insert(timing_key(key, *library, "algo=21,tile=18"), 0.002);
  cache.insert(timing_key(key, *own, own->configs(Problem{}).front()), 0.003);
  const auto plan = build(cache);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(product_of(*plan)->tactic, "cuda.gemm.lt{algo=21,tile=18}");
  const auto again = build(cache);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*write_plan(*plan), *write_plan(*again));
}

/// h200.cache was written by a build of this network on an H200 (--timingCacheFile). Where tactics
/// or keys have changed since, it is to be recorded again.
TEST(DescribedGpu, APlanFromARecordedCacheIsTheOneOfThatGpu) {
  constexpr char kRecorded[] =
      "graph \"\" (%0 \"x\": f32[128,256], %1 \"w\": f32[256,64], %2 \"b\": f32[64]) {"
      " %3 = softmax(%0){axes = [1]} : f32[128,256]"
      " %4 = matmul(%3,%1) : f32[128,64]"
      " %5 = add(%4,%2) : f32[128,64]"
      " %6 = relu(%5) : f32[128,64]"
      " return %6}";
  std::ifstream file(TENON_SOURCE_DIR "/tests/select/cuda/h200.cache", std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  auto cache = TimingCache::deserialize(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(cache.ok()) << cache.error().message;
  const size_t recorded = cache->size();
  CompileRequest request;
  auto graph = parse_graph(kRecorded);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  request.graph = std::move(*graph);
  request.backend = described();
  request.backend.numerics.tf32 = true;
  NullLogger logger;
  const auto plan = compile(std::move(request), *cache, logger);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->graph->nodes()[0]->tactic, "cuda.softmax.rows");
  EXPECT_EQ(product_of(*plan)->tactic, "cuda.gemm.cudnn{engine=4,k24=39}");
  EXPECT_EQ(cache->size(), recorded) << "nothing is measured here";
}

/// Keys that lie by columns: the kernels for attention read rows, and the one that reads anything
/// is slow. The queries, of which each row lies in one piece, stay where they are.
TEST(DescribedGpu, WhatOnlyALastResortReadsIsCopied) {
  constexpr char kColumns[] =
      "graph \"\" (%0 \"q\": f16[1,16,2,64], %1 \"k\": f16[1,2,64,16], %2 \"v\": f16[1,2,16,64]) {"
      " %3 \"queries\" = transpose(%0){permutation = [0,2,1,3]} : f16[1,2,16,64]"
      " %4 \"keys\" = transpose(%1){permutation = [0,1,3,2]} : f16[1,2,16,64]"
      " %5 = attention(%3,%4,%2){scale = 1, out_bsnh = true} : f16[1,16,2,64]"
      " return %5}";
  TimingCache cache;
  const auto plan = build(cache, 0, kColumns);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  std::map<std::string, std::string> tactics;
  for (const auto& node : plan->graph->nodes())
    tactics[node->output()->name] = split_tactic(node->tactic).name;
  EXPECT_EQ(tactics["queries"], "view") << print(*plan->graph);
  EXPECT_EQ(tactics["keys"].substr(0, 10), "cuda.copy.") << print(*plan->graph);
  EXPECT_NE(tactics[plan->graph->outputs()[0]->name], "cuda.attention.formula");
}

TEST(DescribedGpu, NothingRunsOnIt) {
  const Backend backend = described();
  const auto memory = backend.device->allocate(16);
  ASSERT_FALSE(memory.ok());
  EXPECT_NE(memory.error().message.find("NVIDIA H200 is described, not present"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon

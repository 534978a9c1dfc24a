// Runs every case file below tests/passes/cases: the text a pass gives, that a second run changes
// nothing, and that graphs before and after agree numerically. `--update` rewrites expected texts.
#include "ir/text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>

#include "case_file.h"
#include "numeric.h"
#include "ops/numerics.h"
#include "ops/ops.h"
#include "passes/origin_keeper.h"
#include "passes/pass.h"

namespace tenon {
namespace {

const std::string kFolder = std::string(TENON_SOURCE_DIR) + "/tests/passes/cases";

double tolerance_of(const PassOptions& options, const Graph& graph) {
  bool halves = options.precision.has_value() || options.half_as.has_value();
  for (const Value* output : graph.outputs()) halves |= output->type.type == DataType::kBFloat16;
  return tolerance(Computation::kKernel, halves ? DataType::kBFloat16 : DataType::kFloat32).spread;
}

Result<bool> run(Graph& graph, const std::string& pass, const PassOptions& options) {
  NullLogger logger;
  PassContext context(options, logger);
  return run_pass(graph, *find_pass(pass), context);
}

/// Gives each layer of the graph and its bodies a model's node of its own.
void name_origins(Graph& graph, std::vector<std::string>& names) {
  for (const auto& node : graph.nodes()) {
    if (node->is<Constant>()) continue;
    node->origins = {fmt::format("node {}", names.size())};
    names.push_back(node->origins[0]);
    if (node->is<Fused>()) continue;
    for (const auto& body : node->bodies) name_origins(*body, names);
  }
}

void collect_origins(const Graph& graph, std::set<std::string>& found) {
  for (const auto& node : graph.nodes()) {
    if (node->is<Constant>() || node->is<Dims>()) continue;
    found.insert(node->origins.begin(), node->origins.end());
    for (const auto& body : node->bodies) collect_origins(*body, found);
  }
}

/// Each node of the model is in a layer behind the pass, or told to be gone, and not both.
void check_origins(const std::string& pass, const Graph& given, const PassOptions& options) {
  const auto graph = given.clone();
  std::vector<std::string> names;
  name_origins(*graph, names);
  NullLogger logger;
  PassContext context(options, logger);
  OriginKeeper origins(*graph);
  ASSERT_TRUE(run_pass(*graph, *find_pass(pass), context, &origins).ok());
  std::set<std::string> found, gone;
  collect_origins(*graph, found);
  for (const GoneNode& node : origins.gone(*graph)) {
    EXPECT_TRUE(gone.insert(node.name).second) << node.name;
    EXPECT_FALSE(found.contains(node.name)) << node.name;
  }
  for (const std::string& name : names)
    EXPECT_TRUE(found.contains(name) || gone.contains(name)) << name << "\n" << print(*graph);
}

/// Values that keep their names keep their numbers, as debug tensors and comparisons by tensor need
/// it.
void check_names(const std::string& pass, const Graph& graph, const PassOptions& options) {
  const auto before = graph.clone();
  int count = 0;
  for (const auto& node : before->nodes())
    for (Value* value : node->outputs())
      if (value->name.empty()) value->name = fmt::format("value {}", count++);
  const auto after = before->clone();
  const auto changed = run(*after, pass, options);
  ASSERT_TRUE(changed.ok()) << changed.error().message;
  EXPECT_EQ(compare_graphs(*before, *after, 1, tolerance_of(options, *before)), "")
      << print(*before) << print(*after);
}

/// Runs the pass and compares; with `update` takes its result as expected.
void check_case(const std::string& pass, PassCase& item, bool update) {
  SCOPED_TRACE(pass + ": " + item.title);
  const auto graph = graph_of_case(item);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto before = (*graph)->clone();
  check_origins(pass, *before, item.options);
  check_names(pass, *before, item.options);
  const auto changed = run(**graph, pass, item.options);
  ASSERT_TRUE(changed.ok()) << changed.error().message;
  EXPECT_EQ(*changed, item.fires) << print(**graph);
  for (uint64_t seed = 1; seed <= 3; ++seed)
    EXPECT_EQ(compare_graphs(*before, **graph, seed, tolerance_of(item.options, *before)), "");
  const std::string text = print(item.fires ? **graph : *before);
  if (item.fires && update) item.expected = text;
  EXPECT_EQ(print(**graph), item.fires ? item.expected : text);
  const auto again = run(**graph, pass, item.options);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(print(**graph), text) << "a second run changes the graph";
}

class CaseFileTest final : public testing::Test {
 public:
  CaseFileTest(std::string path, bool update) : path_(std::move(path)), update_(update) {}
  void TestBody() override {
    auto file = read_case_file(path_);
    ASSERT_TRUE(file.ok()) << file.error().message;
    ASSERT_NE(find_pass(file->pass), nullptr) << file->pass << " is no pass";
    bool fires = false, stays = false;
    for (PassCase& item : file->cases) {
      (item.fires ? fires : stays) = true;
      check_case(file->pass, item, update_);
    }
    EXPECT_TRUE(fires) << "no case where the rule fires";
    EXPECT_TRUE(stays) << "no case where the rule must not fire";
    if (!update_) return;
    EXPECT_TRUE(write_case_file(*file).ok());
  }

 private:
  std::string path_;
  bool update_;
};

void register_cases(bool update) {
  for (const std::string& path : find_case_files(kFolder)) {
    const auto file = read_case_file(path);
    const std::string name = file.ok() ? file->pass + "." + file->rule : path;
    testing::RegisterTest(
        "PassCases", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
        [path, update]() -> testing::Test* { return new CaseFileTest(path, update); });
  }
}

TEST(Passes, EveryPassHasCases) {
  std::map<std::string, int> files;
  for (const std::string& path : find_case_files(kFolder))
    if (const auto file = read_case_file(path); file.ok()) ++files[file->pass];
  // Its graphs have longer weights than text has: split_normalization_test.cpp.
  files["split_normalization"] = 1;
  for (const PassInfo& pass : pass_table())
    EXPECT_GT(files[std::string(pass.name)], 0) << pass.name << " has no case file";
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  tenon::register_cases(argc > 1 && std::strcmp(argv[1], "--update") == 0);
  return RUN_ALL_TESTS();
}

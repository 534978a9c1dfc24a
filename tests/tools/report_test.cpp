#include "tools/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/exports.h"

namespace tenon::tools {
namespace {

std::vector<QueryTimes> queries(int count) {
  std::vector<QueryTimes> all;
  for (int i = 0; i < count; ++i) {
    QueryTimes query;
    query.start_compute = query.start_enqueue = i;
    query.end_compute = query.end_enqueue = i + 0.5;
    all.push_back(query);
  }
  return all;
}

std::string captured(void (*print)(Console&)) {
  testing::internal::CaptureStdout();
  {
    Console console;
    print(console);
  }
  return testing::internal::GetCapturedStdout();
}

int count_of(const std::string& text, const std::string& word) {
  int count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST(PerformanceSummary, HasTheLinesOfTheSpecification) {
  const std::string text =
      captured([](Console& console) { print_summary(console, queries(4), 4, {}); });
  EXPECT_NE(text.find("[I] === Performance summary ===\n"), std::string::npos);
  EXPECT_NE(text.find("[I] Throughput: 1000 qps\n"), std::string::npos);
  EXPECT_NE(text.find("[I] Latency: min = 0.5 ms, max = 0.5 ms, mean = 0.5 ms, median = 0.5 ms, "
                      "percentile(90%) = 0.5 "
                      "ms, percentile(95%) = 0.5 ms, percentile(99%) = 0.5 ms\n"),
            std::string::npos);
  EXPECT_NE(text.find("[I] H2D Latency: min = 0 ms, max = 0 ms"), std::string::npos);
  EXPECT_NE(text.find("[I] Total Host Walltime: 0.004 s\n"), std::string::npos);
  EXPECT_NE(text.find("[I] Total GPU Compute Time: 0.002 s\n"), std::string::npos);
}

/// Warnings of a run of queries of these times, half of which compute for `compute` and half for
/// `slower`.
std::string warnings(double enqueue, double h2d, double compute, double slower, double d2h,
                     ReportSettings settings = {.on_cpu = false}) {
  std::vector<QueryTimes> all;
  for (int i = 0; i < 100; ++i) {
    QueryTimes query;
    query.end_enqueue = enqueue;
    query.end_h2d = h2d;
    query.end_compute = i % 2 == 0 ? compute : slower;
    query.end_d2h = d2h;
    all.push_back(query);
  }
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    Console console;
    print_summary(console, all, 100, settings);
  }
  testing::internal::GetCapturedStdout();
  return testing::internal::GetCapturedStderr();
}

TEST(PerformanceSummary, WarnsWhereSomethingElseBoundsTheRun) {
  EXPECT_EQ(warnings(0.7, 0.9, 1, 1, 0.9), "");
  EXPECT_NE(warnings(0.9, 0, 1, 1, 0).find("Enqueue-bound"), std::string::npos);
  EXPECT_NE(warnings(0, 1, 1, 1, 0).find("H2D-bound"), std::string::npos);
  EXPECT_NE(warnings(0, 0, 1, 1, 2).find("D2H-bound"), std::string::npos);
  // Deviations of 2.4 % and 2.6 % of the mean.
  EXPECT_EQ(warnings(0, 0, 0.976, 1.024, 0), "");
  EXPECT_NE(warnings(0, 0, 0.974, 1.026, 0).find("GPU compute time is unstable"),
            std::string::npos);
  EXPECT_NE(warnings(0, 0, 0.974, 1.026, 0).find("--useSpinWait"), std::string::npos);
  const std::string spins = warnings(0, 0, 0.974, 1.026, 0, {.on_cpu = false, .spins = true});
  EXPECT_EQ(spins.find("--useSpinWait"), std::string::npos);
  const std::string on_cpu = warnings(0, 0, 0.974, 1.026, 0, {.on_cpu = true});
  EXPECT_NE(on_cpu.find("Compute time is unstable"), std::string::npos);
  EXPECT_EQ(on_cpu.find("GPU"), std::string::npos);
  ReportSettings settings;
  settings.streams = 2;
  EXPECT_NE(warnings(0, 0, 1, 1, 0, settings).find("2 inference streams"), std::string::npos);
  // Where the enqueue computes, it takes as long.
  settings = {};
  settings.on_cpu = true;
  EXPECT_EQ(warnings(1, 0, 1, 1, 0, settings), "");
}

TEST(Trace, ShowsTheFirstAndLastTwoHundredLines) {
  const std::string text =
      captured([](Console& console) { print_trace(console, queries(5000), 10); });
  EXPECT_EQ(count_of(text, "Average on 10 runs"), 400);
  EXPECT_EQ(count_of(text, "Omitting 100 lines"), 1);
}

TEST(Trace, ShowsAllWhereTheyAreFew) {
  const std::string text =
      captured([](Console& console) { print_trace(console, queries(29), 10); });
  EXPECT_EQ(count_of(text, "Average on 10 runs"), 2);
  EXPECT_EQ(count_of(text, "Omitting"), 0);
}

TEST(QueryLog, KeepsSoMuchAndCountsAll) {
  QueryLog log(100), other(100);
  for (int i = 0; i < 1000; ++i) {
    QueryTimes query;
    query.start_h2d = query.end_h2d = query.start_compute = i;
    query.end_compute = query.start_d2h = query.end_d2h = i + (i == 501 ? 1000.0 : i % 2);
    log.add(query);
    if (i < 30) other.add(query);
  }
  EXPECT_EQ(log.count(), 1000u);
  EXPECT_EQ(log.stride(), 16u);
  EXPECT_LE(log.kept().size(), 100u);
  for (size_t i = 0; i < log.kept().size(); ++i)
    EXPECT_EQ(log.kept()[i].start_h2d, static_cast<double>(16 * i));
  const Summary summary = log.summary(&QueryTimes::compute, {});
  EXPECT_EQ(summary.max, 1000);  // Of a query that is not kept.
  EXPECT_EQ(summary.min, 0);
  EXPECT_EQ(summary.mean, (499 + 1000) / 1000.0);
  EXPECT_EQ(log.wall_ms(), 1501);
  const QueryLog streams[] = {log, other};
  const QueryLog both = QueryLog::merged(streams);
  EXPECT_EQ(both.count(), 1030u);
  EXPECT_EQ(both.kept().size(), log.kept().size() + 2);  // 0 and 16.
  EXPECT_EQ(both.wall_ms(), 1501);
}

TEST(Profile, LayersWithoutTimeAreLeftOutOfTheTableAlone) {
  std::vector<LayerRuns> runs = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
  for (const auto& [a, c] : {std::pair(3.0F, 2.0F), std::pair(1.0F, 2.0F)}) {
    runs[0].add(a);
    runs[1].add(0);
    runs[2].add(c);
  }
  const std::vector<LayerTimes> layers = layer_times(runs);
  EXPECT_EQ(layers[0].median_ms, 2);
  EXPECT_EQ(layers[0].percentage, 50);
  testing::internal::CaptureStdout();
  {
    Console console;
    print_profile(console, layers, 2);
  }
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("[I] === Profile (2 iterations ) ===\n"), std::string::npos);
  EXPECT_NE(text.find("[I]    Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer\n"),
            std::string::npos);
  EXPECT_NE(text.find("[I]        4.00       2.0000       2.0000      50.0   a\n"),
            std::string::npos);
  EXPECT_NE(text.find("[I]        8.00       4.0000       4.0000     100.0   Total\n"),
            std::string::npos);
  EXPECT_EQ(text.find("   b\n"), std::string::npos);

  const auto json = nlohmann::json::parse(profile_json(layers, 2));
  ASSERT_EQ(json.size(), 4u);
  EXPECT_EQ(json[0]["count"], 2);
  EXPECT_EQ(json[2]["name"], "b");
}

TEST(Times, KeepTheOrderOfKeysAndTheCommas) {
  const std::string text = times_json(queries(2));
  EXPECT_TRUE(text.starts_with("[\n  {\"startEnqMs\":0.0,\"endEnqMs\":0.5,\"startH2dMs\""));
  EXPECT_NE(text.find("}\n, {\"startEnqMs\":1.0"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(text)[1]["latencyMs"], 0.5);
}

TEST(Outputs, IntegersStayIntegers) {
  const OutputValues outputs[] = {{"y", "1x2", {1.5, 2}, false}, {"i", "2", {7, 8}, true}};
  EXPECT_EQ(outputs_json(outputs),
            "[\n  {\"name\":\"y\",\"dimensions\":\"1x2\",\"values\":[1.5,2.0]}\n"
            ", {\"name\":\"i\",\"dimensions\":\"2\",\"values\":[7,8]}\n]\n");
}

TEST(Files, AreReplacedInOneStepAndReadBack) {
  const std::string path = testing::TempDir() + "/tenon_files_test";
  ASSERT_TRUE(write_file(path, std::string("old text")).ok());
  ASSERT_TRUE(write_file(path, std::string("new")).ok());
  const auto bytes = read_file(path);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(std::string(bytes->begin(), bytes->end()), "new");
  EXPECT_FALSE(write_file("/nowhere/file", std::string("x")).ok());
  EXPECT_FALSE(read_file("/").ok());
  EXPECT_FALSE(read_file(path + ".none").ok());
}

}  // namespace
}  // namespace tenon::tools

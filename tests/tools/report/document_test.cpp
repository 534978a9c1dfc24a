#include "tools/report/document.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tools/report/markdown.h"
#include "tools/report/page.h"
#include "tools/report/timeline.h"

namespace tenon::tools {
namespace {

/// A product, a copy of its result and a scalar function that did not join it.
ReportParts three_layers() {
  ReportParts parts;
  parts.title = "model.onnx";
  parts.command = "trtexec --onnx=model.onnx";
  parts.run = Json::parse(R"({
    "device": "a CPU", "on_cpu": true, "settings": {"self_check": "passed"},
    "values": [{"name": "x"}, {"name": "y"}, {"name": "z"}, {"name": "out"}],
    "layers": [
      {"name": "product", "kind": "matmul", "origins": ["product"], "precision": "BF16", "step": 0,
       "operations": 4e6, "read": 1000, "written": 1000, "in": [0], "out": [1]},
      {"name": "join", "kind": "concat", "origins": ["join"], "precision": "FP32", "step": 1,
       "operations": 0, "read": 4e6, "written": 4e6, "in": [1], "out": [2]},
      {"name": "relu", "kind": "relu", "origins": ["relu"], "precision": "FP32", "step": 2,
       "operations": 1000, "read": 1000, "written": 1000, "in": [2], "out": [3]}]})");
  parts.profile = Json::parse(R"([{"count": 3},
    {"name": "product", "timeMs": 6, "averageMs": 2, "medianMs": 2},
    {"name": "join", "timeMs": 3, "averageMs": 1, "medianMs": 1},
    {"name": "relu", "timeMs": 3, "averageMs": 1, "medianMs": 1}])");
  parts.build = Json::parse(R"({
    "apart": [{"producer": "join", "consumer": "relu", "pass": "fuse_epilogue",
               "reason": "'join' (concat) stands before it"}],
    "accuracy": [
      {"layer": "product", "value": "y", "state": "right", "distance": 1e-3, "limit": 1e-2,
       "accumulated": 1e-3},
      {"layer": "join", "value": "z", "state": "right", "accumulated": 1e-3},
      {"layer": "relu", "value": "out", "state": "wrong", "detail": "distance 0.2, limit 0.01",
       "accumulated": 0.2}],
    "outputs": [{"name": "out", "distance": 0.2, "limit": 0.01}],
    "spans": [{"group": "stage", "name": "passes", "start": 0, "seconds": 0.5, "detail": ""}]})");
  return parts;
}

const Json* advice_about(const Json& document, std::string_view words) {
  for (const Json& piece : document["advice"])
    if (text_of(piece, "title").find(words) != std::string::npos) return &piece;
  return nullptr;
}

TEST(Document, LayersHaveTheirTimesAndShares) {
  const Json document = make_report(three_layers());
  ASSERT_EQ(document["layers"].size(), 3);
  EXPECT_DOUBLE_EQ(number_of(document["layers"][0], "ms"), 2);
  EXPECT_DOUBLE_EQ(number_of(document["layers"][0], "share"), 0.5);
  EXPECT_DOUBLE_EQ(number_of(member(document["got"], "FP32"), "ms"), 2);
  EXPECT_TRUE(check_report(document, "file").ok());
}

TEST(Document, FloorsFollowFromBytesAndOperations) {
  ReportParts parts = three_layers();
  parts.bytes_per_second = 16e9;
  const Json document = make_report(std::move(parts));
  // 8 MB at 16 GB/s, and the fastest product at its own rate.
  EXPECT_NEAR(number_of(document["layers"][1], "floorMs"), 0.5, 1e-9);
  EXPECT_EQ(text_of(document["layers"][1], "bound"), "bytes");
  EXPECT_NEAR(number_of(document["layers"][0], "floorMs"), 2, 1e-9);
  EXPECT_EQ(text_of(document["layers"][0], "bound"), "operations");
}

/// Whatever its caches hold.
TEST(Document, NoLayerIsFasterThanItsFloor) {
  ReportParts parts = three_layers();
  parts.bytes_per_second = 1e9;
  const Json document = make_report(std::move(parts));
  EXPECT_DOUBLE_EQ(number_of(document["layers"][1], "floorMs"), 1);
  EXPECT_EQ(text_of(document["layers"][1], "bound"), "bytes");
}

TEST(Document, AdviceNamesTheFusionThatFailedAndWhy) {
  const Json document = make_report(three_layers());
  const Json* piece = advice_about(document, "'relu' is not fused with 'join'");
  ASSERT_NE(piece, nullptr);
  EXPECT_NE(text_of(*piece, "text").find("'join' (concat) stands before it"), std::string::npos);
  EXPECT_NE(text_of(*piece, "evidence").find("25.0 %"), std::string::npos);
}

TEST(Document, AdviceNamesTheLayerThatLosesAccuracy) {
  const Json document = make_report(three_layers());
  EXPECT_DOUBLE_EQ(number_of(document["accuracy"][2], "before"), 1e-3);
  const Json* piece = advice_about(document, "'relu' loses accuracy");
  ASSERT_NE(piece, nullptr);
  EXPECT_NE(text_of(*piece, "text").find("200 times"), std::string::npos);
  EXPECT_EQ(advice_about(document, "'join' loses accuracy"), nullptr);
}

TEST(Document, WhatAKernelMayRoundIsNoLossOfAccuracy) {
  ReportParts parts = three_layers();
  parts.build["accuracy"][2]["limit"] = 0.1;
  const Json document = make_report(std::move(parts));
  EXPECT_DOUBLE_EQ(number_of(document["accuracy"][2], "growth"), 2);
  EXPECT_EQ(advice_about(document, "loses accuracy"), nullptr);
}

TEST(Document, ViewsPassTheDistanceOfTheirOperandsOn) {
  ReportParts parts = three_layers();
  parts.build["accuracy"].erase(1);
  EXPECT_DOUBLE_EQ(number_of(make_report(std::move(parts))["accuracy"][1], "before"), 1e-3);
}

TEST(Document, AdviceTellsOfLayersThatOnlyMoveData) {
  const Json* piece = advice_about(make_report(three_layers()), "only move data take 25 %");
  EXPECT_NE(piece, nullptr);
}

TEST(Document, AdviceTellsOfLayersThatRunByFallbackKernels) {
  ReportParts parts = three_layers();
  EXPECT_EQ(advice_about(make_report(three_layers()), "fallback kernels"), nullptr);
  parts.run["layers"][1]["fallback"] = true;
  const Json document = make_report(std::move(parts));
  const Json* piece = advice_about(document, "fallback kernels");
  ASSERT_NE(piece, nullptr);
  EXPECT_NE(text_of(*piece, "evidence").find("1 layers"), std::string::npos);
}

TEST(Document, WithoutMeasurementsThereIsNothingToSay) {
  const Json document = make_report({});
  EXPECT_TRUE(document["layers"].empty());
  EXPECT_TRUE(document["advice"].empty());
}

TEST(Document, OtherFilesAreNoReports) {
  EXPECT_FALSE(check_report(Json::parse("[1]"), "file").ok());
  Json document = make_report({});
  document["version"] = kReportVersion + 1;
  EXPECT_FALSE(check_report(document, "file").ok());
}

TEST(Page, HoldsTheDocumentAndNeedsNothingElse) {
  ReportParts parts = three_layers();
  parts.title = "</script><b>.onnx";
  const std::string page = report_page(make_report(std::move(parts)));
  EXPECT_EQ(page.find("</script><b>"), std::string::npos);
  EXPECT_NE(page.find("\\u003c/script>\\u003cb>.onnx"), std::string::npos);
  EXPECT_NE(page.find("<title>&lt;/script>"), std::string::npos);
  for (const char* mark : {"@data@", "@title@", "/*style*/", "/*script*/", "src=\"http", "@import"})
    EXPECT_EQ(page.find(mark), std::string::npos) << mark;
}

/// A thousand layers of different times have one text of why a candidate is not theirs, on both
/// sides of a comparison.
TEST(Page, NamesWhatManyLayersRefuseOnce) {
  Json document = make_report(three_layers());
  Json lists = Json::array();
  for (int i = 0; i < 1000; ++i)
    lists.push_back({{{"tactic", "taken"}, {"ms", i}},
                     {{"tactic", "a"}, {"reason", "not a product"}},
                     {{"tactic", fmt::format("b{}", i % 2)}, {"reason", "not a sum"}}});
  document["lists"] = std::move(lists);
  const auto count = [](const std::string& text, std::string_view piece) {
    size_t found = 0;
    for (size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1))
      ++found;
    return found;
  };
  const std::string page = report_page(document);
  EXPECT_EQ(count(page, "not a product"), 1);
  EXPECT_EQ(count(page, "not a sum"), 2);
  EXPECT_EQ(count(page, R"({"tactic":"taken")"), 1000);
  EXPECT_NE(page.find(R"([{"tactic":"taken","ms":999},0,2])"), std::string::npos);
  const Json both = {{"title", "two"}, {"a", document}, {"b", document}};
  EXPECT_EQ(count(report_page(both), "not a product"), 2);
}

TEST(Markdown, HasTheSlowestLayersAndAdvice) {
  const std::string text = report_markdown(make_report(three_layers()));
  EXPECT_LT(text.find("| product | 2.0000 | 50.0 % |"), text.find("| relu | 1.0000"));
  EXPECT_EQ(text.find(" 1 layers"), std::string::npos) << text;
  EXPECT_NE(text.find("- **'relu' loses accuracy.**"), std::string::npos);
}

TEST(Markdown, NamesCannotReachTheTerminal) {
  ReportParts parts = three_layers();
  parts.run["layers"][0]["name"] = "a|b\nc\x1b[31m";
  parts.profile[1]["name"] = "a|b\nc\x1b[31m";
  const std::string text = report_markdown(make_report(std::move(parts)));
  EXPECT_NE(text.find("| a\\|b c\\x1b[31m | 2.0000 |"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(JUnit, FailsWhatIsWrong) {
  const std::string text = report_junit(make_report(three_layers()));
  EXPECT_NE(text.find("tests=\"4\" failures=\"2\""), std::string::npos) << text;
  EXPECT_NE(text.find("name=\"relu\"><failure message=\"distance 0.2, limit 0.01\"/>"),
            std::string::npos);
}

TEST(JUnit, SaysThatNothingWasCompared) {
  Json report = make_report(three_layers());
  report.erase("accuracy");
  report.erase("outputs");
  const std::string text = report_junit(report);
  EXPECT_NE(text.find("tests=\"1\" failures=\"0\" skipped=\"1\""), std::string::npos) << text;
  EXPECT_NE(text.find("<skipped message=\"not compared"), std::string::npos);
  report["settings"]["self_check"] = "not done: the model is too large";
  EXPECT_NE(report_junit(report).find("self-check not done: the model is too large"),
            std::string::npos);
}

TEST(Timeline, HasLayersEndToEndAndTheBuild) {
  const Json trace = Json::parse(report_timeline(make_report(three_layers())));
  double end = 0;
  int layers = 0, stages = 0;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    if (event["name"] == "passes") {
      EXPECT_DOUBLE_EQ(number_of(event, "dur"), 5e5);
      ++stages;
      continue;
    }
    EXPECT_DOUBLE_EQ(number_of(event, "ts"), end);
    end += number_of(event, "dur");
    ++layers;
  }
  EXPECT_EQ(layers, 3);
  EXPECT_EQ(stages, 1);
  EXPECT_DOUBLE_EQ(end, 4000);
}

TEST(Timeline, HasKernelsAsTheyRan) {
  ReportParts parts = three_layers();
  parts.kernels = Json::parse(R"({"kernels": [
    {"layer": "product", "name": "gemm", "stream": 7, "startMs": 0.5, "ms": 2, "registers": 128}]})");
  const Json trace = Json::parse(report_timeline(make_report(std::move(parts))));
  int kernels = 0;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X" || event["name"] != "gemm") continue;
    ++kernels;
    EXPECT_DOUBLE_EQ(number_of(event, "ts"), 500);
    EXPECT_DOUBLE_EQ(number_of(event, "dur"), 2000);
    EXPECT_EQ(text_of(event["args"], "layer"), "product");
    EXPECT_DOUBLE_EQ(number_of(event["args"], "registers"), 128);
  }
  EXPECT_EQ(kernels, 1);
}

}  // namespace
}  // namespace tenon::tools

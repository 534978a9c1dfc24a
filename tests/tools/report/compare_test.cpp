#include "tools/report/compare.h"

#include <gtest/gtest.h>

#include "tools/report/document.h"
#include "tools/report/foreign.h"
#include "tools/report/markdown.h"

namespace tenon::tools {
namespace {

using Names = std::vector<std::string>;

Json report_of(std::string_view title, std::string_view layers, std::string_view profile) {
  ReportParts parts;
  parts.title = title;
  parts.run = {{"layers", Json::parse(layers)}, {"values", Json::array()}};
  parts.profile = Json::parse(profile);
  return make_report(std::move(parts));
}

/// One side computes in one layer what the other does in two.
Json comparison() {
  const Json a =
      report_of("before",
                R"([{"name": "conv + relu", "origins": ["conv", "relu"], "step": 0},
                               {"name": "pool", "origins": ["pool"], "step": 1}])",
                R"([{"name": "conv + relu", "medianMs": 2}, {"name": "pool", "medianMs": 4}])");
  const Json b = report_of("now",
                           R"([{"name": "conv", "origins": ["conv"], "step": 0},
                               {"name": "relu", "origins": ["relu"], "step": 1},
                               {"name": "pool", "origins": ["pool"], "step": 2}])",
                           R"([{"name": "conv", "medianMs": 2}, {"name": "relu", "medianMs": 1},
                               {"name": "pool", "medianMs": 3}])");
  return make_comparison(a, b);
}

TEST(Compare, AlignsByNodesOfTheModel) {
  const Json result = comparison();
  ASSERT_EQ(result["rows"].size(), 2);
  const Json& first = result["rows"][0];
  EXPECT_EQ(first["nodes"], Json({"conv", "relu"}));
  EXPECT_DOUBLE_EQ(number_of(first, "slowerBy"), 1);
  EXPECT_EQ(first["a"]["layers"].size(), 1);
  EXPECT_EQ(first["b"]["layers"].size(), 2);
  EXPECT_DOUBLE_EQ(number_of(result["rows"][1], "slowerBy"), -1);
  EXPECT_DOUBLE_EQ(number_of(result, "aMs"), 6);
  EXPECT_DOUBLE_EQ(number_of(result, "bMs"), 6);
}

/// A part of the graph that TensorRT compiles as one names its first and its last node alone.
TEST(Compare, StretchesOfTheModelAreAligned) {
  const Json ours = report_of("now",
                              R"([{"name": "stem", "origins": ["stem"], "step": 0},
                    {"name": "norm", "origins": ["norm"], "step": 1},
                    {"name": "fc + gelu", "origins": ["fc", "gelu"], "step": 2},
                    {"name": "last", "origins": ["last"], "step": 3}])",
                              R"([{"name": "stem", "medianMs": 1}, {"name": "norm", "medianMs": 2},
                    {"name": "fc + gelu", "medianMs": 3}, {"name": "last", "medianMs": 4}])");
  const auto theirs = [](std::string_view stretch) {
    Json profile = Json::parse(R"([{"count": 1}, {"name": "stem", "medianMs": 1}])");
    profile.push_back({{"name", stretch}, {"medianMs", 4}});
    profile.push_back({{"name", "last"}, {"medianMs", 4}});
    return foreign_report("theirs", profile, nullptr);
  };
  for (const char* stretch : {"{ForeignNode[norm...gelu]}", "{ForeignNode[onnx::MatMul_7...]}"}) {
    const Json result = make_comparison(theirs(stretch), ours);
    ASSERT_EQ(result["rows"].size(), 3) << stretch;
    EXPECT_DOUBLE_EQ(number_of(result["rows"][0], "slowerBy"), 1) << stretch;
    EXPECT_EQ(result["rows"][0]["b"]["layers"].size(), 2) << stretch;
  }
}

TEST(Compare, TheSlowerComeFirstInMarkdown) {
  const std::string text = report_markdown(comparison());
  EXPECT_LT(text.find("### Slower"), text.find("### Faster"));
  EXPECT_NE(text.find("| conv, relu | 2.0000 | 3.0000 | +1.0000 |"), std::string::npos) << text;
}

TEST(Foreign, NodesAreFoundInNames) {
  EXPECT_EQ(origins_in_name("conv1 + relu1"), Names({"conv1", "relu1"}));
  EXPECT_EQ(origins_in_name("PWN(PWN(mul), add)"), Names({"mul", "add"}));
  EXPECT_EQ(origins_in_name("conv + fusedPointwiseNode(add1, relu1)"),
            Names({"conv", "add1", "relu1"}));
  EXPECT_EQ(origins_in_name("Reformatting CopyNode for Input Tensor 0 to conv1"), Names());
  EXPECT_EQ(origins_in_name("{ForeignNode[a...b]}"), Names({"{ForeignNode[a...b]}"}));
  EXPECT_EQ(origins_in_name("/q/MatMul || /k/MatMul || /v/MatMul"),
            Names({"/q/MatMul", "/k/MatMul", "/v/MatMul"}));
  EXPECT_EQ(origins_in_name("fc_bias + (Unnamed Layer* 851) [ElementWise]"),
            Names({"fc_bias", "(Unnamed Layer* 851) [ElementWise]"}));
  EXPECT_EQ(origins_in_name("conv1 + relu1 [profile 1]"), Names({"conv1", "relu1"}));
  EXPECT_EQ(origins_in_name("/layer.0/MatMul_myl0_12"), Names({"/layer.0/MatMul"}));
  EXPECT_EQ(origins_in_name("/layer.0/MatMul_12"), Names({"/layer.0/MatMul_12"}));
  EXPECT_EQ(origins_in_name("__myl_FcAddSilu_myl0_3"), Names());
}

TEST(Foreign, NodesInMetadataMayHaveBrackets) {
  const Json report =
      foreign_report("theirs", Json::parse(R"([{"count": 1}, {"name": "k", "medianMs": 1}])"),
                     Json::parse(R"({"Layers": [{"Name": "k", "Inputs": [], "Outputs": [],
          "Metadata": "[ONNX Layer: x[0]]\u001e[ONNX Layer: b\u001fof a function]\u001e[ONNX Layer: c]"}]})"));
  EXPECT_EQ(report["layers"][0]["origins"], Json({"x[0]", "b", "c"}));
}

/// Layer information may leave out rows that the profile has.
TEST(Foreign, AllTimesOfTheProfileAreKept) {
  const Json report = foreign_report(
      "theirs",
      Json::parse(R"([{"count": 1}, {"name": "a", "medianMs": 1}, {"name": "b", "medianMs": 3}])"),
      Json::parse(R"({"Layers": ["a"], "Bindings": []})"));
  ASSERT_EQ(report["layers"].size(), 2);
  EXPECT_DOUBLE_EQ(number_of(report["layers"][0], "share"), 0.25);
  EXPECT_DOUBLE_EQ(number_of(report["layers"][1], "ms"), 3);
}

TEST(Foreign, ReadsWhatIsExported) {
  const Json profile = Json::parse(
      R"([{"count": 10}, {"name": "fc", "timeMs": 20, "averageMs": 2, "percentage": 100}])");
  const Json layers = Json::parse(R"({"Layers": [{"Name": "fc", "LayerType": "gemm",
      "Inputs": [{"Name": "x", "Dimensions": [1, 8], "Format/Datatype": "Row major linear FP16 format"}],
      "Outputs": [{"Name": "y", "Dimensions": [1, 4], "Format/Datatype": "Half"}],
      "TacticName": "a_gemm", "StreamId": 0,
      "Metadata": "[ONNX Layer: /fc/MatMul]\u001e[ONNX Layer: /fc/Add]"}], "Bindings": ["x", "y"]})");
  ASSERT_TRUE(is_exported_profile(profile));
  ASSERT_TRUE(is_exported_layers(layers));
  const Json report = foreign_report("theirs", profile, layers);
  const Json& layer = report["layers"][0];
  EXPECT_EQ(layer["origins"], Json({"/fc/MatMul", "/fc/Add"}));
  EXPECT_EQ(text_of(layer, "precision"), "FP16");
  EXPECT_DOUBLE_EQ(number_of(layer, "ms"), 2);
  EXPECT_TRUE(check_report(report, "file").ok());
}

TEST(Foreign, AProfileAloneIsEnough) {
  const Json report = foreign_report(
      "theirs", Json::parse(R"([{"count": 1}, {"name": "a + b", "medianMs": 1}])"), nullptr);
  ASSERT_EQ(report["layers"].size(), 1);
  EXPECT_EQ(report["layers"][0]["origins"], Json({"a", "b"}));
}

}  // namespace
}  // namespace tenon::tools

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

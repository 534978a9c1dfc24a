#include "tools/arguments.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "tools/option_report.h"

namespace tenon::tools {
namespace {

Result<Arguments> parse(std::vector<const char*> words) {
  return parse_arguments(words);
}

TEST(Arguments, ReadsFlagsAndValues) {
  const auto arguments = parse({"--onnx=a=b.onnx", "--fp16", "--iterations=5", "--duration=0.5"});
  ASSERT_TRUE(arguments.ok());
  EXPECT_EQ(arguments->text(OptionId::onnx), "a=b.onnx");  // split at the first equals sign only
  EXPECT_TRUE(arguments->flag(OptionId::fp16));
  EXPECT_FALSE(arguments->flag(OptionId::bf16));
  EXPECT_EQ(arguments->integer(OptionId::iterations), 5);
  EXPECT_EQ(arguments->real(OptionId::duration), 0.5);
}

TEST(Arguments, DefaultsComeFromTheTable) {
  const auto arguments = parse({});
  ASSERT_TRUE(arguments.ok());
  EXPECT_EQ(arguments->integer(OptionId::warmUp), 200);
  EXPECT_EQ(arguments->integer(OptionId::avgRuns), 10);
  EXPECT_EQ(arguments->text(OptionId::percentile), "90,95,99");
}

TEST(Arguments, TheLastValueCountsAndListsKeepAll) {
  const auto arguments =
      parse({"--avgRuns=1", "--avgRuns=2", "--staticPlugins=a", "--staticPlugins=b"});
  ASSERT_TRUE(arguments.ok());
  EXPECT_EQ(arguments->integer(OptionId::avgRuns), 2);
  EXPECT_EQ(arguments->list(OptionId::staticPlugins), (std::vector<std::string>{"a", "b"}));
}

TEST(Arguments, UnknownOptionsAreCollected) {
  const auto arguments = parse({"--nonsense=3", "word", "--alsoNone", "-x"});
  ASSERT_TRUE(arguments.ok());
  EXPECT_EQ(arguments->unknown(),
            (std::vector<std::string>{"--nonsense 3", "word", "--alsoNone", "-x"}));
}

TEST(Arguments, RefusesWrongValues) {
  for (const char* word : {"--fp16=1", "--iterations", "--iterations=ten", "--iterations=",
                           "--duration=nan", "--onnx", "--iterations=99999999999999999999"}) {
    const auto arguments = parse({word});
    EXPECT_FALSE(arguments.ok()) << word;
  }
}

TEST(Arguments, OldNamesStandForNewOnes) {
  const auto arguments = parse({"--streams=2", "--vc", "-h"});
  ASSERT_TRUE(arguments.ok());
  EXPECT_EQ(arguments->integer(OptionId::infStreams), 2);
  EXPECT_TRUE(arguments->flag(OptionId::versionCompatible));
  EXPECT_TRUE(arguments->flag(OptionId::help));
  EXPECT_EQ(arguments->renamed().size(), 1u);
}

TEST(OptionTable, RowsThatDoNotWorkSayWhy) {
  std::set<std::string_view> names;
  for (const OptionRow& row : option_rows()) {
    EXPECT_EQ(row.reason.empty(), row.support == OptionSupport::kWorks) << row.name;
    EXPECT_FALSE(row.help.empty()) << row.name;
    // A flag's is the one word that it may be given.
    EXPECT_TRUE(!row.argument.empty() || row.kind == OptionKind::kFlag) << row.name;
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
}

TEST(Arguments, TheOptionMeantIsSuggested) {
  EXPECT_EQ(closest_option("--shape input:1x3"), "shapes");
  EXPECT_EQ(closest_option("--saveengine"), "saveEngine");
  EXPECT_EQ(closest_option("-iteration=3"), "iterations");
  EXPECT_EQ(closest_option("--nonsense"), "");
  EXPECT_EQ(closest_option("x"), "");
  EXPECT_EQ(closest_option(""), "");
}

TEST(OptionTable, HelpNamesEveryOption) {
  const std::string help = help_text(), markdown = help_markdown();
  for (const OptionRow& row : option_rows()) {
    EXPECT_NE(help.find("--" + std::string(row.name)), std::string::npos) << row.name;
    EXPECT_NE(markdown.find("--" + std::string(row.name)), std::string::npos) << row.name;
  }
}

TEST(OptionTable, DocumentationIsWhatTheTableSays) {
  std::ifstream file(TENON_SOURCE_DIR "/docs/trtexec.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), help_markdown() + "\n") << "run make docs";
}

TEST(Arguments, WhatNeedsAnEngineIsRefusedWithADescribedGpu) {
  for (const char* word : {"--exportLayerInfo=a.json", "--dumpOutput", "--exportTimes=t.json"}) {
    auto alone = parse({"--onnx=a.onnx", word});
    ASSERT_TRUE(alone.ok());
    EXPECT_TRUE(check_values(*alone).ok()) << word;
    auto both = parse({"--onnx=a.onnx", "--deviceDescription=h200.txt", word});
    ASSERT_TRUE(both.ok());
    const Status status = check_values(*both);
    ASSERT_FALSE(status.ok()) << word;
    EXPECT_NE(status.error().message.find("--loadEngine"), std::string::npos);
  }
}

}  // namespace
}  // namespace tenon::tools

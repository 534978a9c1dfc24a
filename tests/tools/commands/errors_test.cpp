#include "tools/commands/errors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tools/commands/deviation.h"
#include "tools/page.h"

namespace tenon::tools {
namespace {

Stage stage_of(const ErrorRow& row) {
  return static_cast<Stage>(row.exit_status());
}

TEST(Errors, NumbersAreUniqueAndNameAnExitStatus) {
  std::set<int> numbers;
  for (const ErrorRow& row : error_rows()) {
    EXPECT_TRUE(numbers.insert(row.number).second) << row.name();
    EXPECT_GE(row.exit_status(), 1);
    EXPECT_LE(row.exit_status(), 5);
    EXPECT_FALSE(row.steps().empty()) << row.name();
    EXPECT_EQ(find_error(row.name()), &row);
  }
}

TEST(Errors, AreListedByTheirNumbers) {
  const auto sorted = sorted_error_rows();
  EXPECT_EQ(sorted.size(), error_rows().size());
  EXPECT_TRUE(std::ranges::is_sorted(sorted, {}, &ErrorRow::number));
}

/// Messages that no command line brings about on a machine without a GPU.
TEST(Errors, MessagesOfTheLibraryAreRecognized) {
  const auto number = [](Stage stage, std::string_view message) {
    return classify(stage, message).number;
  };
  EXPECT_EQ(number(Stage::kBuild, "no kernel for 'conv' (conv); cpu.conv.nhwc: no"), 302);
  EXPECT_EQ(number(Stage::kBuild, "stopped: the engine is not built"), 305);
  EXPECT_EQ(number(Stage::kBuild, "there is no GPU 7: the driver has 1"), 306);
  EXPECT_EQ(number(Stage::kBuild, "out of memory: 4096 bytes"), 307);
  EXPECT_EQ(number(Stage::kRun, "the plan was built for 'NVIDIA H100' and this is 'H200'"), 404);
  EXPECT_EQ(number(Stage::kRun, "stopped before --iterations and --duration were reached"), 411);
  EXPECT_EQ(number(Stage::kBuild,
                   "self-check: the plan's results are wrong, and leaving out a pass or a kernel "
                   "does not help: there is no plan (failed: ...)"),
            501);
  EXPECT_EQ(number(Stage::kRun, "an unforeseen failure"), 400);
}

TEST(Errors, TheStageDecidesWhereSignsAreShared) {
  EXPECT_EQ(classify(Stage::kModel, "cannot read 'x': No such file").exit_status(), 2);
  EXPECT_EQ(classify(Stage::kRun, "cannot read 'x': No such file").exit_status(), 4);
  for (const ErrorRow& row : error_rows()) EXPECT_LE(stage_of(row), Stage::kAccuracy);
  for (const Stage stage : {Stage::kUsage, Stage::kModel, Stage::kBuild, Stage::kRun})
    EXPECT_EQ(classify(stage, "cannot write 'no/x': No such file or directory").number, 108);
  EXPECT_EQ(classify(Stage::kUsage, "cannot read 'gpu.txt': No such file").number, 113);
}

TEST(Deviation, EqualTensorsAgreeAndHistogramsCountAll) {
  const std::vector<double> values = {1, -2, 3, 0.5};
  const Deviation same = deviation_of(values, values);
  EXPECT_EQ(same.norm, 0);
  EXPECT_TRUE(same.within(0));
  EXPECT_EQ(same.histogram[0], values.size());
  const std::vector<double> other = {1, -2, 3, 1.5};
  const Deviation found = deviation_of(other, values);
  EXPECT_EQ(found.where, 3U);
  EXPECT_EQ(found.largest, 1);
  EXPECT_FALSE(found.within(0.1));
  EXPECT_EQ(found.histogram[0] + found.histogram[7], values.size());
}

TEST(Deviation, ValuesThatAreFiniteOnOneSideAloneDiffer) {
  const std::vector<double> wrong = {1, NAN}, infinite = {INFINITY, 2}, right = {1, 2};
  EXPECT_FALSE(deviation_of(wrong, right).within(10));
  EXPECT_FALSE(deviation_of(infinite, right).within(10));
  EXPECT_TRUE(deviation_of(wrong, wrong).within(0));
}

TEST(Deviation, AllAgreeWhereBothHaveAllNames) {
  const TensorValues got = {{"a", "2", {1, 2}}, {"b", "1", {3}}, {"c", "1", {9}}};
  const TensorValues expected = {{"b", "1", {3.01}}, {"a", "2", {1, 2}}, {"c", "1", {5}}};
  EXPECT_TRUE(all_agree(got, expected, {"a", "b"}, 0.1));
  EXPECT_FALSE(all_agree(got, expected, {"a", "b", "c"}, 0.1));
  EXPECT_FALSE(all_agree(got, expected, {"a", "d"}, 0.1));
}

TEST(Page, LinesAreWrappedAndShortened) {
  EXPECT_EQ(wrapped("  -", "one two three", 4, 12), "  - one two\n    three");
  EXPECT_EQ(shortened("abcdefghijklmnop", 10), "abcd...nop");
  EXPECT_EQ(
      shortened("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 8),
      "\xc3\xa9\xc3\xa9\xc3\xa9...\xc3\xa9\xc3\xa9");
  EXPECT_EQ(bytes_text(53'900'000), "53.9 MB");
  EXPECT_EQ(seconds_text(0.0123), "12.3 ms");
  EXPECT_EQ(seconds_text(125), "2 min 05 s");
}

TEST(Page, CommandsAreNeverShortened) {
  NextCommands next;
  const std::string command = "build " + std::string(200, 'n');
  next.add("run", "once");
  next.add(command, "again");
  next.add("bench x", "often");
  EXPECT_EQ(next.text(), "  run      once\n  " + command + "\n      again\n  bench x  often");
}

TEST(Page, TablesStayWithinThePage) {
  Table table("lr");
  table.add({std::string(300, 'n'), "1"});
  table.add({"short", "22"});
  for (const std::string& line : {table.text()})
    for (size_t start = 0; start < line.size(); start = line.find('\n', start) + 1) {
      const size_t end = std::min(line.find('\n', start), line.size());
      EXPECT_LE(end - start, page_columns());
      if (end == line.size()) break;
    }
}

}  // namespace
}  // namespace tenon::tools

// Every method of the surface, called with arguments that make sense, null, out of their range and
// of another type: none crashes or throws, and each failure is told to the error recorder.
#include "calls.h"

#include "rows.h"

namespace api_calls {
namespace {

class EveryMethod : public testing::TestWithParam<ClassRow> {};

TEST_P(EveryMethod, SurvivesAnyArgument) {
  Calls calls;
  GetParam().call(calls);
  std::string words;
  for (const std::string& call : calls.silent()) words += "  " + call + "\n";
  EXPECT_TRUE(calls.silent().empty()) << "failed without an error:\n" << words;
  for (const std::string& name : calls.without_object()) ADD_FAILURE() << name << " has no object";
  EXPECT_EQ(calls.methods(), GetParam().methods);
  RecordProperty("calls", std::to_string(calls.calls()));
}

INSTANTIATE_TEST_SUITE_P(Surface, EveryMethod, testing::ValuesIn(class_rows()),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace api_calls

#include "base/printable.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(Printable, LeavesTextAlone) {
  for (const char* text : {"", "conv1 + relu1", "two\n\tlines", "z\xc3\xbcrich", "\xe5\xb1\x82",
                           "\xf0\x9f\x99\x82", "\xef\xbf\xbd"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, WritesControlCharactersOut) {
  EXPECT_EQ(printable("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(printable("a\rb\x07\x7f"), "a\\x0db\\x07\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m");  // C1's form of the same sequence.
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Printable, NamesAreOneLine) {
  EXPECT_EQ(printable_name("two\n\tlines\x1b"), "two\\x0a\\x09lines\\x1b");
  EXPECT_EQ(printable_name("z\xc3\xbcrich"), "z\xc3\xbcrich");
}

TEST(Printable, ReplacesWhatIsNotUtf8) {
  const std::string mark = "\xef\xbf\xbd";
  EXPECT_EQ(printable("\xff"), mark);
  EXPECT_EQ(printable("a\x80"
                      "b"),
            "a" + mark + "b");                                          // A continuation alone.
  EXPECT_EQ(printable("\xc3"), mark);                                   // Cut off.
  EXPECT_EQ(printable("\xc3("), mark + "(");                            // No continuation.
  EXPECT_EQ(printable("\xc0\xaf"), mark + mark);                        // Longer than needed.
  EXPECT_EQ(printable("\xed\xa0\x80"), mark + mark + mark);             // A surrogate.
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), mark + mark + mark + mark);  // Beyond U+10FFFF.
}

}  // namespace
}  // namespace tenon

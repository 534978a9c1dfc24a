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

TEST(Printable, CutsBetweenCharacters) {
  const std::string name = "a\xc3\xa9\xf0\x9f\x99\x82z";  // 1, 2, 4 and 1 bytes.
  const size_t kept[] = {0, 1, 1, 3, 3, 3, 3, 7, 8, 8};
  for (size_t bytes = 0; bytes < std::size(kept); ++bytes)
    EXPECT_EQ(clipped(name, bytes).size(), kept[bytes]) << bytes;
  const size_t kept_behind[] = {0, 1, 1, 1, 1, 5, 5, 7, 8, 8};
  for (size_t bytes = 0; bytes < std::size(kept_behind); ++bytes)
    EXPECT_EQ(clipped_front(name, bytes).size(), kept_behind[bytes]) << bytes;
  EXPECT_EQ(first_letters(name, 2), "a\xc3\xa9");
  EXPECT_EQ(first_letters(name, 9), name);
}

TEST(Printable, CutsBytesThatAreNoText) {
  EXPECT_EQ(clipped(std::string(99, '\x80'), 50).size(), 50u);
  EXPECT_EQ(clipped("\xff\xff\xff", 2).size(), 2u);
}

TEST(Printable, LongNamesEndInDots) {
  std::string name = "a";
  while (name.size() < 300) name += "\xc3\xa9";
  const std::string shown = short_name(name);
  EXPECT_EQ(shown, name.substr(0, 199) + "...");
  EXPECT_EQ(short_name("con\nv"), "con\\x0av");
}

}  // namespace
}  // namespace tenon

// Files that are written as a whole.
#include "base/draft_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "base/unnamed_file.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

class Draft : public testing::Test {
 protected:
  Draft() { fs::create_directories(folder_); }
  ~Draft() override { fs::remove_all(folder_); }

  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_))
      names.insert(entry.path().filename().string());
    return names;
  }
  std::string contents() const {
    std::ifstream stream(file_);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("draft-" + std::to_string(getpid()));
  const fs::path file_ = folder_ / "file";
};

TEST_F(Draft, NewContentsTakeTheNameAtOnce) {
  for (const std::string text : {"first", "second, and longer"}) {
    const std::string before = contents();
    DraftFile draft(file_);
    draft.stream() << text;
    draft.stream().flush();
    EXPECT_EQ(contents(), before);
    ASSERT_TRUE(draft.keep().ok());
    EXPECT_EQ(contents(), text);
  }
  EXPECT_EQ(names(), std::set<std::string>{"file"});
}

TEST_F(Draft, AllIsAsItWasWithoutThem) {
  { DraftFile(file_).stream() << "left"; }
  EXPECT_EQ(names(), std::set<std::string>());
  std::ofstream(file_) << "kept";
  fs::permissions(file_, fs::perms::owner_read | fs::perms::owner_write);
  { DraftFile(file_).stream() << "left"; }
  EXPECT_EQ(contents(), "kept");
  DraftFile draft(file_);
  draft.stream() << "new";
  ASSERT_TRUE(draft.keep().ok());
  EXPECT_EQ(fs::status(file_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(names(), std::set<std::string>{"file"});
}

TEST_F(Draft, AnEndOfTheProcessLeavesNothingOfThem) {
  const int descriptor = open_unnamed(file_);
  if (descriptor < 0) GTEST_SKIP() << "the file system has no files without names";
  close(descriptor);
  DraftFile draft(file_);
  draft.stream() << "begun";
  draft.stream().flush();
  EXPECT_EQ(names(), std::set<std::string>());
}

TEST_F(Draft, FoldersThatAreNotThereAreNamed) {
  DraftFile draft(folder_ / "none" / "file");
  const Status status = draft.keep();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("none/file"), std::string::npos);
}

}  // namespace
}  // namespace tenon

#include "tools/new_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "tools/exports.h"

namespace tenon::tools {
namespace {

class NewFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / "new_file_test";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    if (NewFile::open(path()) == nullptr) GTEST_SKIP() << "no file without a name";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return (folder_ / "plan").string(); }
  std::string text() const {
    const auto bytes = read_file(path());
    return bytes.ok() ? std::string(bytes->begin(), bytes->end()) : "none";
  }
  std::filesystem::path folder_;
};

TEST_F(NewFileTest, TakesThePlaceOfTheOldOneWhenItIsSaved) {
  ASSERT_TRUE(write_file(path(), std::string("old")).ok());
  ASSERT_EQ(chmod(path().c_str(), 0640), 0);
  const auto file = NewFile::open(path());
  const std::string half(5 << 20, 'x');
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(file->write(half.data(), static_cast<int64_t>(half.size())), 5 << 20);
  EXPECT_EQ(file->size(), 10u << 20);
  EXPECT_EQ(text(), "old");
  ASSERT_TRUE(file->save().ok());
  EXPECT_EQ(text(), half + half);
  struct stat facts {};
  ASSERT_EQ(stat(path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0640u);
}

TEST_F(NewFileTest, LeavesNothingBehindThatIsNotSaved) {
  NewFile::open(path())->write("abc", 3);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(NewFileTest, LinksStayLinks) {
  const std::string behind = (folder_ / "behind").string();
  std::filesystem::create_symlink(behind, path());
  const auto file = NewFile::open(path());
  file->write("abc", 3);
  ASSERT_TRUE(file->save().ok());
  EXPECT_TRUE(std::filesystem::is_symlink(path()));
  EXPECT_EQ(text(), "abc");
}

TEST_F(NewFileTest, DevicesAreForOthers) {
  EXPECT_EQ(NewFile::open("/dev/null"), nullptr);
  EXPECT_EQ(NewFile::open((folder_ / "none" / "plan").string()), nullptr);
}

TEST_F(NewFileTest, NamesTheFileThatTakesNoMore) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1 << 20, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto file = NewFile::open(path());
  const std::string much(3 << 20, 'x');
  const int64_t written = file->write(much.data(), static_cast<int64_t>(much.size()));
  const Status saved = file->save();
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_LT(written, static_cast<int64_t>(much.size()));
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.error().message, "cannot write '" + path() + "': File too large");
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace tenon::tools

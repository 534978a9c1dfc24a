#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tools/exports.h"

namespace tenon::tools {
namespace {

namespace fs = std::filesystem;

class WrittenFiles : public testing::Test {
 protected:
  WrittenFiles() {
    std::string name = (fs::temp_directory_path() / "tenon_files_XXXXXX").string();
    folder = mkdtemp(name.data());
  }
  ~WrittenFiles() override { fs::remove_all(folder); }

  std::string at(const std::string& name) const { return (folder / name).string(); }
  std::string text(const std::string& name) const {
    const auto bytes = read_file(at(name));
    return bytes.ok() ? std::string(bytes->begin(), bytes->end()) : bytes.error().message;
  }
  size_t count() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }

  fs::path folder;
};

TEST_F(WrittenFiles, AreReplaced) {
  ASSERT_TRUE(write_file(at("a"), std::string("first, and longer")).ok());
  ASSERT_TRUE(write_file(at("a"), std::string("second")).ok());
  EXPECT_EQ(text("a"), "second");
  EXPECT_EQ(count(), 1u) << "something was left behind";
}

/// A link stays one, also where its file is not there yet.
TEST_F(WrittenFiles, AreBehindLinks) {
  fs::create_directory(at("sub"));
  fs::create_symlink("sub/b", at("second"));
  fs::create_symlink("second", at("first"));
  for (const char* contents : {"new", "newer"}) {
    ASSERT_TRUE(write_file(at("first"), std::string(contents)).ok());
    EXPECT_TRUE(fs::is_symlink(at("first")) && fs::is_symlink(at("second")));
    EXPECT_EQ(text("sub/b"), contents);
  }
}

TEST_F(WrittenFiles, KeepTheirMode) {
  std::ofstream(at("a")) << "old";
  fs::permissions(at("a"), fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(write_file(at("a"), std::string("new")).ok());
  EXPECT_EQ(fs::status(at("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

/// Of several parts, the last one of some bytes.
std::vector<char> many_bytes() {
  std::vector<char> bytes((size_t{13} << 20) + 5);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i % 251 + 1);
  return bytes;
}

TEST_F(WrittenFiles, TakeTheirBytesMemory) {
  const std::vector<char> expected = many_bytes();
  std::vector<char> bytes = expected;
  const auto released = write_file_and_release(at("a"), bytes);
  ASSERT_TRUE(released.ok()) << released.error().message;
  EXPECT_TRUE(*released);
  EXPECT_EQ(bytes[size_t{1} << 20], 0) << "the page is still there";
  EXPECT_TRUE(*read_file(at("a")) == expected);
  EXPECT_EQ(count(), 1u);
}

TEST_F(WrittenFiles, OfFewBytesLeaveThem) {
  std::string bytes = "few";
  EXPECT_FALSE(*write_file_and_release(at("a"), bytes));
  EXPECT_EQ(bytes, "few");
}

/// No other file can be made beside it: its name would be too long.
TEST_F(WrittenFiles, OfLongNamesHaveAllBytes) {
  const std::string name(250, 'n');
  std::ofstream(at(name)) << "old";
  const std::vector<char> expected = many_bytes();
  std::vector<char> bytes = expected;
  ASSERT_TRUE(write_file_and_release(at(name), bytes).ok());
  EXPECT_TRUE(*read_file(at(name)) == expected);
}

TEST_F(WrittenFiles, DevicesLeaveTheBytes) {
  const std::vector<char> expected = many_bytes();
  std::vector<char> bytes = expected;
  EXPECT_FALSE(*write_file_and_release("/dev/null", bytes));
  EXPECT_TRUE(bytes == expected);
}

TEST_F(WrittenFiles, LinksStayLinks) {
  ASSERT_TRUE(write_file(at("real"), std::string("old")).ok());
  fs::create_symlink("real", at("link"));
  ASSERT_TRUE(write_file(at("link"), std::string("new")).ok());
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(text("real"), "new");
}

TEST_F(WrittenFiles, PipesAreWrittenTo) {
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  std::fstream reader(at("pipe"), std::ios::in | std::ios::out);
  ASSERT_TRUE(write_file(at("pipe"), std::string("through\n")).ok());
  std::string line;
  std::getline(reader, line);
  EXPECT_EQ(line, "through");
  EXPECT_TRUE(fs::is_fifo(at("pipe")));
}

/// By a link of the test's own, which alone would be lost if it were replaced.
TEST_F(WrittenFiles, AFullDiskIsReported) {
  fs::create_symlink("/dev/full", at("full"));
  const Status status = write_file(at("full"), std::string("anything"));
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("No space left"), std::string::npos)
      << status.error().message;
  EXPECT_TRUE(fs::is_symlink(at("full")));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(WrittenFiles, WhatCannotBeWrittenIsKnownBefore) {
  EXPECT_TRUE(check_writable(at("new")).ok());
  EXPECT_FALSE(fs::exists(at("new")));
  EXPECT_TRUE(check_writable("/dev/null").ok());
  for (const std::string& bad : {std::string(), folder.string(), at("nowhere/file")})
    EXPECT_FALSE(check_writable(bad).ok()) << bad;
  EXPECT_FALSE(write_file(folder.string(), std::string("x")).ok());
  EXPECT_FALSE(write_file(at("nowhere/file"), std::string("x")).ok());
}

TEST_F(WrittenFiles, ASourceIsNotReplacedByItsResult) {
  ASSERT_TRUE(write_file(at("model"), std::string("source")).ok());
  fs::create_symlink(at("model"), at("link"));
  for (const std::string& same : {at("model"), at("link"), at("./model")})
    EXPECT_FALSE(check_writable(same, at("model")).ok()) << same;
  EXPECT_TRUE(check_writable(at("new"), at("model")).ok());
  EXPECT_TRUE(check_writable(at("model"), at("another")).ok());
  EXPECT_TRUE(check_writable("/dev/null", "/dev/null").ok());
}

}  // namespace
}  // namespace tenon::tools

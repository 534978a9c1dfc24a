// External data: files that are read, and everything that must not be.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "models.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

/// A folder with weights.bin (16 bytes) and, outside it, secret.bin.
class ExternalData : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / fmt::format("tenon_external_{}", getpid());
    fs::remove_all(root_);
    fs::create_directories(root_ / "model" / "inner");
    write(root_ / "model" / "weights.bin", std::string(16, 'a'));
    write(root_ / "secret.bin", std::string(16, 's'));
  }
  void TearDown() override { fs::remove_all(root_); }

  static void write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  Result<ImportedModel> import(const std::string& location, const std::string& offset = "",
                               const std::string& length = "") const {
    ModelBuilder model;
    model.input("x", {4}).output("y");
    auto& weight = model.weight("w", {4});
    weight.set_data_location(::onnx::TensorProto::EXTERNAL);
    const auto add = [&weight](const char* key, const std::string& value) {
      auto* entry = weight.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    };
    add("location", location);
    add("unknown_key", "ignored");
    if (!offset.empty()) add("offset", offset);
    if (!length.empty()) add("length", length);
    model.node("Add", {"x", "w"}, {"y"});
    return model.import(nullptr, (root_ / "model").string());
  }

  fs::path root_;
};

TEST_F(ExternalData, IsRead) {
  const Result<ImportedModel> model = import("weights.bin", "0", "16");
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->values.find("w")->second->constant()->byte_count(), 16);
  EXPECT_TRUE(import("weights.bin").ok());
  EXPECT_TRUE(import("./inner/../weights.bin").ok() == false);
}

TEST_F(ExternalData, EscapesAreRefused) {
  for (const std::string& location :
       {std::string("../secret.bin"), std::string("inner/../../secret.bin"),
        (root_ / "secret.bin").string(), std::string("/etc/passwd"), std::string(""),
        std::string("."), std::string("inner"), std::string(".."), std::string("..\\secret.bin"),
        std::string("weights.bin\0x", 13), std::string(5000, 'a'),
        std::string("/proc/self/environ"), std::string("inner//..//..//secret.bin"),
        std::string("absent.bin")}) {
    const Result<ImportedModel> model = import(location);
    ASSERT_FALSE(model.ok()) << location;
    EXPECT_NE(model.error().message.find("\"w\""), std::string::npos) << model.error().message;
  }
}

TEST_F(ExternalData, SymbolicLinksAreRefused) {
  fs::create_symlink(root_ / "secret.bin", root_ / "model" / "link.bin");
  fs::create_directory_symlink(root_, root_ / "model" / "up");
  fs::create_symlink("weights.bin", root_ / "model" / "inside.bin");
  EXPECT_FALSE(import("link.bin").ok());
  EXPECT_FALSE(import("up/secret.bin").ok());
  EXPECT_FALSE(import("inside.bin").ok());
}

TEST_F(ExternalData, OnlyRegularFiles) {
  ASSERT_EQ(mkfifo((root_ / "model" / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(import("pipe").ok());
}

TEST_F(ExternalData, RangesAreChecked) {
  EXPECT_FALSE(import("weights.bin", "1").ok());
  EXPECT_FALSE(import("weights.bin", "16", "16").ok());
  EXPECT_FALSE(import("weights.bin", "18446744073709551615").ok());
  EXPECT_FALSE(import("weights.bin", "-4").ok());
  EXPECT_FALSE(import("weights.bin", "0", "1125899906842624").ok());
  EXPECT_FALSE(import("weights.bin", "zero").ok());
  write(root_ / "model" / "short.bin", "abc");
  EXPECT_FALSE(import("short.bin").ok());
}

}  // namespace
}  // namespace tenon

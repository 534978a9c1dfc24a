#include "base/mapped_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace tenon {
namespace {

/// Pages of this process that belong to files, as the system counts them.
int64_t file_pages() {
  std::ifstream statm("/proc/self/statm");
  int64_t all = 0, resident = 0, shared = 0;
  statm >> all >> resident >> shared;
  return shared;
}

TEST(MappedFile, ReleasedPagesComeBackWithTheirContents) {
  const auto path = std::filesystem::temp_directory_path() / "tenon_mapped_file_test";
  std::string contents(5'000'123, '\0');
  for (size_t i = 0; i < contents.size(); ++i) contents[i] = static_cast<char>(i * 31 >> 4);
  std::ofstream(path, std::ios::binary) << contents;
  const auto mapped = map_file(path.string());
  std::filesystem::remove(path);
  ASSERT_TRUE(mapped.ok());
  const auto same = [&] {
    return std::equal(contents.begin(), contents.end(),
                      reinterpret_cast<const char*>(mapped->data));
  };
  ASSERT_EQ(mapped->size, contents.size());
  EXPECT_TRUE(same());
  const int64_t before = file_pages();
  release_pages(mapped->bytes().subspan(100));
  if (before > 0) {
    EXPECT_LT(file_pages(), before - 1000);
  }
  EXPECT_TRUE(same());
  release_pages(mapped->bytes().subspan(100, 50));  // not one whole page
  release_pages({});
}

}  // namespace
}  // namespace tenon

// The binary interface of include/ and lib/compat against src/surface/abi.tsv, row by row.
#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>

#include <fstream>

#include "probe.h"

namespace {

/// Lines of the table behind its head.
int rows_of_the_table() {
  std::ifstream table(TENON_SOURCE_DIR "/src/surface/abi.tsv");
  int rows = -1;
  for (std::string line; std::getline(table, line);) ++rows;
  return rows;
}

TEST(Abi, EveryRowOfTheTableIsAsItSays) {
  layout::Comparison comparison;
  layout::compare_all(comparison);
  for (const std::string& difference : comparison.differences) ADD_FAILURE() << difference;
  std::printf("%d rows compared, %zu differences\n", comparison.rows,
              comparison.differences.size());
  EXPECT_EQ(comparison.rows, rows_of_the_table());
}

/// A library's DT_SONAME.
std::string soname(void* library) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return "";
  const char* strings = nullptr;
  uint64_t name = 0;
  for (const auto* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SONAME) name = entry->d_un.d_val;
  }
  return strings == nullptr ? "" : strings + name;
}

/// A library of lib/compat, and a function that it exports.
struct Symbol {
  const char* library;
  const char* name;
};
constexpr Symbol kSymbols[] = {
#include "compat_symbols.inc"
};

class CompatLibrary : public testing::TestWithParam<Symbol> {};

TEST_P(CompatLibrary, HasItsNameAndFunction) {
  const auto [name, symbol] = GetParam();
  void* library = dlopen((std::string(COMPAT_FOLDER "/") + name).c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_EQ(soname(library), name);
  void* function = dlsym(library, symbol);
  ASSERT_NE(function, nullptr) << dlerror();
  Dl_info found{};
  ASSERT_NE(dladdr(function, &found), 0);
  EXPECT_TRUE(std::string(found.dli_fname).ends_with(name)) << found.dli_fname;
}

INSTANTIATE_TEST_SUITE_P(Symbols, CompatLibrary, testing::ValuesIn(kSymbols));

TEST(CompatLibraries, ServeThroughTheirOwnNames) {
  void* library = dlopen(COMPAT_FOLDER "/libnvinfer.so.10", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  auto* version = reinterpret_cast<int32_t (*)()>(dlsym(library, "getInferLibVersion"));
  ASSERT_NE(version, nullptr);
  EXPECT_EQ(version(), 101600);
}

}  // namespace

#include "base/large_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace tenon {
namespace {

TEST(LargeMemory, IsAlignedAsAsked) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{300}, (size_t{4} << 20) + 1}) {
    const std::unique_ptr<void, void (*)(void*)> memory(allocate_large_or_null(bytes, 256),
                                                        std::free);
    ASSERT_NE(memory, nullptr) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % 256, 0u) << bytes;
    std::memset(memory.get(), 0xff, bytes);
  }
}

TEST(LargeMemory, IsNullWhereThereIsNone) {
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX - 256, SIZE_MAX / 2, size_t{1} << 60})
    EXPECT_EQ(allocate_large_or_null(bytes, 256), nullptr) << bytes;
}

}  // namespace
}  // namespace tenon

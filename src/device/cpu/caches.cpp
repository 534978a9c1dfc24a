#include "device/cpu/caches.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace tenon::cpu {
namespace {

constexpr size_t kUsualPrivate = 1 << 20, kUsualShared = 32 << 20;
constexpr size_t kLine = 64;

/// What the C library says, 0 where it says nothing.
size_t told(int name) {
  const auto bytes = sysconf(name);
  return bytes > 0 ? static_cast<size_t>(bytes) : 0;
}

/// The kernel's word, "32768K": of the cores at hand, where the C library may count those of all
/// virtual machines.
size_t read_listed() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  size_t kibibytes = 0;
  char unit = 0;
  return file >> kibibytes >> unit && unit == 'K' ? kibibytes << 10 : 0;
}

#if defined(__x86_64__)
bool has_unordered_flush() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx & bit_CLFLUSHOPT) != 0;
}

/// No line waits for the one before it: 0.05 ns a byte instead of 0.7 to 1.
[[gnu::target("clflushopt")]] void flush_unordered(const char* memory, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kLine) _mm_clflushopt(const_cast<char*>(memory + at));
}

void flush_in_order(const char* memory, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kLine) _mm_clflush(memory + at);
}
#endif

}  // namespace

size_t private_cache_bytes() {
  const size_t bytes = told(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : kUsualPrivate;
}

size_t listed_shared_cache_bytes() {
  // New shapes ask as well, which no file should keep waiting.
  static const size_t bytes = read_listed();
  return bytes;
}

size_t shared_cache_bytes() {
  const size_t a = told(_SC_LEVEL3_CACHE_SIZE), b = listed_shared_cache_bytes();
  if (a == 0 && b == 0) return kUsualShared;
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

void flush(const void* memory, size_t bytes) {
#if defined(__x86_64__)
  static const auto flush_lines = has_unordered_flush() ? flush_unordered : flush_in_order;
  flush_lines(static_cast<const char*>(memory), bytes);
  _mm_mfence();
#else
  (void)memory, (void)bytes, (void)kLine;
#endif
}

}  // namespace tenon::cpu

#include "base/vector_bytes.h"

#include <string>

#include "base/environment.h"

namespace tenon {

int vector_bytes() {
#if defined(__x86_64__)
  static const int bytes = [] {
    __builtin_cpu_init();
    const std::string limit = instruction_set_limit();
    const bool avx2 = limit != "generic" && __builtin_cpu_supports("avx2");
    const bool avx512 = avx2 && limit != "avx2" && __builtin_cpu_supports("avx512f") &&
                        __builtin_cpu_supports("avx512dq");
    return avx512 ? 64 : avx2 ? 32 : 16;
  }();
  return bytes;
#else
  return 16;
#endif
}

}  // namespace tenon

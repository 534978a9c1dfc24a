#include "device/cuda/other_libraries.h"

#include "device/cuda/shared_library.h"

namespace tenon::cuda {
namespace {

constexpr char kRemedy[] = "it is not needed";

std::string jit_link_version() {
  const auto library =
      SharedLibrary::open("nvJitLink", {"libnvJitLink.so.13", "libnvJitLink.so.12"}, kRemedy);
  unsigned major = 0, minor = 0;
  if (!library.ok()) return "none";
  const auto version =
      reinterpret_cast<int (*)(unsigned*, unsigned*)>(library->find("nvJitLinkVersion"));
  if (version == nullptr || version(&major, &minor) != 0) return "unknown";
  return fmt::format("{}.{}", major, minor);
}

std::string nccl_version() {
  const auto library = SharedLibrary::open("NCCL", {"libnccl.so.2"}, kRemedy);
  int number = 0;
  if (!library.ok()) return "none";
  const auto version = reinterpret_cast<int (*)(int*)>(library->find("ncclGetVersion"));
  if (version == nullptr || version(&number) != 0) return "unknown";
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

}  // namespace

const std::string& other_libraries() {
  static const std::string kText =
      fmt::format("nvJitLink {}, NCCL {}", jit_link_version(), nccl_version());
  return kText;
}

}  // namespace tenon::cuda

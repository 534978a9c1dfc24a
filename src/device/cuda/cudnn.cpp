#include "device/cuda/cudnn.h"

#include "device/cuda/shared_library.h"

namespace tenon::cuda {
namespace {

struct Refusal {
  size_t first, last;
  const char* reason;
};
constexpr Refusal kRefused[] = {
#define TENON_REFUSED_CUDNN(first, last, reason) {first, last, reason},
#include "device/cuda/refused_cudnn.def"
};

constexpr char kRemedy[] =
    "install cuDNN 9 (on PyPI: nvidia-cudnn-cu13), or name the folder above its lib in "
    "TENON_CUDA_PATH; without it our own kernels compute";

std::string version_text(size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

Status check_version(const SharedLibrary& library) {
  const auto version_of =
      reinterpret_cast<decltype(&::cudnnGetVersion)>(library.find("cudnnGetVersion"));
  if (version_of == nullptr) return unsupported("{} is not cuDNN", library.path());
  const size_t version = version_of();
  if (const char* reason = refused_cudnn(version))
    return unsupported("cuDNN {} ({}) is not used: {}", version_text(version), library.path(),
                       reason);
  return {};
}

Result<Cudnn> open_cudnn() {
  TENON_ASSIGN(const SharedLibrary library,
               SharedLibrary::open("cuDNN", {"libcudnn.so.9"}, kRemedy, check_version));
  Cudnn table;
#define TENON_FUNCTION(name) TENON_CUDA_LOAD(library, table, name)
#include "device/cuda/cudnn.def"
  table.version = version_text(table.cudnnGetVersion());
  return table;
}

const Result<Cudnn>& opened() {
  return opened_once<open_cudnn>();
}

}  // namespace

Result<const Cudnn*> load_cudnn() {
  return address_of(opened());
}

const char* refused_cudnn(size_t version) {
  for (const Refusal& refusal : kRefused)
    if (version >= refusal.first && version <= refusal.last) return refusal.reason;
  return nullptr;
}

Status check_cudnn(cudnnStatus_t code, const char* call) {
  if (code == CUDNN_STATUS_SUCCESS) return {};
  char message[512] = "";
  opened()->cudnnGetLastErrorString(message, sizeof message);
  const char* name = opened()->cudnnGetErrorString(code);
  if (code == CUDNN_STATUS_ALLOC_FAILED) return resource_error("{}: {} {}", call, name, message);
  return unsupported("{}: {} {}", call, name, message);
}

}  // namespace tenon::cuda

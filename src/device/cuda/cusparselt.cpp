#include "device/cuda/cusparselt.h"

#include "device/cuda/shared_library.h"

namespace tenon::cuda {
namespace {

constexpr char kRemedy[] =
    "install cuSPARSELt 0.8 (on PyPI: nvidia-cusparselt-cu12 or -cu13), or name the folder above "
    "its lib in TENON_CUDA_PATH; without it products with sparse weights are computed as others";

Result<CusparseLt> open_cusparselt() {
  TENON_ASSIGN(const SharedLibrary library,
               SharedLibrary::open("cuSPARSELt", {"libcusparseLt.so.0"}, kRemedy));
  CusparseLt table;
#define TENON_FUNCTION(name) TENON_CUDA_LOAD(library, table, name)
#include "device/cuda/cusparselt.def"
  int major = 0, minor = 0;
  table.cusparseLtGetProperty(MAJOR_VERSION, &major);
  table.cusparseLtGetProperty(MINOR_VERSION, &minor);
  // Numbers of its enumerations change between versions.
  if (major != 0 || minor != 8)
    return unsupported("{} is version {}.{}; takes 0.8", library.path(), major, minor);
  return table;
}

const Result<CusparseLt>& opened() {
  return opened_once<open_cusparselt>();
}

}  // namespace

Result<const CusparseLt*> load_cusparselt() {
  return address_of(opened());
}

Status check_cusparselt(int code, const char* call) {
  if (code == 0) return {};
  return resource_error("{}: {}", call, opened()->cusparseLtGetErrorString(code));
}

}  // namespace tenon::cuda

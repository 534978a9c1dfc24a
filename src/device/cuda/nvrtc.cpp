#include "device/cuda/nvrtc.h"

#include <array>
#include <filesystem>
#include <memory>
#include <mutex>

#include "device/cuda/shared_library.h"

namespace tenon::cuda {
namespace {

constexpr char kRemedy[] =
    "install it (on PyPI: nvidia-cuda-nvrtc), or name the folder above its lib in TENON_CUDA_PATH; "
    "kernels whose code is neither in the plan nor in the kernel cache cannot be compiled without "
    "it";

Result<Nvrtc> table_of(const SharedLibrary& library) {
  Nvrtc table;
#define TENON_FUNCTION(name) TENON_CUDA_LOAD(library, table, name)
#include "device/cuda/nvrtc.def"
  int major = 0, minor = 0;
  table.nvrtcVersion(&major, &minor);
  table.version = fmt::format("{}.{}", major, minor);
  table.number = major * 100 + minor;
  return table;
}

Result<Nvrtc> open_nvrtc() {
  TENON_ASSIGN(const SharedLibrary library,
               SharedLibrary::open("NVRTC, CUDA's run-time compiler,",
                                   {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, kRemedy));
  return table_of(library);
}

/// Compilers at the same time, each with as much memory as its file is long (110 MB): reading is up
/// to an eighth of a compilation.
constexpr size_t kMaxCopies = 4;
constexpr int kThreadsOfEach = 4;

/// Whether it compiles: a copy may not find its built-in header.
Status check_compiler(const Nvrtc& nvrtc) {
  nvrtcProgram program = nullptr;
  nvrtcResult result =
      nvrtc.nvrtcCreateProgram(&program, "__global__ void f() {}", "f", 0, nullptr, nullptr);
  if (result == NVRTC_SUCCESS) result = nvrtc.nvrtcCompileProgram(program, 0, nullptr);
  if (program != nullptr) nvrtc.nvrtcDestroyProgram(&program);
  if (result == NVRTC_SUCCESS) return {};
  return unsupported("a copy of NVRTC: {}", nvrtc.nvrtcGetErrorString(result));
}

Result<Nvrtc> copy_of(const Nvrtc& nvrtc) {
  const std::filesystem::path file =
      SharedLibrary::file_of(reinterpret_cast<const void*>(nvrtc.nvrtcVersion));
  // Copies look for it beside themselves, but a library that is open has been found.
  TENON_TRY(
      SharedLibrary::keep_open(file.parent_path() / ("libnvrtc-builtins.so." + nvrtc.version)));
  TENON_ASSIGN(const SharedLibrary library, SharedLibrary::open_copy(file));
  TENON_ASSIGN(Nvrtc copy, table_of(library));
  TENON_TRY(check_compiler(copy));
  return copy;
}

/// The opened library and its copies, which stay until the process ends.
class Compilers {
 public:
  const Nvrtc* take(const Nvrtc& opened) {
    std::unique_lock lock(mutex_);
    if (count_ == 0) places_[count_++].nvrtc = &opened;
    size_t best = 0;
    for (size_t i = 1; i < count_; ++i)
      if (places_[i].threads < places_[best].threads) best = i;
    if (places_[best].threads >= kThreadsOfEach && count_ < limit_ && !is_copying_) {
      is_copying_ = true;
      lock.unlock();
      auto copy = copy_of(opened);
      lock.lock();
      is_copying_ = false;
      if (copy.ok()) {
        best = count_++;
        places_[best].nvrtc = new Nvrtc(std::move(copy).value());
      } else {
        limit_ = count_;
      }
    }
    ++places_[best].threads;
    return places_[best].nvrtc;
  }

  void give_back(const Nvrtc* nvrtc) {
    const std::lock_guard lock(mutex_);
    for (Place& place : places_)
      if (place.nvrtc == nvrtc) --place.threads;
  }

 private:
  struct Place {
    const Nvrtc* nvrtc = nullptr;
    int threads = 0;
  };
  std::mutex mutex_;
  std::array<Place, kMaxCopies> places_;
  size_t count_ = 0, limit_ = kMaxCopies;
  bool is_copying_ = false;
};

std::unique_ptr<Compilers> make_compilers() {
  return std::make_unique<Compilers>();
}

}  // namespace

NvrtcLoan::NvrtcLoan(const Nvrtc& opened) : nvrtc_(opened_once<make_compilers>()->take(opened)) {}

NvrtcLoan::~NvrtcLoan() {
  opened_once<make_compilers>()->give_back(nvrtc_);
}

Result<const Nvrtc*> load_nvrtc() {
  return address_of(opened_once<open_nvrtc>());
}

}  // namespace tenon::cuda

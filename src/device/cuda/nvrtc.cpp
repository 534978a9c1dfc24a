#include "device/cuda/nvrtc.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <mutex>
#include <utility>

#include "device/cuda/shared_library.h"

namespace tenon::cuda {
namespace {

constexpr char kRemedy[] =
    "install it (on PyPI: nvidia-cuda-nvrtc), or name the folder above its lib in TENON_CUDA_PATH; "
    "kernels whose code is neither in the plan nor in the kernel cache cannot be compiled without "
    "it";

/// As if the signal were ignored: then NVRTC leaves it so.
sighandler_t leave_signal(int, sighandler_t) {
  return SIG_IGN;
}

int leave_limit(int, const rlimit*) {
  return 0;
}

char* ctime_of_thread(const time_t* time) {
  constexpr size_t kBytes = 26;
  static thread_local char text[kBytes];
  return ctime_r(time, text);
}

/// Objects stay until the process has ended.
int leave_destructor(void (*)(void*), void*, void*) {
  return 0;
}

void end_compilers();

/// State of the process, and of all copies, is left alone. NVRTC takes SIGINT and SIGTERM for
/// a handler that calls exit(), while other threads compile, and lifts the limit of the stack, each
/// for a while: copies put back what others set meanwhile. They also write to one text of ctime().
/// Threads may still compile when exit() runs: end_compilers() comes ahead of the destructors of
/// objects that NVRTC makes when it is opened, and later ones are not destroyed.
void confine(const SharedLibrary& library) {
  library.redirect("signal", reinterpret_cast<void*>(leave_signal));
  library.redirect("setrlimit", reinterpret_cast<void*>(leave_limit));
  library.redirect("ctime", reinterpret_cast<void*>(ctime_of_thread));
  library.redirect("__cxa_atexit", reinterpret_cast<void*>(leave_destructor));
  std::atexit(end_compilers);
}

Result<Nvrtc> table_of(const SharedLibrary& library) {
  confine(library);
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
constexpr size_t kThreadsOfEach = 4;

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

/// Loans of this thread. Plain, so that it is there at exit().
thread_local int own_loans = 0;

/// The opened library and its copies, which stay until the process ends.
class Compilers {
 public:
  /// Null where the process ends.
  const Nvrtc* take(const Nvrtc& opened) {
    std::unique_lock lock(mutex_);
    ++threads_;
    while (!is_ending_) {
      Place* const best = least_used(opened);
      if (begun_ < needed(threads_)) {
        copy(opened, lock);
      } else if (best->threads < kThreadsOfEach || filled_ == begun_) {
        ++best->threads;
        ++own_loans;
        return best->nvrtc;
      } else {
        changed_.wait(lock);  // For a copy: one more thread here would hold up the others.
      }
    }
    --threads_;
    return nullptr;
  }

  void give_back(const Nvrtc* nvrtc) {
    if (nvrtc == nullptr) return;
    const std::lock_guard lock(mutex_);
    --threads_;
    --own_loans;
    for (Place& place : places_)
      if (place.nvrtc == nvrtc) --place.threads;
    changed_.notify_all();
  }

  /// Copies for so many threads.
  void prepare(const Nvrtc& opened, size_t threads) {
    std::unique_lock lock(mutex_);
    least_used(opened);
    while (!is_ending_ && begun_ < needed(threads)) copy(opened, lock);
  }

  /// At exit(), ahead of the destructors of the compilers' objects: threads that compile end that,
  /// for which they need nothing of this thread, and no others begin. Where this thread is one of
  /// them, a signal's handler called exit(), and others may wait for it. In a child of fork() there
  /// are no threads.
  void end() {
    if (own_loans > 0 || getpid() != process_) return;
    std::unique_lock lock(mutex_);
    if (std::exchange(is_ending_, true)) return;
    changed_.notify_all();
    changed_.wait(lock, [this] { return filled_ == begun_ && !is_in_use(); });
  }

 private:
  struct Place {
    const Nvrtc* nvrtc = nullptr;
    size_t threads = 0;
  };

  /// The one that the fewest threads use.
  Place* least_used(const Nvrtc& opened) {
    if (filled_ == 0) {
      places_[filled_++].nvrtc = &opened;
      begun_ = 1;
    }
    return std::ranges::min_element(places_.data(), places_.data() + filled_, {}, &Place::threads);
  }

  size_t needed(size_t threads) const {
    return std::min(limit_, (threads + kThreadsOfEach - 1) / kThreadsOfEach);
  }

  bool is_in_use() const {
    return std::ranges::any_of(places_, [](const Place& place) { return place.threads > 0; });
  }

  void copy(const Nvrtc& opened, std::unique_lock<std::mutex>& lock) {
    ++begun_;
    lock.unlock();
    auto copy = copy_of(opened);
    lock.lock();
    if (copy.ok())
      places_[filled_++].nvrtc = new Nvrtc(std::move(copy).value());
    else
      limit_ = --begun_;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Place, kMaxCopies> places_;
  /// Places that are filled, those and others that will be, and the most there can be.
  size_t filled_ = 0, begun_ = 0, limit_ = kMaxCopies;
  size_t threads_ = 0;  ///< That compile or wait.
  bool is_ending_ = false;
  const pid_t process_ = getpid();
};

std::unique_ptr<Compilers> make_compilers() {
  return std::make_unique<Compilers>();
}

Compilers& compilers() {
  return *opened_once<make_compilers>();
}

void end_compilers() {
  compilers().end();
}

}  // namespace

NvrtcLoan::NvrtcLoan(const Nvrtc& opened) : nvrtc_(compilers().take(opened)) {}

NvrtcLoan::~NvrtcLoan() {
  compilers().give_back(nvrtc_);
}

void copy_nvrtc(const Nvrtc& opened, size_t threads) {
  compilers().prepare(opened, threads);
}

Result<const Nvrtc*> load_nvrtc() {
  return address_of(opened_once<open_nvrtc>());
}

}  // namespace tenon::cuda

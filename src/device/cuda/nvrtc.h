#pragma once

#include <nvrtc.h>

#include <string>

#include "base/status.h"

namespace tenon::cuda {

/// The run-time compiler's functions.
struct Nvrtc {
#define TENON_FUNCTION(name) decltype(&::name) name = nullptr;
#include "device/cuda/nvrtc.def"
  std::string version;  ///< For people and cache keys.
  int number = 0;       ///< 1204 for 12.4.
};

/// Opened on first use. The error says where it was looked for.
Result<const Nvrtc*> load_nvrtc();

/// The compiler of a thread. NVRTC reads one source at a time, so that a build on many threads
/// would wait for that most of the time: where many compile, the library is there several times.
class NvrtcLoan {
 public:
  /// `opened` unless it is in much use and a copy of it could be made.
  explicit NvrtcLoan(const Nvrtc& opened);
  ~NvrtcLoan();
  NvrtcLoan(const NvrtcLoan&) = delete;
  /// False where exit() runs: it destroys what the compiler needs, ahead of threads.
  bool ok() const { return nvrtc_ != nullptr; }
  const Nvrtc& nvrtc() const { return *nvrtc_; }

 private:
  const Nvrtc* nvrtc_;
};

/// Makes the copies that so many threads will compile with: each takes as long as a kernel.
void copy_nvrtc(const Nvrtc& opened, size_t threads);

}  // namespace tenon::cuda

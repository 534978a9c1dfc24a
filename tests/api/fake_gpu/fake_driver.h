#pragma once

#include <dlfcn.h>

#include <cstdlib>

#include "NvInfer.h"
#include "tenon/device.h"
#include "tenon/self_check.h"

namespace api_test {

/// Set before the library looks for the driver.
inline const int kFakeDriverIsSet = setenv("TENON_CUDA_PATH", FAKE_DRIVER "/..", 1);

/// The driver that pretends.
class FakeDriver {
 public:
  FakeDriver() : library_(dlopen(FAKE_DRIVER "/libcuda.so.1", RTLD_NOW)) {}
  void fail(const char* function, int at, int code) const {
    call<void (*)(const char*, int, int)>("fake_driver_fail")(function, at, code);
  }
  void work() const { fail(nullptr, -1, 0); }
  void capture(bool capturing) const { call<void (*)(bool)>("fake_driver_capture")(capturing); }
  bool invalidated() const { return call<bool (*)()>("fake_driver_invalidated")(); }
  void become(int capability) const { call<void (*)(int)>("fake_driver_become")(capability); }
  void stay_busy(bool busy) const { call<void (*)(bool)>("fake_driver_stay_busy")(busy); }
  void make_noise(unsigned seed) const { call<void (*)(unsigned)>("fake_driver_make_noise")(seed); }
  unsigned shared(int more = 0) const {
    return call<unsigned (*)(int)>("fake_driver_shared")(more);
  }
  int launches(void* stream) const { return call<int (*)(void*)>("fake_driver_launches")(stream); }
  int calls(const char* function) const {
    return call<int (*)(const char*)>("fake_driver_calls")(function);
  }
  /// The work that was put on streams, a line each: "copy 0", streams numbered as they come.
  const char* order() const { return call<const char* (*)()>("fake_driver_order")(); }
  void leave_free(size_t bytes) const { call<void (*)(size_t)>("fake_driver_leave_free")(bytes); }
  bool failed() const { return call<bool (*)()>("fake_driver_failed")(); }
  int living() const { return call<int (*)()>("fake_driver_living")(); }

 private:
  template <class Function> Function call(const char* name) const {
    return reinterpret_cast<Function>(dlsym(library_, name));
  }
  void* library_;
};

/// A build for the driver that pretends: libraries look for a real one, and kernels do nothing that
/// a self-check could compare.
inline void build_for_fake_gpu(nvinfer1::IBuilderConfig& config) {
  config.setTacticSources(0);
  tenon::setBuildDevice(config, 0);
  tenon::setSelfCheck(config, false);
}

/// A driver function's symbol, which its name may be a macro for.
#define FUNCTION_TEXT_INNER(x) #x
#define FUNCTION_TEXT(x) FUNCTION_TEXT_INNER(x)

}  // namespace api_test

// A profiler as NVTX loads it (NVTX_INJECTION64_PATH): it notes the ranges of all threads.
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

#include <mutex>
#include <string>

namespace {

std::mutex& mutex() {
  static std::mutex the_mutex;
  return the_mutex;
}
std::string& noted() {
  static std::string the_text;
  return the_text;
}

int push(const char* name) {
  const std::lock_guard lock(mutex());
  noted().append("{").append(name);
  return 0;
}
int pop() {
  const std::lock_guard lock(mutex());
  noted().append("}\n");
  return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t table_of) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(table_of(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0 ||
      size <= NVTX_CBID_CORE_RangePop)
    return 0;
  *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(push);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(pop);
  return 1;
}

/// The ranges since the last call, one a line: "{name}". Lives until the next call.
extern "C" __attribute__((visibility("default"))) const char* fake_profiler_ranges() {
  static std::string told;
  const std::lock_guard lock(mutex());
  told.swap(noted());
  noted().clear();
  return told.c_str();
}

#endif

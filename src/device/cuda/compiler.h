#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "device/code_library.h"
#include "device/code_work.h"
#include "device/source_text.h"

namespace tenon::cuda {

struct Nvrtc;

/// A file of device code that is part of the library.
struct SourceFile {
  std::string_view name;  ///< As in `#include "pointwise/formulas.cuh"`.
  std::string_view text;
};

/// Device code to compile for one architecture.
struct DeviceCode {
  std::string name;                     ///< For messages: "rows/softmax.cu".
  SourceText text;                      ///< Kernels are `extern "C" __global__`.
  std::vector<std::string> options;     ///< "-DROWS=32", "--use_fast_math"; no architecture.
  std::span<const SourceFile> headers;  ///< Files for #include; there are no other headers.
  /// The launch behind it may start before it has ended. The compiled code is the same.
  bool lets_next_start = false;
};

/// What device code is compiled for: one GPU's compute capability, where 90 stands for sm_90a, or a
/// part of a family of GPUs (device_family.h).
struct CodeTarget {
  CodeTarget(int its_capability) : capability(its_capability) {}  // NOLINT: a GPU's own is usual.
  int capability;
  int family = 0;         ///< The family's least capability; 0: the code is for one GPU.
  bool assembly = false;  ///< PTX, which drivers compile for later GPUs.

  /// In hashes: "90", or "sm_90" for code that all GPUs of that generation run.
  std::string text() const;
};
/// The codes that together run on all GPUs of a family, and that of them for one GPU.
std::vector<CodeTarget> family_targets(int least);
CodeTarget family_target(int least, int capability);

/// Compiles to machine code for the target, or to PTX where the compiler does not know that one
/// yet. Results are kept in the cache folder, by a hash
/// of code, included headers, options, architecture and compiler version; where the compiler is not
/// installed, results of the last one are found there. Thread-safe, and threads compile at the same
/// time. The error holds the compiler's messages.
Result<std::string> compile_device_code(const DeviceCode& code, const CodeTarget& target);
/// The same by a given compiler, or without one: its error says why.
Result<std::string> compile_device_code(const DeviceCode& code, const CodeTarget& target,
                                        const Result<const Nvrtc*>& compiler);

/// Where the cache has no code yet, and so all of it will be compiled, on all threads that may: has
/// the compiler ready for them.
Status prepare_compilers();

/// The compiler's own work so far, for sources that neither the cache nor a library had.
CodeWork compiler_work();
/// Of these sources, those whose products of tensor cores the assembler makes wait for each other,
/// as it says among its messages: they were written to overlap, and take longer than they need to.
int64_t compiled_with_serial_products();

/// The key of that cache: 32 hex digits.
std::string device_code_hash(const DeviceCode& code, const CodeTarget& target,
                             std::string_view compiler);
/// The key of a CodeLibrary, of any compiler. A family's key names its target. Text that is
/// unwritten stays so.
std::string source_hash(const SourceText& text, std::span<const std::string> options,
                        const CodeTarget& target, std::span<const SourceFile> headers = {});
inline std::string source_hash(const DeviceCode& code, const CodeTarget& target) {
  return source_hash(code.text, code.options, target, code.headers);
}
/// Whether code of that key runs on the target.
bool is_for(std::string_view source_hash, const CodeTarget& target);
/// Compiles for a library that collects missing code; for all targets of a family.
Status collect_device_code(const DeviceCode& code, const CodeTarget& target, CodeLibrary& library);

}  // namespace tenon::cuda

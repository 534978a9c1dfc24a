#include "device/cuda/compiler.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>

#include "base/parallel.h"
#include "base/stopwatch.h"
#include "device/cuda/compiler_heap.h"
#include "device/cuda/kernel_cache.h"
#include "device/cuda/nvrtc.h"
#include "device/device_family.h"

namespace tenon::cuda {
namespace {

/// Functions that return nothing at their end, and variables read before they are set.
constexpr const char* kWarningsThatAreDefects = "-diag-error=940,549";
constexpr int kFirstWithMinimal = 1204;
/// Under it the cache has the version of the compiler that made its latest entry.
constexpr const char* kLastCompiler = "compiler";

/// The hash of text that lives as long as the process, such as a file of the library: of hundreds
/// of kernels' sources most is that. Thread-safe.
XXH128_hash_t lasting_hash(std::string_view text) {
  // Never destroyed: threads may compile while the process ends.
  static auto& mutex = *new std::shared_mutex;
  static auto& known = *new std::map<std::pair<const char*, size_t>, XXH128_hash_t>;
  const std::pair key(text.data(), text.size());
  {
    const std::shared_lock lock(mutex);
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  const std::unique_lock lock(mutex);
  return known.try_emplace(key, hash).first->second;
}

/// Hashes text and, once each, the headers that it includes.
class Hasher {
 public:
  explicit Hasher(std::span<const SourceFile> headers) : headers_(headers) {
    XXH3_128bits_reset(&state_);
  }

  void add(std::string_view text) {
    const size_t size = text.size();
    XXH3_128bits_update(&state_, &size, sizeof size);
    XXH3_128bits_update(&state_, text.data(), size);
  }

  /// One piece of a text, or its key.
  void add_piece(std::string_view piece, bool is_file) {
    if (!is_file) return add(piece);
    const XXH128_hash_t hash = lasting_hash(piece);
    XXH3_128bits_update(&state_, &hash, sizeof hash);
  }

  /// Those of several files.
  void add_keys(std::string_view keys) { XXH3_128bits_update(&state_, keys.data(), keys.size()); }

  void add_headers(std::string_view text) {
    constexpr std::string_view kInclude = "#include \"";
    for (size_t at = 0; (at = text.find(kInclude, at)) != std::string_view::npos;) {
      at += kInclude.size();
      const std::string_view name = text.substr(at, text.find('"', at) - at);
      for (const SourceFile& header : headers_)
        if (header.name == name && seen_.insert(header.name).second) {
          add(header.text);
          add_headers(header.text);
        }
    }
  }

  std::string digits() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(&state_);
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string digits(32, '0');
    for (size_t i = 0; i < 16; ++i) {
      digits[15 - i] = kDigits[hash.high64 >> 4 * i & 15];
      digits[31 - i] = kDigits[hash.low64 >> 4 * i & 15];
    }
    return digits;
  }

 private:
  std::span<const SourceFile> headers_;
  XXH3_state_t state_;
  std::set<std::string_view> seen_;
};

/// Compute capability to compile for, and whether to machine code.
struct CompilerTarget {
  int capability;
  bool machine_code;
  bool alone;  ///< The code runs on GPUs of that capability alone.
  std::string option() const {
    const char* kind = machine_code ? "sm" : "compute";
    // Instructions of one generation alone, such as Hopper's tensor cores, need the "a".
    return fmt::format("--gpu-architecture={}_{}{}", kind, capability,
                       machine_code && alone && capability == 90 ? "a" : "");
  }
};

Result<CompilerTarget> choose_target(const Nvrtc& nvrtc, const CodeTarget& wanted) {
  int count = 0;
  nvrtc.nvrtcGetNumSupportedArchs(&count);
  std::vector<int> known(static_cast<size_t>(std::max(count, 0)));
  if (count > 0) nvrtc.nvrtcGetSupportedArchs(known.data());
  const int capability = wanted.capability;
  CompilerTarget target{0, false, wanted.family == 0};
  for (const int candidate : known)
    if (candidate <= capability) target.capability = std::max(target.capability, candidate);
  if (target.capability == 0)
    return unsupported("NVRTC {} does not compile for compute capability {}", nvrtc.version,
                       capability_text(capability));
  target.machine_code = !wanted.assembly && target.capability == capability;
  return target;
}

/// Of all compilations so far.
std::atomic<int64_t> compiled_sources = 0, compile_nanoseconds = 0, serial_products = 0;

/// An NVRTC program, destroyed with its owner.
class Program {
 public:
  explicit Program(const Nvrtc& nvrtc) : nvrtc_(nvrtc) {}
  ~Program() {
    if (program_ != nullptr) nvrtc_.nvrtcDestroyProgram(&program_);
  }
  Program(const Program&) = delete;

  Status create(const DeviceCode& code) {
    std::vector<const char*> texts, names;
    for (const SourceFile& header : code.headers) {
      names.push_back(header.name.data());  // Literals, so terminated.
      texts.push_back(header.text.data());
    }
    const std::string text = code.text.whole();
    return check(
        nvrtc_.nvrtcCreateProgram(&program_, text.c_str(), code.name.c_str(),
                                  static_cast<int>(names.size()), texts.data(), names.data()),
        code.name);
  }

  Status compile(const DeviceCode& code, const CompilerTarget& target) {
    std::vector<std::string> options = code.options;
    options.insert(options.begin(),
                   {target.option(), "--std=c++17", "-default-device", kWarningsThatAreDefects});
    // Without textures and launches from kernels: less to read, the same code.
    if (nvrtc_.number >= kFirstWithMinimal) options.emplace_back("-minimal");
    std::vector<const char*> words;
    for (const std::string& option : options) words.push_back(option.c_str());
    const nvrtcResult result =
        nvrtc_.nvrtcCompileProgram(program_, static_cast<int>(words.size()), words.data());
    size_t size = 0;
    nvrtc_.nvrtcGetProgramLogSize(program_, &size);
    std::string log(size, '\0');
    if (size > 0) nvrtc_.nvrtcGetProgramLog(program_, log.data());
    if (result == NVRTC_SUCCESS) {
      if (log.find("wgmma.mma_async instructions are serialized") != std::string::npos)
        ++serial_products;
      return {};
    }
    return internal_error("{}: {}\n{}", code.name, nvrtc_.nvrtcGetErrorString(result), log.c_str());
  }

  Result<std::string> binary(const DeviceCode& code, const CompilerTarget& target) {
    size_t size = 0;
    TENON_TRY(check(target.machine_code ? nvrtc_.nvrtcGetCUBINSize(program_, &size)
                                        : nvrtc_.nvrtcGetPTXSize(program_, &size),
                    code.name));
    std::string bytes(size, '\0');
    TENON_TRY(check(target.machine_code ? nvrtc_.nvrtcGetCUBIN(program_, bytes.data())
                                        : nvrtc_.nvrtcGetPTX(program_, bytes.data()),
                    code.name));
    return bytes;
  }

 private:
  Status check(nvrtcResult result, const std::string& what) const {
    if (result == NVRTC_SUCCESS) return {};
    return internal_error("{}: {}", what, nvrtc_.nvrtcGetErrorString(result));
  }

  const Nvrtc& nvrtc_;
  nvrtcProgram program_ = nullptr;
};

}  // namespace

std::string CodeTarget::text() const {
  if (family == 0) return std::to_string(capability);
  return fmt::format("{}_{}", assembly ? "compute" : "sm", capability);
}

std::vector<CodeTarget> family_targets(int least) {
  std::vector<CodeTarget> targets;
  const auto add = [&](int capability, bool assembly) {
    CodeTarget& target = targets.emplace_back(capability);
    target.family = least;
    target.assembly = assembly;
  };
  // Machine code runs on GPUs of the same generation alone.
  for (const int first : {80, 90})
    if (first >= least) add(first, false);
  add(least, true);
  return targets;
}

CodeTarget family_target(int least, int capability) {
  constexpr int kEmbedded = 87;  // It runs no machine code of its generation's other GPUs.
  const std::vector<CodeTarget> all = family_targets(least);
  for (const CodeTarget& target : all)
    if (!target.assembly && target.capability / 10 == capability / 10 && capability != kEmbedded)
      return target;
  return all.back();
}

std::string device_code_hash(const DeviceCode& code, const CodeTarget& target,
                             std::string_view compiler) {
  Hasher hasher(code.headers);
  hasher.add(compiler);
  hasher.add(target.text());
  for (const std::string& option : code.options) hasher.add(option);
  code.text.for_each(
      [&](std::string_view piece, bool is_file) { hasher.add_piece(piece, is_file); });
  if (!code.headers.empty()) hasher.add_headers(code.text.whole());
  return hasher.digits();
}

std::string source_hash(const SourceText& text, std::span<const std::string> options,
                        const CodeTarget& target, std::span<const SourceFile> headers) {
  Hasher hasher(headers);
  hasher.add(target.text());
  for (const std::string& option : options) hasher.add(option);
  text.for_each_value(
      [&](std::string_view piece, bool is_file) { hasher.add_piece(piece, is_file); },
      [&](std::string_view keys) { hasher.add_keys(keys); });
  if (!headers.empty()) hasher.add_headers(text.whole());
  std::string hash = hasher.digits();
  return target.family == 0 ? hash : hash + '.' + target.text();
}

bool is_for(std::string_view source_hash, const CodeTarget& target) {
  return target.family == 0 || source_hash.ends_with('.' + target.text());
}

namespace {

/// Codes that threads compile for libraries at the moment.
class Compiling {
 public:
  using Key = std::pair<const CodeLibrary*, std::string>;
  /// False where another thread is at it.
  bool begin(const Key& key) {
    const std::lock_guard lock(mutex_);
    return keys_.insert(key).second;
  }
  void end(const Key& key) {
    const std::lock_guard lock(mutex_);
    keys_.erase(key);
  }

 private:
  std::mutex mutex_;
  std::set<Key> keys_;
};

}  // namespace

/// Threads that come to code that another one compiles leave it to that one.
Status collect_device_code(const DeviceCode& code, const CodeTarget& target, CodeLibrary& library) {
  static Compiling& compiling = *new Compiling;
  const auto targets =
      target.family == 0 ? std::vector<CodeTarget>{target} : family_targets(target.family);
  for (const CodeTarget& each : targets) {
    const std::string source = source_hash(code, each);
    const Compiling::Key key(&library, source);
    if (library.has(source) || !compiling.begin(key)) continue;
    const Result<std::string> binary = compile_device_code(code, each);
    if (binary.ok()) library.collect(source, *binary);
    compiling.end(key);
    if (!binary.ok()) return binary.error();
  }
  return {};
}

Status prepare_compilers() {
  if (find_cached_kernel(kLastCompiler)) return {};
  TENON_ASSIGN(const Nvrtc* const nvrtc, load_nvrtc());
  copy_nvrtc(*nvrtc, helper_threads());
  return {};
}

CodeWork compiler_work() {
  return {.compiled = compiled_sources,
          .compile_seconds = static_cast<double>(compile_nanoseconds) * 1e-9};
}

int64_t compiled_with_serial_products() {
  return serial_products;
}

Result<std::string> compile_device_code(const DeviceCode& code, const CodeTarget& target) {
  return compile_device_code(code, target, load_nvrtc());
}

Result<std::string> compile_device_code(const DeviceCode& code, const CodeTarget& wanted,
                                        const Result<const Nvrtc*>& compiler) {
  const std::string version =
      compiler.ok() ? (*compiler)->version : find_cached_kernel(kLastCompiler).value_or("");
  const std::string key = device_code_hash(code, wanted, version);
  if (auto known = find_cached_kernel(key)) return std::move(*known);
  TENON_ASSIGN(const Nvrtc* const opened, compiler);
  keep_heap();
  const NvrtcLoan loan(*opened);
  if (!loan.ok()) return resource_error("nothing is compiled while the process ends");
  const Nvrtc& nvrtc = loan.nvrtc();
  TENON_ASSIGN(const CompilerTarget target, choose_target(nvrtc, wanted));
  Stopwatch watch;
  Program program(nvrtc);
  TENON_TRY(program.create(code));
  TENON_TRY(program.compile(code, target));
  ++compiled_sources;
  compile_nanoseconds += static_cast<int64_t>(watch.lap() * 1e9);
  TENON_ASSIGN(std::string binary, program.binary(code, target));
  keep_cached_kernel(key, binary);
  if (find_cached_kernel(kLastCompiler) != version) keep_cached_kernel(kLastCompiler, version);
  return binary;
}

}  // namespace tenon::cuda

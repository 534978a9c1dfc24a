#include "device/cuda/compiler.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "base/parallel.h"
#include "device/cuda/cudnn.h"
#include "device/cuda/kernel_cache.h"
#include "device/cuda/nvrtc.h"
#include "device/cuda/shared_library.h"

namespace tenon::cuda {
namespace {

namespace fs = std::filesystem;

constexpr SourceFile kHeaders[] = {{"a.cuh", "#define VALUE 1\n"}, {"b.cuh", "#define VALUE 2\n"}};

DeviceCode code_of(std::string text) {
  return {"test.cu", std::move(text), {}, kHeaders};
}

/// A cache folder of its own for each test.
class KernelCache : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("tenon-cache-{}", getpid());
    setenv("TENON_CACHE_DIR", folder_.c_str(), 1);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST(DeviceCodeHash, DependsOnCodeHeadersOptionsArchitectureAndCompiler) {
  const DeviceCode code = code_of("#include \"a.cuh\"\nint x;");
  const std::string hash = device_code_hash(code, 90, "13.0");
  EXPECT_EQ(hash.size(), 32u);
  EXPECT_EQ(hash, device_code_hash(code, 90, "13.0"));
  EXPECT_NE(hash, device_code_hash(code, 80, "13.0"));
  EXPECT_NE(hash, device_code_hash(code, 90, "13.1"));
  DeviceCode other = code;
  other.options = {"-DX=1"};
  EXPECT_NE(hash, device_code_hash(other, 90, "13.0"));
  constexpr SourceFile kChanged[] = {{"a.cuh", "#define VALUE 3\n"},
                                     {"b.cuh", "#define VALUE 2\n"}};
  other = code;
  other.headers = kChanged;
  EXPECT_NE(hash, device_code_hash(other, 90, "13.0"));
}

TEST(DeviceCodeHash, IgnoresHeadersThatAreNotIncluded) {
  constexpr SourceFile kChanged[] = {{"a.cuh", "#define VALUE 1\n"}, {"b.cuh", "changed"}};
  DeviceCode code = code_of("#include \"a.cuh\"\nint x;");
  const std::string hash = device_code_hash(code, 90, "13.0");
  code.headers = kChanged;
  EXPECT_EQ(hash, device_code_hash(code, 90, "13.0"));
}

TEST_F(KernelCache, KeepsWhatWasPutIn) {
  EXPECT_FALSE(find_cached_kernel("k").has_value());
  keep_cached_kernel("k", std::string_view("a\0b", 3));
  EXPECT_EQ(find_cached_kernel("k"), std::string("a\0b", 3));
}

TEST_F(KernelCache, DamagedFilesCountAsAbsent) {
  keep_cached_kernel("k", "contents");
  std::fstream file(folder_ / "kernels" / "k.bin", std::ios::in | std::ios::out);
  file.put('x');
  file.close();
  EXPECT_FALSE(find_cached_kernel("k").has_value());
}

TEST_F(KernelCache, AnEmptyFolderNameKeepsNothing) {
  setenv("TENON_CACHE_DIR", "", 1);
  keep_cached_kernel("k", "contents");
  EXPECT_FALSE(find_cached_kernel("k").has_value());
}

TEST_F(KernelCache, FoldersThatTakeNothingAreTold) {
  EXPECT_TRUE(check_kernel_cache().ok());
  // A file in the folder's place: a superuser may write to any folder.
  setenv("TENON_CACHE_DIR", (folder_ / "taken").c_str(), 1);
  std::ofstream(folder_ / "taken") << "a file";
  EXPECT_FALSE(keep_cached_kernel("k", "contents"));
  const Status status = check_kernel_cache();
  ASSERT_FALSE(status.ok());
  for (const char* words : {"taken", "TENON_CACHE_DIR", "compiles them again"})
    EXPECT_NE(status.error().message.find(words), std::string::npos) << status.error().message;
  setenv("TENON_CACHE_DIR", "", 1);
  EXPECT_TRUE(check_kernel_cache().ok());
}

// Processes that compile the same at the same time.
TEST_F(KernelCache, ServesSeveralProcesses) {
  constexpr int kProcesses = 4, kTimes = 200;
  const auto contents = [](int process) {
    return std::string(50000 + static_cast<size_t>(process) * 1000,
                       static_cast<char>('a' + process));
  };
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    bool good = true;
    for (int i = 0; i < kTimes && good; ++i) {
      good = keep_cached_kernel("k", contents(process));
      const auto found = find_cached_kernel("k");
      good = good && found.has_value() && *found == contents((*found)[0] - 'a');
    }
    _exit(good ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  // Nothing else is left behind.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "kernels"), {}), 1);
}

TEST_F(KernelCache, CompilesOnceAndReportsErrors) {
  if (!load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC: " << load_nvrtc().error().message;
  const DeviceCode code =
      code_of("#include \"b.cuh\"\nextern \"C\" __global__ void f(int* x) { *x = VALUE; }");
  const auto first = compile_device_code(code, 75);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(first->substr(0, 4),
            "\x7f"
            "ELF");
  EXPECT_EQ(find_cached_kernel(device_code_hash(code, 75, (*load_nvrtc())->version)), *first);
  const auto wrong = compile_device_code(code_of("this is no code"), 75);
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("test.cu"), std::string::npos);
}

TEST(DeviceCodeHash, CodeOfAFamilySaysWhatItIsFor) {
  const DeviceCode code = code_of("int x;");
  const CodeTarget a100 = family_target(80, 80), a10 = family_target(80, 86),
                   orin = family_target(80, 87), h100 = family_target(80, 90),
                   later = family_target(80, 120);
  EXPECT_EQ(source_hash(code, a100), source_hash(code, a10));
  EXPECT_EQ(source_hash(code, orin), source_hash(code, later));
  for (const CodeTarget& target : family_targets(80)) {
    const std::string source = source_hash(code, target);
    EXPECT_NE(source, source_hash(code, target.capability));
    const bool runs[] = {is_for(source, a100), is_for(source, h100), is_for(source, later)};
    EXPECT_EQ(std::ranges::count(runs, true), 1) << source;
    EXPECT_TRUE(is_for(source, target.capability)) << "a plan of one GPU has code for it alone";
  }
}

TEST_F(KernelCache, CodeOfAFamilyIsMachineCodeOfEachGenerationAndAssembly) {
  if (!load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC: " << load_nvrtc().error().message;
  const DeviceCode code = code_of("extern \"C\" __global__ void f(int* x) { *x = 3; }");
  CodeLibrary library(CodeLibrary::Use::kCollect);
  const Status collected = collect_device_code(code, family_target(80, 90), library);
  ASSERT_TRUE(collected.ok()) << collected.error().message;
  std::string kinds;
  library.for_each([&](const std::string& source, const CodeLibrary::Code& one) {
    const bool is_machine_code = one.text().starts_with("\177ELF");
    EXPECT_EQ(is_machine_code, one.text().find(".target sm_80") == std::string_view::npos);
    kinds += source.substr(source.find('.')) + (is_machine_code ? " machine code" : " assembly");
  });
  for (const char* kind : {".sm_80 machine code", ".sm_90 machine code", ".compute_80 assembly"})
    EXPECT_NE(kinds.find(kind), std::string::npos) << kinds;
}

TEST_F(KernelCache, ThreadsThatCollectOneCodeCompileItOnce) {
  if (!load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC: " << load_nvrtc().error().message;
  const DeviceCode code = code_of("extern \"C\" __global__ void g(int* x) { *x = 4; }");
  CodeLibrary library(CodeLibrary::Use::kCollect);
  const int64_t before = compiler_work().compiled;
  constexpr size_t kThreads = 8;
  for_each_parallel(kThreads, kThreads,
                    [&](size_t) { EXPECT_TRUE(collect_device_code(code, 90, library).ok()); });
  EXPECT_EQ(compiler_work().compiled - before, 1);
  EXPECT_EQ(library.size(), 1u);
}

TEST_F(KernelCache, GivesWhatItHasWhereThereIsNoCompiler) {
  if (!load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC: " << load_nvrtc().error().message;
  const Result<const Nvrtc*> missing = unsupported("no compiler here");
  const DeviceCode code = code_of("extern \"C\" __global__ void f(int* x) { *x = 3; }");
  const auto never = compile_device_code(code, 75, missing);
  ASSERT_FALSE(never.ok());
  EXPECT_NE(never.error().message.find("no compiler here"), std::string::npos);
  const auto compiled = compile_device_code(code, 75);
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  const auto cached = compile_device_code(code, 75, missing);
  ASSERT_TRUE(cached.ok()) << cached.error().message;
  EXPECT_EQ(*cached, *compiled);
  EXPECT_FALSE(compile_device_code(code, 80, missing).ok());
}

TEST(NvrtcCopies, CompilersThatAreMuchInUseAreCopiedAndGiveTheSame) {
  if (!load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC: " << load_nvrtc().error().message;
  const Nvrtc& opened = **load_nvrtc();
  std::vector<std::unique_ptr<NvrtcLoan>> loans;
  std::map<decltype(opened.nvrtcVersion), int> uses;
  for (int i = 0; i < 20; ++i) {
    loans.push_back(std::make_unique<NvrtcLoan>(opened));
    ++uses[loans.back()->nvrtc().nvrtcVersion];
    EXPECT_EQ(loans.back()->nvrtc().version, opened.version);
  }
  EXPECT_EQ(loans.front()->nvrtc().nvrtcVersion, opened.nvrtcVersion);
  EXPECT_EQ(uses.size(), 4u);
  for (const auto& [function, count] : uses) EXPECT_EQ(count, 5);
  ASSERT_NE(loans.back()->nvrtc().nvrtcVersion, opened.nvrtcVersion);
  loans.pop_back();  // Its copy is the one in least use now.
  setenv("TENON_CACHE_DIR", "", 1);
  const DeviceCode code = code_of("extern \"C\" __global__ void f(float* x) { *x = sqrtf(*x); }");
  const auto by_a_copy = compile_device_code(code, 75);
  loans.clear();
  const auto by_the_first = compile_device_code(code, 75);
  ASSERT_TRUE(by_a_copy.ok()) << by_a_copy.error().message;
  ASSERT_TRUE(by_the_first.ok()) << by_the_first.error().message;
  EXPECT_EQ(*by_a_copy, *by_the_first);
}

TEST_F(KernelCache, WhatOnlyWarnsOfADefectDoesNotCompile) {
  if (!load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC: " << load_nvrtc().error().message;
  for (const char* body : {"if (x > 0) return 1;", "int unset; return unset;"}) {
    const auto code = compile_device_code(
        code_of(fmt::format("__device__ int f(int x) {{ {} }}\n"
                            "extern \"C\" __global__ void g(int* x) {{ *x = f(*x); }}",
                            body)),
        75);
    EXPECT_FALSE(code.ok()) << body;
  }
}

TEST(Cudnn, RefusesVersionsWithKnownErrors) {
  for (const size_t refused : {91000, 91001, 91400}) EXPECT_NE(refused_cudnn(refused), nullptr);
  for (const size_t used : {90999, 91002, 91399, 91401, 91900})
    EXPECT_EQ(refused_cudnn(used), nullptr);
}

TEST(SharedLibrary, SaysWhatIsMissingAndWhatToTry) {
  const auto library =
      SharedLibrary::open("cuDNN", {"libnot_there.so.9"}, "install it, or say where it is");
  ASSERT_FALSE(library.ok());
  for (const char* words :
       {"cuDNN cannot be used", "install it, or say where it is", "libnot_there.so.9"})
    EXPECT_NE(library.error().message.find(words), std::string::npos) << library.error().message;
}

TEST(SharedLibrary, AVersionThatIsRefusedIsNamed) {
  const auto library = SharedLibrary::open("a library", {"libc.so.6"}, "use another one",
                                           [](const SharedLibrary& found) -> Status {
                                             return unsupported("{} is too old", found.path());
                                           });
  ASSERT_FALSE(library.ok());
  EXPECT_NE(library.error().message.find("libc.so.6 is too old"), std::string::npos);
}

}  // namespace
}  // namespace tenon::cuda

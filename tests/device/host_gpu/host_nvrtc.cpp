// libnvrtc of a GPU that is the host: kernels' text becomes a shared library by the host's
// compiler, which the driver of tests/device/fake_driver runs. Instructions that it does not know,
// and clusters of blocks, fail when a kernel comes to them.
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Program {
  std::string text, log, binary;
  std::map<std::string, std::string> headers;
};

/// An instruction by its begin, and a function of assembly.h.
struct Instruction {
  std::string_view begin, function;
};
constexpr Instruction kInstructions[] = {
    {"cvt.f32.f16", "f32_of_f16"},
    {R"({\n.reg .f16 )", "f32_of_pair"},
    {"cvt.rn.f16.f32", "f16_of_f32"},
    {"cvt.rn.bf16.f32", "bf16_of_f32"},
    {"cvt.rn.f16x2.f32", "pair_of_f32"},
    {"cvt.rn.satfinite.f16x2.f32", "pair_of_f32"},
    {"max.NaN.f32", "larger"},
    {"ex2.approx", "power_of_2"},
    {"rcp.approx", "inverse"},
    {"tanh.approx.f32", "hyperbolic"},
    {"fma.rn.ftz.sat", "limited_sum"},
    {"lop3.b32", "bits_by_table"},
    {"redux.sync.max.u32", "most_of_warp"},
    {"ld.param.", "parameter"},
    {"mov.u32 %0, %%smid", "multiprocessor"},
    {"prefetch.", "nothing"},
    {"griddepcontrol.", "nothing"},
    {"fence.", "nothing"},
    {"cp.async.commit_group", "nothing"},
    {"cp.async.wait_", "nothing"},
    {"cp.async.cg.shared.global [%0], [%1], 16;", "copy_16"},
    {"cp.async.cg.shared.global [%0], [%1], 16, %2", "copy_of_16"},
    {"cp.async.ca.shared.global [%0], [%1], 16, %2", "copy_of_16"},
    {"cp.async.ca.shared.global [%0], [%1], %2, %3", "copy_of"},
    {"cp.async.ca.shared.global [%0], [%1], %2", "copy"},
    {"st.shared.v4.u32", "store<4, unsigned>"},
    {"st.shared.v2.u32", "store<2, unsigned>"},
    {"st.shared.u32", "store<1, unsigned>"},
    {"st.shared.u8", "store<1, unsigned char>"},
    {"ld.shared.v4.f32", "load_shared"},
    {"ld.global.v4.u32", "load_four"},
    {"ld.global.nc.v4.u32", "load_four"},
    {"ld.global.v2.u32", "load_two"},
    {"ldmatrix.sync.aligned.m8n8.x4", "load_matrices"},
    {"mma.sync.aligned.m16n8k16.row.col.f32", "multiply"},
    {"mma.sync.aligned.m16n8k32.row.col.s32", "multiply_bytes"},
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Behind the literal that begins at `at`.
size_t end_of_literal(std::string_view text, size_t at) {
  for (++at; text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at + 1;
}

/// The text between a parenthesis and the one that closes it, split at colons; `at` is moved
/// behind it.
std::vector<std::string> parts_of(std::string_view text, size_t& at) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (++at; depth > 0 || text[at] != ')';) {
    const char c = text[at];
    if (c == '"') {
      const size_t end = end_of_literal(text, at);
      parts.back() += text.substr(at, end - at);
      at = end;
      continue;
    }
    depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    if (c == ':' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
    ++at;
  }
  ++at;
  return parts;
}

/// The expressions of operands: `"=r"(first), "r"(second)`.
std::string operands_of(std::string_view part) {
  std::string operands;
  for (size_t at = 0; (at = part.find('"', at)) != std::string_view::npos;) {
    at = part.find('(', end_of_literal(part, at));
    const size_t begin = at;
    for (int depth = 0; at < part.size(); ++at) {
      depth += part[at] == '(' ? 1 : part[at] == ')' ? -1 : 0;
      if (depth == 0) break;
    }
    operands += ", ";
    operands += part.substr(begin, ++at - begin);
  }
  return operands;
}

/// An asm statement as a call.
std::string call_of(const std::vector<std::string>& parts) {
  const size_t quote = parts[0].find('"');
  const std::string_view text = std::string_view(parts[0]).substr(quote + 1);
  std::string_view function = text.starts_with('"') ? "nothing" : "unknown";
  for (const Instruction& known : kInstructions)
    if (text.starts_with(known.begin)) {
      function = known.function;
      break;
    }
  std::string call = "host::";
  call.append(function).append("(").append(parts[0]);
  for (size_t i = 1; i < std::min<size_t>(parts.size(), 3); ++i) call += operands_of(parts[i]);
  return call + ")";
}

/// Behind `asm` or `asm volatile` at a place, if that is there, at its parenthesis.
size_t end_of_asm(std::string_view text, size_t at) {
  constexpr std::string_view kAsm = "asm", kVolatile = "volatile";
  if (!text.substr(at).starts_with(kAsm) || (at > 0 && is_word(text[at - 1]))) return 0;
  at += kAsm.size();
  while (text[at] == ' ') ++at;
  if (text.substr(at).starts_with(kVolatile)) at += kVolatile.size();
  while (std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
  return text[at] == '(' ? at : 0;
}

std::string without_asm(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (text.substr(at).starts_with("//"))
      end = std::min(text.find('\n', at), text.size());
    else if (text[at] == '"')
      end = end_of_literal(text, at);
    else if (size_t open = end_of_asm(text, at); open != 0) {
      result += call_of(parts_of(text, open));
      at = open;
      continue;
    }
    result += text.substr(at, end - at);
    at = end;
  }
  return result;
}

std::string with_headers(std::string text, const std::map<std::string, std::string>& headers) {
  for (const auto& [name, header] : headers) {
    const std::string line = "#include \"" + name + "\"";
    for (size_t at = 0; (at = text.find(line)) != std::string::npos;)
      text.replace(at, line.size(), with_headers(header, headers));
  }
  return text;
}

/// A function for each kernel, by which the driver launches it.
std::string launches_of(const std::string& text) {
  static const std::regex kKernel(
      R"(extern\s+"C"\s+__global__\s+void\s+(?:__launch_bounds__\([^;{]*?\)\s+)?(\w+)\()");
  std::string launches;
  for (auto found = std::sregex_iterator(text.begin(), text.end(), kKernel);
       found != std::sregex_iterator(); ++found)
    launches += "extern \"C\" const char* host_launch_" + found->str(1) +
                "(const host::Grid& grid, void** given) { return host::launch(grid, given, " +
                found->str(1) + "); }\n";
  return launches;
}

std::string source_of(const Program& program, int architecture) {
  static const std::regex kShared(
      R"(extern\s+__shared__\s+(?:__align__\(\d+\)\s*)?([\w ]+?)\s+(\w+)\[\])");
  const std::string text =
      std::regex_replace(without_asm(with_headers(program.text, program.headers)), kShared,
                         "$1* const $2 = reinterpret_cast<$1*>(host::shared_memory)");
  return "#include \"" HOST_HEADERS "/functions.h\"\n#define __CUDA_ARCH__ " +
         std::to_string(architecture) + "\n" + text + "\n" + launches_of(text);
}

std::string contents_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

bool compile(Program& program, int architecture) {
  static std::atomic<int> number = 0;
  const std::string folder = std::filesystem::temp_directory_path();
  const std::string base =
      folder + "/host_kernel." + std::to_string(getpid()) + "." + std::to_string(number++);
  std::ofstream(base + ".cpp") << source_of(program, architecture);
  const std::string command =
      HOST_COMPILER " -std=c++20 -O1 -fno-strict-aliasing -ffp-contract=off -w -shared -fPIC -o " +
      base + ".so " + base + ".cpp > " + base + ".log 2>&1";
  const bool compiled = std::system(command.c_str()) == 0;
  program.log = contents_of(base + ".log");
  if (compiled) program.binary = contents_of(base + ".so");
  // TENON_TEST_KEEP leaves the text.
  for (const char* end : {".so", ".log", ".cpp"})
    if (std::getenv("TENON_TEST_KEEP") == nullptr) std::filesystem::remove(base + end);
  return compiled;
}

/// Of "--gpu-architecture=sm_80".
int architecture_of(int count, const char* const* options) {
  for (int i = 0; i < count; ++i)
    if (std::string_view(options[i]).starts_with("--gpu-architecture="))
      return std::atoi(std::strchr(options[i], '_') + 1) * 10;
  return 800;
}

/// Of all that code follows from, so that caches of kernels keep no older code.
int version() {
  std::string all = HOST_COMPILER;
  for (const char* file : {"block.h", "assembly.h", "functions.h", "host_nvrtc.cpp"})
    all += contents_of(std::string(HOST_HEADERS "/") + file);
  return static_cast<int>(std::hash<std::string>()(all) % 1000000);
}

int take(const std::string& text, char* to) {
  std::memcpy(to, text.c_str(), text.size());
  return 0;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int nvrtcVersion(int* major, int* minor) {
  *major = 13, *minor = version();
  return 0;
}
const char* nvrtcGetErrorString(int) {
  return "the host's compiler";
}
int nvrtcCreateProgram(Program** program, const char* text, const char*, int count,
                       const char* const* texts, const char* const* names) {
  *program = new Program{text, {}, {}, {}};
  for (int i = 0; i < count; ++i) (*program)->headers[names[i]] = texts[i];
  return 0;
}
int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return 0;
}
int nvrtcGetNumSupportedArchs(int* count) {
  *count = 4;
  return 0;
}
int nvrtcGetSupportedArchs(int* known) {
  known[0] = 75, known[1] = 80, known[2] = 89, known[3] = 90;
  return 0;
}
int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  return compile(*program, architecture_of(count, options)) ? 0 : 6;
}
int nvrtcGetProgramLogSize(Program* program, size_t* size) {
  *size = program->log.size();
  return 0;
}
int nvrtcGetProgramLog(Program* program, char* to) {
  return take(program->log, to);
}
int nvrtcGetCUBINSize(Program* program, size_t* size) {
  *size = program->binary.size();
  return 0;
}
int nvrtcGetCUBIN(Program* program, char* to) {
  return take(program->binary, to);
}
int nvrtcGetPTXSize(Program* program, size_t* size) {
  return nvrtcGetCUBINSize(program, size);
}
int nvrtcGetPTX(Program* program, char* to) {
  return take(program->binary, to);
}
}
#pragma GCC visibility pop

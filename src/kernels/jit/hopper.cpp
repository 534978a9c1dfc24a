#include "kernels/jit/hopper.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon {
namespace {

/// Numbers from `first` on, each between two texts. By hand: there are hundreds in a kernel, which
/// a new shape waits for.
std::string listed(std::string_view before, int first, int count, std::string_view behind) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    text += before;
    text += std::to_string(first + i);
    text += behind;
  }
  return text;
}

/// "%0, %1, ..." from `first` on.
std::string places(int first, int count) {
  return listed("%", first, count, "");
}

/// One operand for each element of an array.
std::string each(std::string_view constraint, std::string_view array, int count) {
  std::string before = "\"";
  before += constraint;
  before += "\"(";
  before += array;
  before += '[';
  return listed(before, 0, count, "])");
}

}  // namespace

void add_group_product(KernelCode& code, std::string_view name, const GroupProduct& p) {
  const int sums = p.columns / 2, a = p.a_in_registers ? 4 : 1;
  const std::string left =
      p.a_in_registers ? fmt::format("{{{}}}", places(sums, 4)) : fmt::format("%{}", sums);
  const int a_turned = p.a_by_columns ? 1 : 0, b_turned = p.b_by_columns ? 1 : 0;
  const std::string orders =
      p.a_in_registers ? fmt::format("{}", b_turned) : fmt::format("{}, {}", a_turned, b_turned);
  const char* type = p.bf16 ? "bf16" : "f16";
  code.text(fmt::format(
      "__device__ inline void {}(float (&d)[{}], {}, u64 b, int keep) {{\n"
      "  asm volatile(\"{{\\n.reg .pred keep;\\nsetp.ne.b32 keep, %{}, 0;\\n\"\n"
      "    \"wgmma.mma_async.sync.aligned.m64n{}k16.f32.{}.{} {{{}}}, {}, %{}, keep, 1, 1, "
      "{};\\n}}\"\n    : {}\n    : {}, \"l\"(b), \"r\"(keep));\n}}\n",
      name, sums, p.a_in_registers ? "const u32 (&a)[4]" : "u64 a", sums + a + 1, p.columns, type,
      type, places(0, sums), left, sums + a, orders, each("+f", "d", sums),
      p.a_in_registers ? each("r", "a", 4) : std::string("\"l\"(a)")));
}

void add_group_product(KernelCode& code, std::string_view name, const ByteGroupProduct& p) {
  const int sums = p.columns / 2;
  code.text(fmt::format(
      "__device__ inline void {}({} (&d)[{}], u64 a, u64 b, int keep) {{\n"
      "  asm volatile(\"{{\\n.reg .pred keep;\\nsetp.ne.b32 keep, %{}, 0;\\n\"\n"
      "    \"wgmma.mma_async.sync.aligned.m64n{}k32.{}.{}.{} {{{}}}, %{}, %{}, keep{};\\n}}\"\n"
      "    : {}\n    : \"l\"(a), \"l\"(b), \"r\"(keep));\n}}\n",
      name, p.is_integer() ? "int" : "float", sums, sums + 2, p.columns,
      p.is_integer() ? "s32" : "f32", p.a, p.b, places(0, sums), sums, sums + 1,
      p.is_integer() ? "" : ", 1, 1", each(p.is_integer() ? "+r" : "+f", "d", sums)));
}

int64_t GroupShape::computing_registers() const {
  // Each quarter of a multiprocessor has 16384, and takes every fourth warp.
  const int64_t warps = (threads() / 32 * each + 3) / 4;
  const int64_t start = std::min<int64_t>(16384 / 32 / warps / 8 * 8, 255);
  if (!moves) return start;
  return std::min<int64_t>(((groups + 1) * start - fetching_registers()) / groups / 8 * 8, 240);
}

void add_group_shape(KernelCode& code, const GroupShape& shape) {
  code.constant("kGroups", shape.groups);
  code.constant("kBlocksEach", shape.each);
  code.constant("kFetchers", shape.fetchers());
  code.flag("kMovesRegisters", shape.moves);
  code.constant("kFetchingRegisters", shape.fetching_registers());
  code.constant("kComputingRegisters", shape.computing_registers());
}

}  // namespace tenon

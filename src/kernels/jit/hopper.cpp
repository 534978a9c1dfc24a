#include "kernels/jit/hopper.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/jit/text_writers.h"

namespace tenon {
namespace {

/// Numbers from `first` on, each between two texts.
std::string listed(std::string_view before, int first, int count, std::string_view behind) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    text += fmt::format("{}{}{}", before, first + i, behind);
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
  const int64_t numbers[] = {p.columns, p.bf16 ? 1 : 0, p.a_in_registers ? 1 : 0,
                             p.a_by_columns ? 1 : 0, p.b_by_columns ? 1 : 0};
  code.record(TextForm::kGroupProduct, {name}, numbers);
}

void add_group_product(KernelCode& code, std::string_view name, const ByteGroupProduct& p) {
  const int64_t numbers[] = {p.columns, p.a_in_registers ? 1 : 0};
  code.record(TextForm::kByteGroupProduct, {name, p.a, p.b}, numbers);
}

void add_sparse_product(KernelCode& code, std::string_view name, const SparseGroupProduct& p) {
  const int64_t numbers[] = {p.columns, p.bf16 ? 1 : 0};
  code.record(TextForm::kSparseGroupProduct, {name}, numbers);
}

namespace text_writers {

void write_group_product(const TextRecord& record, std::string& text) {
  const GroupProduct p{.columns = static_cast<int>(record.numbers[0]),
                       .bf16 = record.numbers[1] != 0,
                       .a_in_registers = record.numbers[2] != 0,
                       .a_by_columns = record.numbers[3] != 0,
                       .b_by_columns = record.numbers[4] != 0};
  const int sums = p.columns / 2, a = p.a_in_registers ? 4 : 1;
  const std::string left =
      p.a_in_registers ? fmt::format("{{{}}}", places(sums, 4)) : fmt::format("%{}", sums);
  const int a_turned = p.a_by_columns ? 1 : 0, b_turned = p.b_by_columns ? 1 : 0;
  const std::string orders =
      p.a_in_registers ? fmt::format("{}", b_turned) : fmt::format("{}, {}", a_turned, b_turned);
  const char* type = p.bf16 ? "bf16" : "f16";
  text += fmt::format(
      "__device__ inline void {}(float (&d)[{}], {}, u64 b, int keep) {{\n"
      "  asm volatile(\"{{\\n.reg .pred keep;\\nsetp.ne.b32 keep, %{}, 0;\\n\"\n"
      "    \"wgmma.mma_async.sync.aligned.m64n{}k16.f32.{}.{} {{{}}}, {}, %{}, keep, 1, 1, "
      "{};\\n}}\"\n    : {}\n    : {}, \"l\"(b), \"r\"(keep));\n}}\n",
      record.words[0], sums, p.a_in_registers ? "const u32 (&a)[4]" : "u64 a", sums + a + 1,
      p.columns, type, type, places(0, sums), left, sums + a, orders, each("+f", "d", sums),
      p.a_in_registers ? each("r", "a", 4) : std::string("\"l\"(a)"));
}

void write_byte_group_product(const TextRecord& record, std::string& text) {
  const ByteGroupProduct p{static_cast<int>(record.numbers[0]), record.words[1], record.words[2],
                           record.numbers[1] != 0};
  const int sums = p.columns / 2, a = p.a_in_registers ? 4 : 1;
  text += fmt::format(
      "__device__ inline void {}({} (&d)[{}], {}, u64 b, int keep) {{\n"
      "  asm volatile(\"{{\\n.reg .pred keep;\\nsetp.ne.b32 keep, %{}, 0;\\n\"\n"
      "    \"wgmma.mma_async.sync.aligned.m64n{}k32.{}.{}.{} {{{}}}, {}, %{}, keep{};\\n}}\"\n"
      "    : {}\n    : {}, \"l\"(b), \"r\"(keep));\n}}\n",
      record.words[0], p.is_integer() ? "int" : "float", sums,
      p.a_in_registers ? "const u32 (&a)[4]" : "u64 a", sums + a + 1, p.columns,
      p.is_integer() ? "s32" : "f32", p.a, p.b, places(0, sums),
      p.a_in_registers ? fmt::format("{{{}}}", places(sums, 4)) : fmt::format("%{}", sums),
      sums + a, p.is_integer() ? "" : ", 1, 1", each(p.is_integer() ? "+r" : "+f", "d", sums),
      p.a_in_registers ? each("r", "a", 4) : std::string("\"l\"(a)"));
}

void write_sparse_group_product(const TextRecord& record, std::string& text) {
  const auto columns = static_cast<int>(record.numbers[0]);
  const int sums = columns / 2;
  const char* type = record.numbers[1] != 0 ? "bf16" : "f16";
  text += fmt::format(
      "template <int kPair>\n"
      "__device__ inline void {}(float (&d)[{}], u64 a, u64 b, u32 where, int keep) {{\n"
      "  asm volatile(\"{{\\n.reg .pred keep;\\nsetp.ne.b32 keep, %{}, 0;\\n\"\n"
      "    \"wgmma.mma_async.sp.sync.aligned.m64n{}k32.f32.{}.{} {{{}}}, %{}, %{}, %{}, %{}, keep, "
      "1, 1, "
      "0, 0;\\n}}\"\n    : {}\n    : \"l\"(a), \"l\"(b), \"r\"(where), \"n\"(kPair), "
      "\"r\"(keep));\n}}\n",
      record.words[0], sums, sums + 4, columns, type, type, places(0, sums), sums, sums + 1,
      sums + 2, sums + 3, each("+f", "d", sums));
}

void add_group_product_samples(RecordedText& sample) {
  for (int64_t flags = 0; flags < 16; ++flags) {
    const int64_t numbers[] = {16, flags & 1, flags >> 1 & 1, flags >> 2 & 1, flags >> 3 & 1};
    sample.record(TextForm::kGroupProduct, {"name"}, numbers);
  }
  for (int64_t bf16 = 0; bf16 < 2; ++bf16) {
    const int64_t numbers[] = {16, bf16};
    sample.record(TextForm::kSparseGroupProduct, {"name"}, numbers);
  }
  for (const char* type : {"s8", "u8", "e4m3", "e5m2"})
    for (int64_t in_registers = 0; in_registers < 2; ++in_registers) {
      const int64_t numbers[] = {16, in_registers};
      sample.record(TextForm::kByteGroupProduct, {"name", type, type}, numbers);
    }
}

}  // namespace text_writers

int64_t GroupShape::computing_registers() const {
  // Each quarter of a multiprocessor has 16384, and takes every fourth warp.
  const int64_t warps = (threads() / 32 * each + 3) / 4;
  const int64_t start = std::min<int64_t>(16384 / 32 / warps / 8 * 8, 255);
  if (!moves) return start;
  return std::min<int64_t>(((groups + 1) * start - fetching_registers()) / groups / 8 * 8, 240);
}

void add_group_shape(KernelCode& code, const GroupShape& shape) {
  code.constants("kGroups kBlocksEach kFetchers", shape.groups, shape.each, shape.fetchers());
  code.flag("kMovesRegisters", shape.moves);
  code.constant("kFetchingRegisters", shape.fetching_registers());
  code.constant("kComputingRegisters", shape.computing_registers());
}

}  // namespace tenon

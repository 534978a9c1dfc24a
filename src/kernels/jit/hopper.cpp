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

/// A function of 64 rows of sums. `kind`: the instruction's depth and types; `behind`: its operands
/// behind the one that says whether sums are kept.
std::string product_text(std::string_view name, int columns, bool a_in_registers, bool is_integer,
                         std::string_view kind, std::string_view behind) {
  const int sums = columns / 2, a = a_in_registers ? 4 : 1;
  const std::string left =
      a_in_registers ? fmt::format("{{{}}}", places(sums, 4)) : fmt::format("%{}", sums);
  return fmt::format(
      "__device__ inline void {}({} (&d)[{}], {}, u64 b, int keep) {{\n"
      "  asm volatile(\"{{\\n.reg .pred keep;\\nsetp.ne.b32 keep, %{}, 0;\\n\"\n"
      "    \"wgmma.mma_async.sync.aligned.m64n{}{} {{{}}}, {}, %{}, keep{};\\n}}\"\n"
      "    : {}\n    : {}, \"l\"(b), \"r\"(keep));\n}}\n",
      name, is_integer ? "int" : "float", sums, a_in_registers ? "const u32 (&a)[4]" : "u64 a",
      sums + a + 1, columns, kind, places(0, sums), left, sums + a, behind,
      each(is_integer ? "+r" : "+f", "d", sums),
      a_in_registers ? each("r", "a", 4) : std::string("\"l\"(a)"));
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
  const std::string_view type = p.bf16 ? "bf16" : "f16";
  const int a_turned = p.a_by_columns ? 1 : 0, b_turned = p.b_by_columns ? 1 : 0;
  const std::string orders =
      p.a_in_registers ? fmt::format("{}", b_turned) : fmt::format("{}, {}", a_turned, b_turned);
  text += product_text(record.words[0], p.columns, p.a_in_registers, false,
                       fmt::format("k16.f32.{}.{}", type, type), ", 1, 1, " + orders);
}

void write_byte_group_product(const TextRecord& record, std::string& text) {
  const ByteGroupProduct p{static_cast<int>(record.numbers[0]), record.words[1], record.words[2],
                           record.numbers[1] != 0};
  text += product_text(record.words[0], p.columns, p.a_in_registers, p.is_integer(),
                       fmt::format("k32.{}.{}.{}", p.is_integer() ? "s32" : "f32", p.a, p.b),
                       p.is_integer() ? "" : ", 1, 1");
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

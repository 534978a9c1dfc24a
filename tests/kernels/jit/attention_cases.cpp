#include <limits>

#include "kernels/jit/kernel_case.h"

namespace tenon::test {
namespace {

struct Sizes {
  int64_t batch, heads, kv_heads, queries, keys, size, value_size;
};
enum class MaskForm { kNone, kBool, kAdditive, kPerKey };

void add_attention(Cases& cases, DataType type, const Sizes& s, MaskForm mask, CausalMask causal,
                   bool bsnh) {
  Attention op;
  op.causal = causal;
  op.q_bsnh = op.k_bsnh = op.v_bsnh = op.out_bsnh = bsnh;
  op.masked_rows_zero = mask == MaskForm::kBool;
  if (mask == MaskForm::kPerKey) op.softcap = 3;
  if (mask == MaskForm::kAdditive && type == DataType::kFloat32) {
    op.weights_step = 1.0 / 128;
    op.weights_limit = 100;
    op.weight_steps = {"div x 0.01", "round", "mul x 0.01"};
    if (causal == CausalMask::kNone)
      op.masked_steps = {"div x 0.05", "round", "clip -40 87", "mul x 0.05"};
  }
  if (mask == MaskForm::kNone && s.heads == 3) op.score_steps = {"mul x 2", "clip -3 2.5"};
  if (mask == MaskForm::kNone && s.heads == 4) {
    op.weights_step = 1.0 / 256;
    op.weights_limit = 448;
    op.weights_type = DataType::kFloat8E4M3;
  }
  const auto operand = [&](int64_t heads, int64_t length, int64_t size, int seed) {
    return input(random_reals(
        type, bsnh ? Extents{s.batch, length, heads, size} : Extents{s.batch, heads, length, size},
        seed, -2, 2));
  };
  std::vector inputs{operand(s.heads, s.queries, s.size, 1), operand(s.kv_heads, s.keys, s.size, 2),
                     operand(s.kv_heads, s.keys, s.value_size, 3)};
  if (mask == MaskForm::kBool)
    inputs.push_back(
        input(random_integers(DataType::kBool, {s.batch, 1, s.queries, s.keys}, 4, 0, 1)));
  if (mask == MaskForm::kAdditive)
    inputs.push_back(input(random_reals(type, {s.heads, s.queries, s.keys}, 4, -3, 0)));
  if (mask == MaskForm::kPerKey)
    inputs.push_back(input(random_reals(DataType::kFloat32, {s.batch, 1, 1, s.keys}, 4, -3, 0)));
  add(cases, fmt::format("attention {} {}x{}x{}", name_of(type), s.queries, s.keys, s.size),
      std::move(op), inputs)
      .roundings(3);
}

/// Masks that are the lowest number for all keys of some queries, which then weight them equally.
void add_unseen(Cases& cases, DataType type) {
  Tensor mask(DataType::kFloat32, {1, 1, 40, 70});
  for (int64_t i = 0; i < mask.count(); ++i)
    mask.set_from_double(i, i < 20 * 70 || i % 3 == 0 ? std::numeric_limits<float>::lowest() : 0.0);
  const auto operand = [&](int64_t length, int seed) {
    return input(random_reals(type, {1, 2, length, 64}, seed, -2, 2));
  };
  for (const bool per_key : {false, true}) {
    Tensor of_keys(DataType::kFloat32, {1, 1, 1, 70});
    for (int64_t i = 0; i < 70; ++i)
      of_keys.set_from_double(i, std::numeric_limits<float>::lowest());
    std::vector inputs{operand(40, 1), operand(70, 2), operand(70, 3),
                       input(per_key ? of_keys : mask)};
    add(cases, fmt::format("attention {} that sees nothing {}", name_of(type), per_key),
        Attention(), inputs)
        .roundings(3);
  }
}

/// Heads and lengths that fill several tiles of Hopper's kernels, and not the last one.
void add_long(Cases& cases, DataType type) {
  struct Row {
    Sizes s;
    CausalMask causal;
    bool masked;
  };
  for (const Row& row : {Row{{1, 2, 2, 300, 333, 40, 40}, CausalMask::kNone, false},
                         Row{{2, 2, 1, 257, 520, 40, 40}, CausalMask::kNone, true},
                         Row{{1, 2, 2, 200, 260, 80, 80}, CausalMask::kNone, false},
                         Row{{1, 2, 2, 330, 330, 80, 80}, CausalMask::kUpperLeft, false},
                         Row{{1, 2, 2, 384, 384, 64, 64}, CausalMask::kUpperLeft, false},
                         Row{{3, 12, 4, 256, 256, 64, 64}, CausalMask::kUpperLeft, false},
                         Row{{1, 2, 2, 140, 197, 64, 64}, CausalMask::kNone, true},
                         Row{{2, 70, 70, 200, 150, 24, 24}, CausalMask::kUpperLeft, false},
                         Row{{2, 35, 35, 310, 150, 24, 24}, CausalMask::kLowerRight, false},
                         Row{{1, 2, 2, 200, 450, 64, 64}, CausalMask::kLowerRight, true},
                         Row{{1, 1, 1, 300, 150, 40, 40}, CausalMask::kLowerRight, false},
                         Row{{1, 2, 2, 320, 640, 128, 128}, CausalMask::kNone, false}}) {
    const Sizes& s = row.s;
    Attention op;
    op.causal = row.causal;
    op.masked_rows_zero = true;
    std::vector inputs{input(random_reals(type, {s.batch, s.heads, s.queries, s.size}, 1, -2, 2)),
                       input(random_reals(type, {s.batch, s.kv_heads, s.keys, s.size}, 2, -2, 2)),
                       input(random_reals(type, {s.batch, s.kv_heads, s.keys, s.size}, 3, -2, 2))};
    if (row.masked) inputs.push_back(input(random_reals(type, {s.batch, 1, 1, s.keys}, 4, -5, 0)));
    add(cases,
        fmt::format("hopper attention {} {}x{}x{}", name_of(type), s.queries, s.keys, s.size),
        std::move(op), inputs)
        .roundings(3);
  }
}

/// Results that are quantized.
void add_quantized(Cases& cases) {
  struct Row {
    DataType type, to;
    Sizes s;
    double scale;
    int64_t zero;
    bool masked;
  };
  using enum DataType;
  for (const Row& row : {Row{kFloat16, kInt8, {2, 12, 12, 128, 128, 64, 64}, 0.004, 0, true},
                         Row{kFloat16, kUInt8, {1, 2, 2, 197, 197, 64, 64}, 0.005, 119, false},
                         Row{kBFloat16, kInt8, {2, 3, 1, 300, 333, 40, 40}, 0.01, -7, true},
                         Row{kFloat16, kFloat8E4M3, {3, 2, 2, 260, 520, 80, 80}, 0.5, 0, false}}) {
    const Sizes& s = row.s;
    Attention op;
    op.q_bsnh = op.k_bsnh = op.v_bsnh = op.out_bsnh = true;
    std::vector inputs{
        input(random_reals(row.type, {s.batch, s.queries, s.heads, s.size}, 1, -2, 2)),
        input(random_reals(row.type, {s.batch, s.keys, s.kv_heads, s.size}, 2, -2, 2)),
        input(random_reals(row.type, {s.batch, s.keys, s.kv_heads, s.size}, 3, -2, 2))};
    if (row.masked)
      inputs.push_back(input(random_reals(row.type, {s.batch, 1, 1, s.keys}, 4, -5, 0)));
    Tensor scale(kFloat32, {});
    scale.set_from_double(0, row.scale);
    std::vector scaling{constant(std::move(scale))};
    if (row.zero != 0) {
      Tensor zero(row.to, {});
      zero.set_from_int64(0, row.zero);
      scaling.push_back(constant(std::move(zero)));
    }
    Quantize quantize;
    quantize.to = row.to;
    // One unit behind a rounding, and the rounding of the result.
    add(cases,
        fmt::format("hopper attention {} quantized to {} {}x{}x{}", name_of(row.type),
                    name_of(row.to), s.queries, s.keys, s.size),
        std::move(op), inputs)
        .into_op(quantize, scaling)
        .tolerance(is_real(row.to) ? 0.13 : 1);
  }
}

/// An operand of 8 bits.
struct ByteOperand {
  DataType type = DataType::kInt8;
  double scale = 0.02;
  int64_t zero = 0;
};

std::vector<CaseInput> scaling_of(const ByteOperand& operand) {
  Tensor scale(DataType::kFloat32, {});
  scale.set_from_double(0, operand.scale);
  std::vector scaling{constant(std::move(scale))};
  if (operand.zero == 0) return scaling;
  Tensor zero(operand.type, {});
  zero.set_from_int64(0, operand.zero);
  scaling.push_back(constant(std::move(zero)));
  return scaling;
}

std::vector<CaseInput> bytes_of_heads(const ByteOperand& operand, const Extents& extents,
                                      int seed) {
  const bool is_signed = operand.type == DataType::kInt8;
  std::vector all{input(is_real(operand.type)
                            ? random_reals(operand.type, extents, seed, -2, 2)
                            : random_integers(operand.type, extents, seed, is_signed ? -128 : 0,
                                              is_signed ? 127 : 255))};
  for (CaseInput& number : scaling_of(operand)) all.push_back(std::move(number));
  return all;
}

/// Queries, keys and values that are dequantized.
void add_of_bytes(Cases& cases) {
  using enum DataType;
  struct Row {
    DataType type;
    Sizes s;
    ByteOperand q, k, v, out;
    CausalMask causal = CausalMask::kNone;
    bool masked = false, quantizes = true;
  };
  const ByteOperand sums{kInt8, 0.01}, real{kFloat8E4M3, 0.9}, wide{kFloat8E5M2, 1.1};
  const ByteOperand of_zero{kUInt8, 0.02, 121}, from_zero{kUInt8, 0.015}, values{kInt8, 0.02, -9};
  for (const Row& row :
       {Row{kFloat16, {2, 12, 12, 128, 128, 64, 64}, {}, {}, {}, sums},
        Row{kFloat16, {3, 50, 50, 197, 197, 64, 64}, {}, {}, values, sums},
        Row{kFloat16, {2, 12, 4, 256, 256, 64, 64}, {}, {}, {}, sums, CausalMask::kUpperLeft},
        Row{kBFloat16, {2, 3, 1, 300, 333, 48, 32}, {}, from_zero, of_zero, sums},
        Row{kFloat16, {1, 2, 2, 200, 450, 128, 128}, {}, {}, {}, sums, CausalMask::kLowerRight},
        Row{kFloat16, {1, 2, 2, 140, 700, 96, 160}, {}, {}, {}, sums, CausalMask::kNone, true},
        Row{kFloat16, {1, 2, 2, 70, 90, 16, 16}, {}, {}, {}, {}, CausalMask::kNone, true, false},
        Row{kBFloat16,
            {1, 2, 2, 330, 60, 64, 64},
            {},
            {},
            {},
            {},
            CausalMask::kLowerRight,
            false,
            false},
        Row{kFloat16, {2, 12, 12, 128, 128, 64, 64}, real, real, real, {kFloat8E4M3, 0.5}},
        Row{kFloat16,
            {1, 2, 2, 197, 520, 256, 64},
            real,
            wide,
            wide,
            {},
            CausalMask::kNone,
            false,
            false}}) {
    const Sizes& s = row.s;
    Attention op;
    op.causal = row.causal;
    op.masked_rows_zero = true;
    op.q_bsnh = op.k_bsnh = op.v_bsnh = op.out_bsnh = true;
    Dequantize back;
    back.to = row.type;
    auto& c = add(cases,
                  fmt::format("hopper attention of {} {} {} {}x{}x{}", name_of(row.q.type),
                              name_of(row.type), row.quantizes, s.queries, s.keys, s.size),
                  back, bytes_of_heads(row.q, {s.batch, s.queries, s.heads, s.size}, 1));
    Value* k = c.aside(back, bytes_of_heads(row.k, {s.batch, s.keys, s.kv_heads, s.size}, 2));
    Value* v = c.aside(back, bytes_of_heads(row.v, {s.batch, s.keys, s.kv_heads, s.value_size}, 3));
    std::vector<CaseInput> mask;
    if (row.masked)
      mask.push_back(input(random_reals(row.type, {s.batch, 1, 1, s.keys}, 4, -5, 0)));
    c.into_op(std::move(op), {k, v}, std::move(mask)).roundings(3);
    if (!row.quantizes) continue;
    Quantize quantize;
    quantize.to = row.out.type;
    c.into_op(quantize, scaling_of(row.out)).tolerance(is_real(row.out.type) ? 0.13 : 1);
  }
}

/// Scores that rise along the keys by `rise` in all, so that earlier sums must shrink.
void add_rising(Cases& cases, DataType type, double rise) {
  constexpr int64_t kQueries = 150, kKeys = 600, kSize = 64;
  Tensor q = random_reals(type, {1, 1, kQueries, kSize}, 1, 0.75, 1.25);
  Tensor k = random_reals(type, {1, 1, kKeys, kSize}, 2, -0.5, 0.5);
  for (int64_t i = 0; i < k.count(); ++i)
    k.set_from_double(i, k.as_double(i) + rise / 8 * static_cast<double>(i / kSize) / kKeys);
  add(cases, fmt::format("hopper attention {} rising {}", name_of(type), rise), Attention(),
      std::vector{input(std::move(q)), input(std::move(k)),
                  input(random_reals(type, {1, 1, kKeys, kSize}, 3, -2, 2))})
      .roundings(3);
}

/// Masks that hide all keys of some queries and the first 140 of others: with `lowest` they weight
/// them equally, otherwise results are zeros.
void add_hidden(Cases& cases, DataType type, bool lowest) {
  Tensor mask(DataType::kFloat32, {1, 1, 200, 300});
  const double hidden =
      lowest ? std::numeric_limits<float>::lowest() : -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < mask.count(); ++i) {
    const int64_t row = i / 300, key = i % 300;
    const bool hides = row % 5 == 0 || (row % 5 == 1 && key < 140) || key % 7 == 3;
    mask.set_from_double(i, hides ? hidden : -0.01 * static_cast<double>(key % 11));
  }
  Attention op;
  op.masked_rows_zero = true;
  const auto operand = [&](int64_t length, int seed) {
    return input(random_reals(type, {1, 2, length, 40}, seed, -2, 2));
  };
  add(cases, fmt::format("hopper attention {} hidden {}", name_of(type), lowest), std::move(op),
      std::vector{operand(200, 1), operand(300, 2), operand(300, 3), input(std::move(mask))})
      .roundings(3);
}

}  // namespace

Cases attention_cases() {
  const Sizes shapes[] = {{2, 3, 3, 70, 70, 64, 64},   {1, 4, 2, 33, 130, 40, 40},
                          {1, 2, 1, 1, 97, 128, 128},  {2, 2, 2, 128, 128, 32, 32},
                          {1, 2, 2, 20, 20, 72, 24},   {1, 1, 1, 65, 64, 17, 9},
                          {2, 2, 2, 197, 197, 64, 64}, {1, 2, 1, 130, 300, 128, 128}};
  Cases cases;
  int number = 0;
  for (const DataType type : {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16})
    for (const Sizes& s : shapes)
      for (const MaskForm mask :
           {MaskForm::kNone, MaskForm::kBool, MaskForm::kAdditive, MaskForm::kPerKey}) {
        const CausalMask causal = number % 3 == 1   ? CausalMask::kUpperLeft
                                  : number % 3 == 2 ? CausalMask::kLowerRight
                                                    : CausalMask::kNone;
        // Rows without any key give NaN in one case and 0 in the other; the test keeps to common
        // ground.
        add_attention(cases, type, s, mask, s.queries > s.keys ? CausalMask::kNone : causal,
                      ++number % 2 == 0);
      }
  for (const DataType type : {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16})
    add_unseen(cases, type);
  for (const DataType type : {DataType::kFloat16, DataType::kBFloat16}) {
    add_long(cases, type);
    for (const double rise : {-60.0, 4.0, 20.0, 200.0}) add_rising(cases, type, rise);
    for (const bool lowest : {false, true}) add_hidden(cases, type, lowest);
  }
  add_quantized(cases);
  add_of_bytes(cases);
  return cases;
}

}  // namespace tenon::test

#pragma once

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "device/cpu/isa.h"
#include "kernels/gemm/pack.h"

/// Shared by tests of CPU matrix kernels.
namespace tenon::cpu {

/// A tensor of either type; `values` are its contents as float.
struct Buffer {
  ElementType type;
  std::vector<float> values;
  std::vector<char> bytes;

  Buffer(ElementType t, int64_t count, std::mt19937& random) : type(t) {
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    for (int64_t i = 0; i < count; ++i) values.push_back(uniform(random));
    store();
  }
  Buffer(ElementType t, int64_t count, float value) : type(t), values(count, value) { store(); }
  static Buffer poisoned(ElementType t, int64_t count) { return Buffer(t, count, std::nanf("")); }

  /// Rounds `values` to the type and writes them to `bytes`.
  void store() {
    bytes.resize(values.size() * element_size(type));
    for (size_t i = 0; i < values.size(); ++i) {
      if (type == ElementType::bf16) {
        const uint16_t b = float_to_bf16(values[i]);
        values[i] = bf16_to_float(b);
        std::memcpy(bytes.data() + 2 * i, &b, 2);
      } else {
        std::memcpy(bytes.data() + 4 * i, &values[i], 4);
      }
    }
  }
  float at(int64_t i) const {
    float f;
    uint16_t b;
    if (type == ElementType::f32) return std::memcpy(&f, bytes.data() + 4 * i, 4), f;
    return std::memcpy(&b, bytes.data() + 2 * i, 2), bf16_to_float(b);
  }
};

/// Every instruction set that this machine has.
inline std::vector<Isa> available_levels() {
  std::vector<Isa> found;
  for (Isa isa : {Isa::generic, Isa::avx2, Isa::avx512, Isa::avx512_bf16})
    if (capped_isa(isa) == isa) found.push_back(isa);
  return found;
}

inline EpilogueStep make_step(PointwiseFunction f, OperandKind kind = OperandKind::none,
                              ElementType type = ElementType::f32, float alpha = 0,
                              float beta = 0) {
  return {.function = f, .operand = kind, .operand_type = type, .alpha = alpha, .beta = beta};
}

/// Epilogues that between them take every way through the kernels.
inline constexpr int kEpilogues = 9;
inline std::vector<EpilogueStep> sample_epilogue(int which, ElementType out) {
  using F = PointwiseFunction;
  const auto bias = make_step(F::k_add, OperandKind::per_column);
  const auto residual = make_step(F::k_add, OperandKind::full, out);
  switch (which) {
    case 1: return {bias};
    case 2: return {bias, residual, make_step(F::k_relu)};
    case 3: return {bias, make_step(F::k_clip, OperandKind::none, ElementType::f32, -0.5f, 0.75f)};
    case 4: return {bias, make_step(F::k_gelu_erf)};
    case 5: return {bias, make_step(F::k_hard_swish), residual};
    case 6:
      return {make_step(F::k_mul, OperandKind::scalar), make_step(F::k_add, OperandKind::per_row),
              make_step(F::k_atan), make_step(F::k_mul, OperandKind::full, ElementType::bf16)};
    case 7: return {bias, make_step(F::k_hard_swish)};
    case 8: return {bias, make_step(F::k_relu)};
    default: return {};
  }
}

/// The steps of sample_epilogue in double precision.
inline double apply_exactly(const EpilogueStep& s, double x, double y) {
  switch (s.function) {
    case PointwiseFunction::k_add: return x + y;
    case PointwiseFunction::k_mul: return x * y;
    case PointwiseFunction::k_relu: return std::fmax(x, 0.0);
    case PointwiseFunction::k_clip: return std::fmin(std::fmax(x, double(s.alpha)), double(s.beta));
    case PointwiseFunction::k_gelu_erf: return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case PointwiseFunction::k_hard_swish: return x * std::fmin(std::fmax(x / 6 + 0.5, 0.0), 1.0);
    case PointwiseFunction::k_atan: return std::atan(x);
    default: return std::nan("");
  }
}

}  // namespace tenon::cpu

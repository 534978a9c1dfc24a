#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon {

/// How a kernel multiplies: product by product, or by a transform that needs fewer multiplications
/// and whose sums cancel, so that its rounding errors are some times larger: small against the
/// largest numbers of a tensor, not against each.
enum class Algorithm : uint8_t { kPlain, kWinograd, kStrassen };

/// Of a tactic of the CPU, by its row; all others are plain.
Algorithm algorithm_of(std::string_view tactic_name);
/// "plain", "Winograd", "Strassen".
std::string_view name_of(Algorithm algorithm);

/// Liberties that kernels may take with rounding, besides the order of sums.
struct NumericsOptions {
  bool tf32 = false;  ///< Tensor cores may round f32 operands to tf32.
  bool winograd = true, strassen = true;
  /// Floats may be multiplied in parts of bf16, as closely as rounded products are, but that an
  /// infinity becomes no number.
  bool bf16_parts = true;
  /// Sums of 8-bit floats may stay in tensor cores for as long as rounding the operands costs more.
  bool long_float8_sums = true;

  bool allows(Algorithm algorithm) const {
    return algorithm == Algorithm::kPlain ||
           (algorithm == Algorithm::kWinograd ? winograd : strassen);
  }
  /// The same without any of them but TF32, which is a precision of its own.
  NumericsOptions exact() const {
    return {.tf32 = tf32,
            .winograd = false,
            .strassen = false,
            .bf16_parts = false,
            .long_float8_sums = false};
  }
  bool operator==(const NumericsOptions&) const = default;
};

/// Among the settings of a plan whose engines run plain tactics alone.
inline constexpr const char* kNumericsSetting = "numerics";

}  // namespace tenon

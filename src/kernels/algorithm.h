#pragma once

#include <string_view>

#include "kernels/backend.h"

namespace tenon {

/// How a kernel multiplies: product by product, or by a transform that needs fewer multiplications
/// and whose sums cancel, so that its rounding errors are some times larger: small against the
/// largest numbers of a tensor, not against each.
enum class Algorithm : uint8_t { kPlain, kWinograd, kStrassen };

/// Of a tactic's row, by its name. Names of no row are plain.
Algorithm algorithm_of(std::string_view tactic_name);
/// "plain", "Winograd", "Strassen".
std::string_view name_of(Algorithm algorithm);

/// Among the settings of a plan whose engines run plain tactics alone.
inline constexpr const char* kNumericsSetting = "numerics";
/// The backend without tactics that are not plain, which its engines then never run.
Backend with_plain_tactics(Backend backend);
/// Whether it has none.
bool has_plain_tactics(const Backend& backend);

}  // namespace tenon

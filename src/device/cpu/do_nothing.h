#pragma once

namespace tenon::cpu {

/// Where a kernel has no function of its own. Not defined in a header: of such a function the
/// linker might keep the copy that was compiled for AVX-512.
void do_nothing();

}  // namespace tenon::cpu

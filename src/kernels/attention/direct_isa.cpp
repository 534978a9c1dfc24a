#include "kernels/vector_math/isa_vector.h"
// The functions over the vector type come after it.
#include "kernels/attention/direct_body.h"

namespace tenon::cpu {

const DirectFunctions& TENON_OF_ISA(direct_functions)() {
  using Direct = attention_detail::Direct<vector_math::IsaVector>;
  static constexpr DirectFunctions kFunctions{Direct::widen, Direct::score, Direct::add};
  return kFunctions;
}

}  // namespace tenon::cpu

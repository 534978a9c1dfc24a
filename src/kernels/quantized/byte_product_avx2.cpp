#include "kernels/quantized/byte_pairs_avx2.h"
#include "kernels/quantized/byte_product_tiles.h"

namespace tenon::cpu {
namespace {

constexpr int kRows = 2;

void run(const ByteTile& t) {
  run_byte_tile<Pairs>(t, std::make_integer_sequence<int, kRows>());
}

}  // namespace

const ByteKernel kByteKernelAvx2 = {kRows, 1, false, run};

}  // namespace tenon::cpu

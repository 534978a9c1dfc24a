#include "kernels/quantized/byte_product_tiles.h"
#include "kernels/quantized/byte_vnni_avx512.h"

namespace tenon::cpu {
namespace {

constexpr int kRows = 14;

void run(const ByteTile& t) {
  run_byte_tile<Vnni>(t, std::make_integer_sequence<int, kRows>());
}

}  // namespace

const ByteKernel kByteKernelAvx512Vnni = {kRows, 1, false, run};

}  // namespace tenon::cpu

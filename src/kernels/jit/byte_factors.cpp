#include "kernels/jit/byte_factors.h"

#include <algorithm>

namespace tenon {

double ByteFactors::start() const {
  return is_real(type) ? 0 : zero + (type == DataType::kInt8 ? 128 : 0);
}

std::function<std::vector<std::byte>()> byte_factors(const Problem& problem,
                                                     const ByteFactors& factors) {
  const auto number = [&](int input, int64_t i, double otherwise) {
    return input < 0 ? otherwise : problem.input(input).constant->as_double(i);
  };
  std::vector<float> numbers;
  const auto add = [&](int64_t i) {
    const double scale = number(factors.scale, i, 1), bias = number(factors.bias, i, 0);
    numbers.push_back(static_cast<float>(scale / factors.quantum / factors.width()));
    numbers.push_back(
        static_cast<float>((bias / factors.quantum + factors.start()) / factors.width()));
  };
  for (int64_t i = 0; factors.order.empty() && i < factors.columns; ++i) add(i);
  for (const int64_t i : factors.order) add(std::min(i, factors.columns - 1));
  return [numbers = std::move(numbers)] {
    const auto* bytes = reinterpret_cast<const std::byte*>(numbers.data());
    return std::vector<std::byte>(bytes, bytes + numbers.size() * sizeof(float));
  };
}

void add_byte_places(KernelCode& code, DataType type) {
  if (is_real(type)) return;
  code.text(fmt::format("#define BYTE_RANGE 255.0f\n#define BYTE_START {}\n",
                        type == DataType::kInt8 ? "12582784.0f" : "12582912.0f"));
}

}  // namespace tenon

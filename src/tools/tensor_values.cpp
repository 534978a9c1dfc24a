#include <cstring>
#include <random>

#include "base/float_formats.h"
#include "tools/bindings.h"
#include "tools/tensor_words.h"

namespace tenon::tools {
namespace {

using nvinfer1::DataType;

/// The same values in every run and on every machine: the engine's bits, scaled by hand, since the
/// standard's distributions differ between libraries.
class Random {
 public:
  double uniform(double low, double high) {
    return low + (high - low) * (static_cast<double>(bits_()) / 0x1p32);
  }
  int64_t integer(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(bits_() % static_cast<uint64_t>(high - low + 1));
  }

 private:
  std::mt19937 bits_{20240425};
};

template <class T> void store(char* at, int64_t index, T value) {
  std::memcpy(at + index * sizeof(T), &value, sizeof(T));
}

template <class T> T load(const char* at, int64_t index) {
  T value;
  std::memcpy(&value, at + index * sizeof(T), sizeof(T));
  return value;
}

/// Integers are places in tables, masks and choices more often than numbers: 0 and 1 are in all of
/// these.
void store_random(char* at, int64_t i, DataType type, Random& random) {
  switch (type) {
    case DataType::kFLOAT: return store(at, i, static_cast<float>(random.uniform(-1, 1)));
    case DataType::kHALF:
      return store(at, i, f16_from_float(static_cast<float>(random.uniform(-1, 1))));
    case DataType::kBF16:
      return store(at, i, bf16_from_float(static_cast<float>(random.uniform(-1, 1))));
    case DataType::kINT64: return store<int64_t>(at, i, random.integer(0, 1));
    case DataType::kINT32: return store(at, i, static_cast<int32_t>(random.integer(0, 1)));
    case DataType::kINT8: return store(at, i, static_cast<int8_t>(random.integer(-128, 127)));
    case DataType::kBOOL: return store(at, i, static_cast<uint8_t>(random.integer(0, 1)));
    default: return store(at, i, static_cast<uint8_t>(random.integer(0, 255)));
  }
}

double value_at(const char* at, int64_t i, DataType type) {
  switch (type) {
    case DataType::kFLOAT: return load<float>(at, i);
    case DataType::kHALF: return f16_to_float(load<uint16_t>(at, i));
    case DataType::kBF16: return bf16_to_float(load<uint16_t>(at, i));
    case DataType::kINT64: return static_cast<double>(load<int64_t>(at, i));
    case DataType::kINT32: return load<int32_t>(at, i);
    case DataType::kINT8: return load<int8_t>(at, i);
    default: return load<uint8_t>(at, i);
  }
}

bool is_floating_point(DataType type) {
  return type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kBF16;
}

}  // namespace

void fill_random(Binding& binding) {
  Random random;
  const int64_t count =
      static_cast<int64_t>(binding.memory.size()) * 8 / std::max(type_bits(binding.type), 8);
  for (int64_t i = 0; i < count; ++i) store_random(binding.memory.data(), i, binding.type, random);
}

OutputValues Binding::values() const {
  OutputValues output{name, dims_text(dims), {}, !is_floating_point(type)};
  const int64_t count = static_cast<int64_t>(memory.size()) * 8 / std::max(type_bits(type), 8);
  output.values.reserve(count);
  for (int64_t i = 0; i < count; ++i) output.values.push_back(value_at(memory.data(), i, type));
  if (type == DataType::kINT64)
    for (int64_t i = 0; i < count; ++i) output.wide.push_back(load<int64_t>(memory.data(), i));
  return output;
}

}  // namespace tenon::tools

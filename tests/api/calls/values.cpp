#include "values.h"

namespace api_calls {
namespace {

Dims extents(int32_t count, int64_t value) {
  Dims dims{};
  dims.nbDims = count;
  std::fill(std::begin(dims.d), std::end(dims.d), value);
  return dims;
}

}  // namespace

std::vector<const char*> Values::objects(Tag<const char*>) const {
  static const std::string endless(5000, 'n');
  return {"x", "w", nullptr, "", "no such name", "\xff\xfe\n", endless.c_str()};
}

std::vector<Dims> Values::objects(Tag<Dims>) const {
  std::vector<Dims> all;
  for (const Dims* dims : objects(Tag<const Dims*>())) all.push_back(*dims);
  return all;
}

std::vector<const Dims*> Values::objects(Tag<const Dims*>) const {
  static const Dims all[] = {extents(2, 2),
                             extents(0, 0),
                             extents(4, 1),
                             extents(2, -1),
                             extents(2, 0),
                             extents(8, 1),
                             extents(-1, 0),
                             extents(9, 1),
                             extents(INT_MAX, 1),
                             extents(2, INT64_MAX),
                             extents(8, int64_t{1} << 40),
                             extents(2, INT64_MIN)};
  std::vector<const Dims*> pointers;
  for (const Dims& dims : all) pointers.push_back(&dims);
  return pointers;
}

std::vector<Weights> Values::objects(Tag<Weights>) const {
  static const std::vector<float> values(1024, 0.5F);
  const void* data = values.data();
  return {{DataType::kFLOAT, data, 16},          {DataType::kFLOAT, nullptr, 0},
          {DataType::kFLOAT, nullptr, 16},       {DataType::kFLOAT, data, -1},
          {DataType::kFLOAT, data, 3},           {DataType::kINT8, data, 16},
          {DataType::kINT64, data, 16},          {DataType::kINT4, data, 16},
          {static_cast<DataType>(99), data, 16}, {static_cast<DataType>(-1), data, 16},
          {DataType::kFLOAT, nullptr, INT64_MAX}};
}

std::vector<Permutation> Values::objects(Tag<Permutation>) const {
  return {{{1, 0, 2, 3, 4, 5, 6, 7}},
          {{0, 0, 0, 0, 0, 0, 0, 0}},
          {{-1, INT_MAX, 2, 3, 4, 5, 6, INT_MIN}}};
}

std::vector<const char* const*> Values::objects(Tag<const char* const*>) const {
  static const char* const names[64] = {"x", nullptr, "/none"};
  return {names, nullptr};
}

std::vector<void* const*> Values::objects(Tag<void* const*>) const {
  static std::array<void*, 64> given, none{};
  given.fill(world_.memory());
  return {given.data(), none.data(), nullptr};
}

std::vector<ITensor* const*> Values::objects(Tag<ITensor* const*>) const {
  static std::array<ITensor*, 64> given, foreign, none{};
  given.fill(world_.tensor);
  foreign.fill(world_.foreign_tensor);
  return {given.data(), none.data(), foreign.data(), nullptr};
}

}  // namespace api_calls

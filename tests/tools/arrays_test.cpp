#include "tools/arrays.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "tools/exports.h"

namespace tenon::tools {
namespace {

/// The bytes of an .npy file, version 1.
template <class T>
std::string npy(const std::string& type, const std::string& shape, const std::vector<T>& values,
                const char* fortran = "False") {
  const std::string header =
      "{'descr': '" + type + "', 'fortran_order': " + fortran + ", 'shape': (" + shape + "), }\n";
  std::string bytes = "\x93NUMPY\x01";
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 255U);
  bytes += static_cast<char>(header.size() >> 8U);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return bytes;
}

Result<std::vector<NumpyArray>> read(const std::string& bytes) {
  const std::string path = testing::TempDir() + "/tenon_arrays_test.npy";
  EXPECT_TRUE(write_file(path, bytes).ok());
  auto arrays = read_arrays(path);
  std::filesystem::remove(path);
  return arrays;
}

std::string error_of(const std::string& bytes) {
  const auto arrays = read(bytes);
  return arrays.ok() ? std::string() : arrays.error().message;
}

TEST(Arrays, NumbersComeAsTheyAreOrWider) {
  const auto floats = read(npy<float>("<f4", "2, 3", {1, 2, 3, 4, 5, 6}));
  ASSERT_TRUE(floats.ok()) << floats.error().message;
  const NumpyArray& array = (*floats)[0];
  EXPECT_EQ(array.type, nvinfer1::DataType::kFLOAT);
  EXPECT_EQ(array.dims.nbDims, 2);
  EXPECT_EQ(array.dims.d[1], 3);
  EXPECT_EQ(array.bytes.size(), 24);
  const auto doubles = read(npy<double>("<f8", "2,", {0.5, -3}));
  ASSERT_TRUE(doubles.ok());
  float second = 0;
  std::memcpy(&second, (*doubles)[0].bytes.data() + 4, 4);
  EXPECT_EQ(second, -3);
  EXPECT_EQ(read(npy<int64_t>("<i8", "1,", {7})).value()[0].type, nvinfer1::DataType::kINT64);
}

TEST(Arrays, WhatCannotBeReadIsRefused) {
  EXPECT_NE(error_of("nothing").find("no .npy data"), std::string::npos);
  EXPECT_NE(error_of(npy<float>("<f4", "2, 3", {1, 2})).find("cut short"), std::string::npos);
  EXPECT_NE(error_of(npy<float>("<f4", "1,", {1}, "True")).find("Fortran"), std::string::npos);
  EXPECT_NE(error_of(npy<float>(">f4", "1,", {1})).find("byte order"), std::string::npos);
  EXPECT_NE(error_of(npy<float>("<c8", "1,", {1, 2})).find("type 'c8'"), std::string::npos);
  EXPECT_NE(error_of("PK\x03\x04 and no more").find("no .npz file"), std::string::npos);
}

/// The product of the extents wraps around to a few bytes.
TEST(Arrays, AbsurdExtentsAreRefused) {
  EXPECT_NE(error_of(npy<float>("<f4", "4611686018427387904, 4, 4", {1, 2})).find("cut short"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon::tools

#include "quantizer/calibration_cache.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(CalibrationCache, TextIsTensorRTs) {
  const CalibrationCache cache{"EntropyCalibration2", {{"input", 127.0F}, {"a: b", 254.0F}}};
  EXPECT_EQ(cache.text(), "TRT-101600-EntropyCalibration2\na: b: 40000000\ninput: 3f800000\n");
  const auto again = CalibrationCache::parse(cache.text());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->algorithm, cache.algorithm);
  EXPECT_EQ(again->ranges, cache.ranges);
}

TEST(CalibrationCache, OtherVersionsAndLineEndsAreRead) {
  const auto cache = CalibrationCache::parse("TRT-8601-MinMaxCalibration\r\nx: 3c010a14\r\n\r\n");
  ASSERT_TRUE(cache.ok());
  EXPECT_EQ(cache->algorithm, "MinMaxCalibration");
  EXPECT_NEAR(cache->ranges.at("x"), 1, 1e-3);
}

TEST(CalibrationCache, WhatIsNoneIsRefusedByLine) {
  const auto message = [](const char* text) {
    const auto cache = CalibrationCache::parse(text);
    return cache.ok() ? std::string() : cache.error().message;
  };
  EXPECT_NE(message("").find("empty"), std::string::npos);
  EXPECT_NE(message("x: 3c010a14\n").find("line 1"), std::string::npos);
  EXPECT_NE(message("TRT-8601-MinMaxCalibration\nx 3c010a14\n").find("line 2"), std::string::npos);
  EXPECT_NE(message("TRT-8601-MinMaxCalibration\nx: 3c010a1g\n").find("line 2"), std::string::npos);
  EXPECT_NE(message("TRT-8601-MinMaxCalibration\nx: bf800000\n").find("line 2"), std::string::npos);
}

}  // namespace
}  // namespace tenon

// Lengths, positions and bounds that come at run time and lie out of range: on the CPU one error or
// the right result; on a GPU, which is not waited for, a result of elements that there are.

#include "harness.h"

namespace api_test {
namespace {

using F = std::vector<float>;
using I = std::vector<int64_t>;

constexpr int64_t kFar[] = {INT64_MAX, INT64_MIN, int64_t{1} << 40, -(int64_t{1} << 40)};

F ramp(size_t count) {
  F values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i + 1);
  return values;
}

/// Runs with numbers `n`; on the CPU that is one error with those words.
void expect_bounded(Session& session, const Array& x, const I& n, const std::string& words,
                    const F& on_gpu) {
  const auto outputs =
      session.try_run({{"x", x}, {"n", integers({static_cast<int64_t>(n.size())}, n)}});
  if (gpu() == nullptr) {
    EXPECT_FALSE(outputs.has_value()) << n[0];
    EXPECT_EQ(session.log.errors.size(), 1u) << session.log.text();
    EXPECT_TRUE(session.log.complained(words));
    return;
  }
  ASSERT_TRUE(outputs.has_value()) << session.log.text();
  EXPECT_EQ(outputs->at("y").values<float>(), on_gpu) << n[0];
}

TEST(Bounds, LengthsOfSequences) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {3, 2});
  ITensor* n = session.input("n", DataType::kINT64, {2});
  session.output(session.network->addReverseSequence(*x, *n)->getOutput(0), "y");
  const Array values = floats({3, 2}, ramp(6));
  EXPECT_EQ(session.run({{"x", values}, {"n", integers({2}, {3, 0})}})["y"].values<float>(),
            (F{5, 2, 3, 4, 1, 6}));
  for (const int64_t length : {int64_t{4}, kFar[0], kFar[2]})
    expect_bounded(session, values, {length, 1}, "is outside [0, 3]", {5, 2, 3, 4, 1, 6});
  for (const int64_t length : {int64_t{-1}, kFar[1], kFar[3]})
    expect_bounded(session, values, {2, length}, "is outside [0, 3]", {3, 2, 1, 4, 5, 6});
}

TEST(Bounds, PositionsOfRotaryEmbeddings) {
  Session session;
  ITensor* x = session.input("x", DataType::kFLOAT, {1, 1, 2, 2});
  ITensor* n = session.input("n", DataType::kINT64, {2});
  // Row r of the caches multiplies by r + 1.
  auto* layer = session.network->addRotaryEmbedding(*x, *session.constant({3, 1}, {1, 2, 3}),
                                                    *session.constant({3, 1}, {0, 0, 0}), false, 0);
  auto* positions = session.network->addShuffle(*n);
  positions->setReshapeDimensions(dims({1, 2}));
  layer->setInput(3, *positions->getOutput(0));
  session.output(layer->getOutput(0), "y");
  const Array values = floats({1, 1, 2, 2}, ramp(4));
  EXPECT_EQ(session.run({{"x", values}, {"n", integers({2}, {2, 1})}})["y"].values<float>(),
            (F{3, 6, 6, 8}));
  for (const int64_t position : {int64_t{3}, kFar[0], kFar[2]})
    expect_bounded(session, values, {position, 0}, "is outside a cache of 3", {3, 6, 3, 4});
  for (const int64_t position : {int64_t{-4}, kFar[1], kFar[3]})
    expect_bounded(session, values, {position, 0}, "is outside a cache of 3", {1, 2, 3, 4});
}

/// y = 4 elements of x from n[0] on.
void slice_from(Session& session, SampleMode mode) {
  ITensor* x = session.input("x", DataType::kFLOAT, {8});
  ITensor* n = session.input("n", DataType::kINT64, {1});
  ISliceLayer* layer = session.network->addSlice(*x, dims({0}), dims({4}), dims({1}));
  layer->setMode(mode);
  layer->setInput(1, *n);
  session.output(layer->getOutput(0), "y");
}

std::optional<Arrays> try_slice(Session& session, int64_t start) {
  return session.try_run({{"x", floats({8}, ramp(8))}, {"n", integers({1}, {start})}});
}

F sliced(Session& session, int64_t start) {
  const auto outputs = try_slice(session, start);
  EXPECT_TRUE(outputs.has_value()) << start << ": " << session.log.text();
  return outputs.has_value() ? outputs->at("y").values<float>() : F();
}

TEST(Bounds, StartsOfSlices) {
  Session session;
  slice_from(session, SampleMode::kSTRICT_BOUNDS);
  EXPECT_EQ(sliced(session, 4), (F{5, 6, 7, 8}));
  EXPECT_EQ(sliced(session, 0), (F{1, 2, 3, 4}));
  for (const int64_t start :
       {int64_t{6}, int64_t{8}, int64_t{9}, int64_t{-2}, kFar[0], kFar[1], kFar[2], kFar[3]})
    EXPECT_FALSE(try_slice(session, start).has_value()) << start;
}

TEST(Bounds, StartsOfSlicesThatReachOver) {
  const std::pair<SampleMode, std::vector<std::pair<int64_t, F>>> modes[] = {
      {SampleMode::kFILL,
       {{6, {7, 8, 0, 0}}, {-2, {0, 0, 1, 2}}, {kFar[2], {0, 0, 0, 0}}, {kFar[3], {0, 0, 0, 0}}}},
      {SampleMode::kCLAMP,
       {{6, {7, 8, 8, 8}}, {-2, {1, 1, 1, 2}}, {kFar[2], {8, 8, 8, 8}}, {kFar[3], {1, 1, 1, 1}}}},
      {SampleMode::kWRAP,
       {{6, {7, 8, 1, 2}}, {-2, {7, 8, 1, 2}}, {kFar[2], {1, 2, 3, 4}}, {kFar[3], {1, 2, 3, 4}}}},
      {SampleMode::kREFLECT, {{6, {7, 8, 7, 6}}, {-2, {3, 2, 1, 2}}, {14, {1, 2, 3, 4}}}}};
  for (const auto& [mode, starts] : modes) {
    Session session;
    slice_from(session, mode);
    for (const auto& [start, expected] : starts)
      EXPECT_EQ(sliced(session, start), expected) << static_cast<int>(mode) << " from " << start;
  }
}

}  // namespace
}  // namespace api_test

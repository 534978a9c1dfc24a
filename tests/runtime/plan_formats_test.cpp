// A plan file of each format that this library or one before it wrote: it is read as it was meant,
// or refused for what it is. tests/runtime/plans has them as lines of offset and bytes, in
// hexadecimal; all else is zero.
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <span>
#include <string>

#include "ops/ops.h"
#include "plan/plan_file.h"
#include "plan/plan_format.h"

namespace tenon {
namespace {

uint32_t hexadecimal(std::string_view digits) {
  uint32_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return value;
}

std::vector<std::byte> stored_plan(int format) {
  std::ifstream file(fmt::format("{}/tests/runtime/plans/format_{}.txt", TENON_SOURCE_DIR, format));
  size_t size = 0;
  file >> size;
  std::vector<std::byte> bytes(size);
  for (std::string offset, row; file >> offset >> row;)
    for (size_t i = 0; i < row.size() / 2; ++i)
      bytes.at(hexadecimal(offset) + i) =
          std::byte(hexadecimal(std::string_view(row).substr(2 * i, 2)));
  return bytes;
}

/// As if the file had been written in another format, whose number stands in either place.
std::vector<std::byte> with_format(std::span<const std::byte> plan, uint32_t ahead,
                                   uint32_t behind) {
  std::vector<std::byte> bytes(plan.begin(), plan.end());
  std::memcpy(bytes.data() + offsetof(PlanHeader, serialization), &ahead, sizeof ahead);
  std::memcpy(bytes.data() + offsetof(PlanHeader, format), &behind, sizeof behind);
  const PlanChecksum checksum = plan_checksum(bytes);
  std::memcpy(bytes.data() + offsetof(PlanHeader, checksum), &checksum, sizeof checksum);
  return bytes;
}

TEST(PlanFormats, OfTheFirstOneAreReadAndHaveNoCode) {
  const auto plan = read_plan(stored_plan(1), nullptr);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->device, DeviceKind::kCpu);
  EXPECT_EQ(plan->code, nullptr);
  EXPECT_TRUE(plan->choices.empty());
  ASSERT_EQ(plan->profiles.size(), 1u);
  EXPECT_EQ(plan->profiles[0].at("x").max, (Extents{8, 4}));
  EXPECT_EQ(plan->graph->outputs()[0]->name, "y");
}

TEST(PlanFormats, OfTheSecondOneAreRead) {
  const auto plan = read_plan(stored_plan(2), nullptr);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->profiles.at(0).at("x").opt, (Extents{2, 4}));
  EXPECT_EQ(plan->graph->outputs()[0]->name, "y");
}

TEST(PlanFormats, OfTheThirdOneAreReadAndHaveNoLibraries) {
  const auto plan = read_plan(stored_plan(3), nullptr);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->profiles.at(0).at("x").max, (Extents{8, 4}));
  EXPECT_EQ(plan->graph->outputs()[0]->name, "y");
  EXPECT_EQ(plan->libraries, nullptr);
}

TEST(PlanFormats, OfTheFourthOneHaveLibrariesInTheirOrder) {
  auto plan = read_plan(stored_plan(3), nullptr);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  plan->libraries = std::make_shared<CodeLibrary>();
  plan->libraries->collect("000001/a.so", "second");
  plan->libraries->collect("000000/b.so", "first");
  auto bytes = write_plan(*plan);
  ASSERT_TRUE(bytes.ok());
  const auto read = read_plan(*bytes, nullptr);
  ASSERT_TRUE(read.ok()) << read.error().message;
  std::string all;
  read->libraries->for_each([&](const std::string& name, const CodeLibrary::Code& code) {
    all += fmt::format("{}={} ", name, code.text());
  });
  EXPECT_EQ(all, "000000/b.so=first 000001/a.so=second ");
  const auto second = std::ranges::search(*bytes, std::as_bytes(std::span("second", 6)));
  second.front() = std::byte{'S'};
  const auto damaged = read_plan(with_format(*bytes, 0, kPlanFormat), nullptr);
  ASSERT_FALSE(damaged.ok());
  EXPECT_NE(damaged.error().message.find("the plugin library 000001/a.so does not match"),
            std::string::npos)
      << damaged.error().message;
}

TEST(PlanFormats, OfTheFourthOneAreReadAndHaveOneForm) {
  const auto plan = read_plan(stored_plan(4), nullptr);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->profiles.at(0).at("x").max, (Extents{8, 4}));
  EXPECT_EQ(plan->graph->outputs()[0]->name, "y");
  EXPECT_TRUE(plan->forms.empty());
}

/// Weights leave memory as they are copied.
TEST(PlanFormats, APlanThatIsFreedGivesTheSameBytes) {
  auto plan = read_plan(stored_plan(4), nullptr);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const auto owner = std::make_shared<std::vector<std::byte>>(64);
  plan->graph->nodes()[0]->packed = Tensor(DataType::kUInt8, {64}, owner->data(), owner);
  const auto bytes = write_plan(*plan);
  ASSERT_TRUE(bytes.ok());
  const auto freed = write_and_free(*plan);
  ASSERT_TRUE(freed.ok());
  EXPECT_EQ(*freed, *bytes);
  EXPECT_EQ(owner.use_count(), 1);
}

/// Weights are handed on as they lie.
TEST(PlanFormats, APlanGoesToASinkInParts) {
  class Sink final : public PlanSink {
   public:
    Status begin(size_t bytes) override {
      size = bytes;
      return {};
    }
    Status take(std::span<const std::byte> part) override {
      at.push_back(part.data());
      bytes.insert(bytes.end(), part.begin(), part.end());
      return bytes.size() > most ? Status(user_error("full")) : Status();
    }
    size_t size = 0, most = SIZE_MAX;
    std::vector<const std::byte*> at;
    std::vector<std::byte> bytes;
  };
  auto plan = read_plan(stored_plan(4), nullptr);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const auto owner = std::make_shared<std::vector<std::byte>>(64);
  plan->graph->nodes()[0]->packed = Tensor(DataType::kUInt8, {64}, owner->data(), owner);
  const auto whole = write_plan(*plan);
  ASSERT_TRUE(whole.ok());
  Sink sink;
  ASSERT_TRUE(write_and_free(*plan, sink).ok());
  EXPECT_EQ(sink.size, whole->size());
  EXPECT_TRUE(std::ranges::equal(sink.bytes, *whole));
  EXPECT_NE(std::ranges::find(sink.at, owner->data()), sink.at.end());
  EXPECT_EQ(owner.use_count(), 1);

  auto again = read_plan(stored_plan(4), nullptr);
  Sink full;
  full.most = 5000;
  const Status written = write_and_free(*again, full);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().message, "full");
}

TEST(PlanFormats, AreWrittenAnewInTheNewestOne) {
  for (const int old : {1, 2, 3, 4}) {
    const auto plan = read_plan(stored_plan(old), nullptr);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    const auto bytes = write_plan(*plan);
    ASSERT_TRUE(bytes.ok());
    PlanHeader header;
    std::memcpy(&header, bytes->data(), sizeof header);
    EXPECT_EQ(plan_format(header), kPlanFormat);
    EXPECT_TRUE(read_plan(*bytes, nullptr).ok());
  }
}

/// NVIDIA's trtexec prints the version of files whose second word is 0, and of no others.
TEST(PlanFormats, HaveTheirVersionWherePeekersLook) {
  const auto plan = read_plan(stored_plan(2), nullptr);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const auto bytes = write_plan(*plan);
  ASSERT_TRUE(bytes.ok());
  uint32_t words[2];
  std::memcpy(words, bytes->data(), sizeof words);
  EXPECT_EQ(words[0], 0x74727466u);
  EXPECT_EQ(words[1], 0u);
  EXPECT_EQ((*bytes)[24], std::byte{10});
  EXPECT_EQ((*bytes)[25], std::byte{16});
}

TEST(PlanFormats, ThatAreOlderOrNewerAreRefused) {
  struct Places {
    uint32_t ahead, behind, format;
  };
  for (const auto [ahead, behind, format] :
       {Places{0, 0, 0}, Places{0, kPlanFormat + 1, kPlanFormat + 1},
        Places{kLastPlanFormatAhead + 1, 0, 0}, Places{1, 1, 0}}) {
    const auto plan = read_plan(with_format(stored_plan(1), ahead, behind), nullptr);
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.error().message,
              fmt::format("the plan has format {}, this library reads {} to {}; build it again",
                          format, kOldestPlanFormat, kPlanFormat));
  }
}

TEST(PlanFormats, OfUnknownDevicesAreRefused) {
  auto plan = read_plan(stored_plan(2), nullptr);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  for (const int kind : {0, 1, 2, 255}) {
    plan->device = static_cast<DeviceKind>(kind);
    plan->device_name = "a device of tomorrow";
    const auto bytes = write_plan(*plan);
    ASSERT_TRUE(bytes.ok());
    const auto read = read_plan(*bytes, nullptr);
    EXPECT_EQ(read.ok(), kind <= 1) << kind;
    if (read.ok()) continue;
    constexpr auto kRefused =
        "the plan was built for 'a device of tomorrow', a device of kind {}, and this library "
        "knows the kinds 0 (CPU) and 1 (NVIDIA GPU) alone; run it with the version of the library "
        "that built it, or build it again here";
    EXPECT_EQ(read.error().message, fmt::format(kRefused, kind));
  }
}

}  // namespace
}  // namespace tenon

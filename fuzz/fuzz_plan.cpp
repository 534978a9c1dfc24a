// Any bytes given to the plan reader are a plan or an error, and any plan can be laid out, written
// again and read as the same, with its weights and without. A wrong checksum would end nearly every
// run at once, so the checksum is made right first. Half of the mutations know that the description
// is made of strings and numbers: bytes changed anywhere mostly break an offset, and the reader
// refuses the file before it looks at it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/concrete_graph.h"
#include "plan/plan_file.h"
#include "plan/plan_format.h"

namespace {

void make_plausible(std::span<std::byte> plan) {
  if (plan.size() < sizeof(tenon::PlanHeader)) return;
  tenon::PlanHeader header;
  std::memcpy(&header, plan.data(), sizeof(header));
  header.magic = tenon::kPlanMagic;
  header.format = tenon::kPlanFormat;
  header.file_size = plan.size();
  std::memcpy(plan.data(), &header, sizeof(header));
  header.checksum = tenon::plan_checksum(plan);
  std::memcpy(plan.data(), &header, sizeof(header));
}

/// The work of contexts with the shapes of a profile before kernels are made.
void lay_out(const tenon::Plan& plan, const tenon::Profile& profile) {
  std::map<std::string, tenon::Extents> shapes;
  for (const auto& [name, range] : profile) shapes[name] = range.opt;
  auto symbols = tenon::bind_inputs(*plan.graph, shapes);
  if (symbols.ok()) (void)tenon::ConcreteGraph::create(*plan.graph, std::move(*symbols)).ok();
}

/// The description of a plan as bytes to change.
class Description {
 public:
  Description(uint8_t* bytes, size_t size) : bytes_(bytes), size_(size & ~size_t{3}) {
    for (size_t at = 0; at < size_; at += 4)
      if (is_string(at)) strings_.push_back(at);
  }

  /// Another string of the plan, a piece of the one that is there, or another character.
  void change_string(std::minstd_rand& random) {
    if (strings_.empty()) return;
    const size_t at = pick(strings_, random);
    const uint32_t length = number(at);
    switch (random() % 3) {
      case 0: bytes_[at + 4 + random() % length] = static_cast<uint8_t>(' ' + random() % 95); break;
      case 1: put(at, {text(at), random() % length}); break;
      default: const size_t other = pick(strings_, random); put(at, {text(other), number(other)});
    }
  }
  void change_number(std::minstd_rand& random) {
    static constexpr int64_t kNumbers[] = {-1, 0, 1, 2, 3, 4, 8, 16, 17, INT64_MIN, INT64_MAX};
    const int64_t value = kNumbers[random() % std::size(kNumbers)];
    const size_t bytes = random() % 2 == 0 ? 4 : 8;
    if (size_ >= bytes)
      std::memcpy(bytes_ + random() % (size_ / 4 - bytes / 4 + 1) * 4, &value, bytes);
  }

 private:
  static size_t pick(const std::vector<size_t>& from, std::minstd_rand& random) {
    return from[random() % from.size()];
  }
  uint32_t number(size_t at) const {
    uint32_t value;
    std::memcpy(&value, bytes_ + at, sizeof value);
    return value;
  }
  const char* text(size_t at) const { return reinterpret_cast<const char*>(bytes_) + at + 4; }
  /// A length, so many characters and a zero.
  bool is_string(size_t at) const {
    const uint32_t length = number(at);
    return length > 0 && length < 256 && at + 4 + length < size_ && text(at)[length] == '\0' &&
           std::all_of(text(at), text(at) + length, [](char c) { return c >= ' ' && c <= '~'; });
  }
  /// Where it fits into the place of the old one, which ends at a multiple of four bytes.
  void put(size_t at, std::string_view string) {
    const size_t room = number(at) / 4 * 4 + 3;
    if (string.size() > room) return;
    const std::string copy(string);
    const auto length = static_cast<uint32_t>(copy.size());
    std::memcpy(bytes_ + at, &length, sizeof length);
    std::memset(bytes_ + at + 4, 0, room + 1);
    std::copy(copy.begin(), copy.end(), bytes_ + at + 4);
  }

  uint8_t* bytes_;
  size_t size_;
  std::vector<size_t> strings_;
};

template <class T> T expect(tenon::Result<T> result, const char* what) {
  if (result.ok()) return std::move(result).value();
  fmt::print(stderr, "{}: {}\n", what, result.error().message);
  std::abort();
}

/// Weights are used in place, for which the reader starts no threads: runs are the same whatever
/// the machine does beside them.
tenon::Result<tenon::Plan> read(const std::shared_ptr<const tenon::LargeBytes>& file) {
  return tenon::read_plan(*file, file);
}

tenon::LargeBytes written(const tenon::Plan& plan, bool strip) {
  return expect(tenon::write_plan(plan, strip), "what was read is not written");
}

void expect_same_when_read(tenon::LargeBytes bytes, bool strip) {
  const auto file = std::make_shared<const tenon::LargeBytes>(std::move(bytes));
  if (written(expect(read(file), "what was written is not read"), strip) == *file) return;
  fmt::print(stderr, "what was written is written otherwise\n");
  std::abort();
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  std::minstd_rand random(seed);
  tenon::PlanHeader header;
  if (size < tenon::kPlanPage || random() % 2 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(&header, data, sizeof header);
  const size_t room = size - tenon::kPlanPage;
  for (auto left = 1 + random() % 3; left > 0; --left) {
    // Anew each time: a change may have cut a string.
    Description description(data + tenon::kPlanPage, std::min(header.description_size, room));
    random() % 2 == 0 ? description.change_string(random) : description.change_number(random);
  }
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const auto file = std::make_shared<tenon::LargeBytes>(bytes, bytes + size);
  make_plausible(*file);
  const auto plan = read(file);
  if (!plan.ok()) return 0;
  for (const tenon::Profile& profile : plan->profiles) lay_out(*plan, profile);
  for (const bool strip : {false, true}) expect_same_when_read(written(*plan, strip), strip);
  return 0;
}

#include "api/plan_sinks.h"

namespace tenon::api {
namespace {

constexpr size_t kGathered = size_t{1} << 20;
/// Bytes between two messages.
constexpr double kTold = 4 << 20;

}  // namespace

Status StreamSink::write(std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  const auto size = static_cast<int64_t>(bytes.size());
  const int64_t written = writer_.write(bytes.data(), size);
  if (written == size) return {};
  return user_error("the stream writer took {} of {} bytes", written, size);
}

Status StreamSink::end() {
  TENON_TRY(write(gathered_));
  gathered_.clear();
  return {};
}

Status StreamSink::take(std::span<const std::byte> part) {
  if (gathered_.size() + part.size() > kGathered) TENON_TRY(end());
  if (part.size() > kGathered) return write(part);
  gathered_.insert(gathered_.end(), part.begin(), part.end());
  return {};
}

Status ToldSink::begin(size_t bytes) {
  bytes_ = static_cast<double>(bytes);
  begun_ = std::chrono::steady_clock::now();
  return sink_.begin(bytes);
}

Status ToldSink::take(std::span<const std::byte> part) {
  TENON_TRY(sink_.take(part));
  done_ += static_cast<double>(part.size());
  if (done_ - told_ < kTold) return {};
  told_ = done_;
  tell();
  return {};
}

void ToldSink::tell() const {
  const auto now = std::chrono::steady_clock::now();
  const double took = std::chrono::duration<double>(now - begun_).count();
  watch_.foresee(BuildWatch::Step::kWrite, BuildWatch::Span::kRest,
                 [left = took * (bytes_ - done_) / done_, now](const BuildWatch::Known&) {
                   const auto since = std::chrono::steady_clock::now() - now;
                   return left - std::chrono::duration<double>(since).count();
                 });
}

}  // namespace tenon::api

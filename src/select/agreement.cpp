#include "select/agreement.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/float_formats.h"
#include "kernels/algorithm.h"
#include "kernels/strides.h"

namespace tenon {
namespace {

/// Outputs of no more elements than these are looked at as a whole.
constexpr int64_t kPieces = 16, kPieceElements = 4096;

bool is_sampled(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kFloat16 || type == DataType::kBFloat16;
}

/// Loops that vectorize.
void widen(const std::byte* from, DataType type, size_t count, float* to) {
  const auto* const halves = reinterpret_cast<const uint16_t*>(from);
  if (type == DataType::kFloat32)
    std::memcpy(to, from, count * sizeof(float));
  else if (type == DataType::kFloat16)
    std::transform(halves, halves + count, to, f16_to_float);
  else
    std::transform(halves, halves + count, to, bf16_to_float);
}

}  // namespace

Result<std::byte*> SampleMemory::get(Device& device, size_t bytes) {
  if (bytes_ >= bytes) return address_;
  bytes = std::bit_ceil(bytes);
  if (Streams* const streams = device.streams()) {
    TENON_ASSIGN(pinned_, streams->make_pinned(bytes));
    address_ = static_cast<std::byte*>(pinned_.get());
  } else {
    plain_.resize(bytes);
    address_ = plain_.data();
  }
  bytes_ = bytes;
  return address_;
}

Sampler::Sampler(Device& device, Queue queue, SampleMemory& memory, const Problem& problem,
                 const void* const* outputs)
    : device_(device), queue_(queue), memory_(memory) {
  for (size_t i = 0; i < problem.outputs.size(); ++i) {
    const Operand& operand = problem.outputs[i];
    if (!operand.present || !is_sampled(operand.type)) continue;
    const int64_t extent = extent_in_memory(operand);
    const bool is_whole = extent <= kPieces * kPieceElements;
    const int64_t pieces = is_whole ? 1 : kPieces, count = is_whole ? extent : kPieceElements;
    for (int64_t p = 0; p < pieces; ++p) {
      // The last piece ends with the output.
      const int64_t begin = pieces > 1 ? (extent - count) * p / (pieces - 1) : 0;
      char* base = static_cast<char*>(const_cast<void*>(outputs[i]));
      pieces_.push_back(
          {base + begin * static_cast<int64_t>(byte_size(operand.type)), operand.type, count});
    }
  }
}

size_t Sampler::bytes_of(const Piece& piece) {
  return static_cast<size_t>(piece.count) * byte_size(piece.type);
}

Status Sampler::poison() const {
  size_t most = 1;
  for (const Piece& piece : pieces_) most = std::max(most, bytes_of(piece));
  TENON_ASSIGN(std::byte* const ones, memory_.get(device_, most));
  std::fill_n(ones, most, std::byte{0xff});
  for (const Piece& piece : pieces_)
    TENON_TRY(device_.upload(piece.address, ones, bytes_of(piece), queue_));
  return {};
}

/// One wait for all pieces.
Result<Sample> Sampler::read() const {
  size_t all = 0, count = 0;
  for (const Piece& piece : pieces_) all += bytes_of(piece);
  TENON_ASSIGN(std::byte* const bytes, memory_.get(device_, std::max<size_t>(all, 1)));
  std::byte* to = bytes;
  for (const Piece& piece : pieces_) {
    TENON_TRY(device_.download(to, piece.address, bytes_of(piece), queue_));
    to += bytes_of(piece);
    count += static_cast<size_t>(piece.count);
  }
  TENON_TRY(device_.synchronize(queue_));
  Sample sample(count);
  float* widened = sample.data();
  for (size_t at = 0; const Piece& piece : pieces_) {
    widen(bytes + at, piece.type, static_cast<size_t>(piece.count), widened);
    widened += piece.count;
    at += bytes_of(piece);
  }
  return sample;
}

Deviation sample_deviation(const Sample& actual, const Sample& expected,
                           const Tolerance& tolerance) {
  if (actual.size() != expected.size()) return {.norm = 1, .excess = INFINITY, .element = 0};
  // Kernels that add up in the same order give the same bytes.
  if (std::memcmp(actual.data(), expected.data(), actual.size() * sizeof(float)) == 0) return {};
  return compare_numbers(std::span(actual), std::span(expected), tolerance);
}

bool multiplies_in_tf32(const Device* device, bool allowed) {
  return allowed && device != nullptr && device->properties().compute_capability >= 80;
}

Tolerance agreement_tolerance(const Problem& problem) {
  const bool in_tf32 = multiplies_in_tf32(problem.device, problem.numerics.tf32);
  Tolerance limit;
  for (const auto* operands : {&problem.inputs, &problem.outputs})
    for (const Operand& operand : *operands) {
      if (!operand.present || !is_sampled(operand.type)) continue;
      const bool cut = in_tf32 && operand.type == DataType::kFloat32;
      limit =
          wider(limit, tolerance(Computation::kAgreement, cut ? DataType::kFloat16 : operand.type));
    }
  return limit;
}

Tolerance kernel_tolerance(const Node& node, DataType result, const Backend& backend) {
  Tolerance limit = tolerance(Computation::kKernel, result);
  if (result == DataType::kFloat32 &&
      multiplies_in_tf32(backend.device.get(), backend.numerics.tf32))
    limit = wider(limit, tolerance(Computation::kTf32, result));
  if (algorithm_of(split_tactic(node.tactic).name) != Algorithm::kPlain)
    limit = wider(limit, tolerance(Computation::kTransform, result));
  return limit;
}

}  // namespace tenon

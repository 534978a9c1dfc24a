#include "select/agreement.h"

#include <algorithm>
#include <cmath>

#include "base/float_formats.h"
#include "kernels/algorithm.h"
#include "kernels/strides.h"

namespace tenon {
namespace {

constexpr int64_t kPieces = 16, kPieceElements = 4096;
constexpr size_t kPieceBytes = kPieceElements * sizeof(float);

bool is_sampled(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kFloat16 || type == DataType::kBFloat16;
}

float number_at(const std::byte* bytes, DataType type, int64_t index) {
  if (type == DataType::kFloat32) return reinterpret_cast<const float*>(bytes)[index];
  const uint16_t bits = reinterpret_cast<const uint16_t*>(bytes)[index];
  return type == DataType::kFloat16 ? f16_to_float(bits) : bf16_to_float(bits);
}

}  // namespace

Result<std::byte*> SampleMemory::get(Device& device, size_t bytes) {
  if (bytes_ >= bytes) return address_;
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
    const int64_t pieces = std::min(kPieces, (extent + kPieceElements - 1) / kPieceElements);
    for (int64_t p = 0; p < pieces; ++p) {
      // The last piece ends with the output.
      const int64_t count = std::min(kPieceElements, extent);
      const int64_t begin = pieces > 1 ? (extent - count) * p / (pieces - 1) : 0;
      char* base = static_cast<char*>(const_cast<void*>(outputs[i]));
      pieces_.push_back(
          {base + begin * static_cast<int64_t>(byte_size(operand.type)), operand.type, count});
    }
  }
}

size_t Sampler::host_bytes() const {
  return std::max<size_t>(pieces_.size(), 1) * kPieceBytes;
}

Status Sampler::poison() const {
  TENON_ASSIGN(std::byte* const ones, memory_.get(device_, host_bytes()));
  std::fill_n(ones, kPieceBytes, std::byte{0xff});
  for (const Piece& piece : pieces_)
    TENON_TRY(device_.upload(piece.address, ones,
                             static_cast<size_t>(piece.count) * byte_size(piece.type), queue_));
  return {};
}

/// One wait for all pieces.
Result<Sample> Sampler::read() const {
  TENON_ASSIGN(std::byte* const bytes, memory_.get(device_, host_bytes()));
  size_t count = 0;
  for (size_t k = 0; k < pieces_.size(); ++k) {
    const Piece& piece = pieces_[k];
    TENON_TRY(device_.download(bytes + k * kPieceBytes, piece.address,
                               static_cast<size_t>(piece.count) * byte_size(piece.type), queue_));
    count += static_cast<size_t>(piece.count);
  }
  TENON_TRY(device_.synchronize(queue_));
  Sample sample;
  sample.reserve(count);
  for (size_t k = 0; k < pieces_.size(); ++k)
    for (int64_t i = 0; i < pieces_[k].count; ++i)
      sample.push_back(number_at(bytes + k * kPieceBytes, pieces_[k].type, i));
  return sample;
}

Deviation sample_deviation(const Sample& actual, const Sample& expected,
                           const Tolerance& tolerance) {
  if (actual.size() != expected.size()) return {.norm = 1, .excess = INFINITY, .element = 0};
  const std::vector<double> a(actual.begin(), actual.end()), e(expected.begin(), expected.end());
  return compare_numbers(a, e, {}, tolerance);
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

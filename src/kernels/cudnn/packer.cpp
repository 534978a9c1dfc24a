#include "kernels/cudnn/packer.h"

#include "base/arithmetic.h"
#include "kernels/jit/sources.h"

namespace tenon::cudnn {
namespace {

constexpr unsigned kThreads = 256;
constexpr int64_t kPieceBytes = 16;

}  // namespace

Result<std::unique_ptr<Packer>> Packer::create(const Problem& problem, const Convolution& whole,
                                               const Convolution& packed, const Packing& packing) {
  const auto& from = whole.x;
  const auto& to = packed.x.extents;
  const int64_t element = byte_size(whole.type);
  auto packer = std::make_unique<Packer>();
  const auto define = [](std::string_view name, auto value) {
    return fmt::format("-D{}={}", name, value);
  };
  TENON_ASSIGN(std::string text, device_source("cudnn/pack.cu"));
  TENON_ASSIGN(
      packer->module_,
      cuda::compile_text(
          problem, "cudnn/pack", std::move(text),
          {define("ELEMENT", element == 2 ? "unsigned short" : "unsigned int"),
           define("FOLD", packing.fold), define("CHANNELS", from.extents[1]),
           define("HEIGHT", from.extents[2]), define("WIDTH", from.extents[3]),
           define("IMAGE_STRIDE", from.strides[0]), define("CHANNEL_STRIDE", from.strides[1]),
           define("ROW_STRIDE", from.strides[2]), define("COLUMN_STRIDE", from.strides[3]),
           define("PAD_TOP", whole.window.pads_begin[0]),
           define("PAD_LEFT", whole.window.pads_begin[1]), define("PACKED_CHANNELS", to[1]),
           define("PACKED_HEIGHT", to[2]), define("PACKED_WIDTH", to[3])}));
  TENON_ASSIGN(packer->function_, packer->module_->function("pack"));
  packer->images_ = to[0];
  const int64_t bytes = element_count(to) * element;
  packer->bytes_ = static_cast<size_t>(round_up(bytes, 256));
  packer->blocks_ = static_cast<unsigned>(ceil_div(bytes / kPieceBytes, kThreads));
  return packer;
}

Status Packer::run(const void* x, void* packed, Queue queue) const {
  return function_.launch({.grid_x = blocks_, .block_x = kThreads}, queue.stream, x, packed,
                          images_);
}

}  // namespace tenon::cudnn

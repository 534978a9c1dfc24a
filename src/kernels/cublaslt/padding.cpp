#include "kernels/cublaslt/padding.h"

#include <cstring>

#include "base/arithmetic.h"
#include "kernels/jit/sources.h"

namespace tenon::cublaslt {
namespace {

constexpr unsigned kThreads = 256;
constexpr int64_t kPieceBytes = 16;
/// Below that many columns the copy costs more than it gains.
constexpr int64_t kFewColumns = 128;

int64_t rounded_columns(const Product& product) {
  return round_up(product.n, kPieceBytes / byte_size(product.d.type));
}

}  // namespace

bool can_pad(const Product& p) {
  return p.constant_b != nullptr && p.n >= kFewColumns && rounded_columns(p) != p.n &&
         p.d.stride == p.n && p.d.alignment % 16 == 0 && p.c_input < 0 &&
         (p.bias_input < 0 || p.constant_bias != nullptr) && p.d.type == p.a.type;
}

Product padded(const Product& product) {
  Product p = product;
  p.n = p.b.columns = p.d.columns = p.d.stride = rounded_columns(product);
  return p;
}

Tensor padded_rows(const Tensor& tensor, int64_t rows) {
  Extents extents = tensor.extents();
  extents[0] = rows;
  Tensor result(tensor.type(), std::move(extents));
  std::memset(result.mutable_bytes(), 0, static_cast<size_t>(result.byte_count()));
  std::memcpy(result.mutable_bytes(), tensor.bytes(), static_cast<size_t>(tensor.byte_count()));
  return result;
}

Result<std::unique_ptr<Unpadder>> Unpadder::create(const Problem& problem, const Product& product,
                                                   const Product& padded) {
  auto unpadder = std::make_unique<Unpadder>();
  const int64_t element = byte_size(product.d.type), count = product.m * product.n;
  const auto define = [](std::string_view name, auto value) {
    return fmt::format("-D{}={}", name, value);
  };
  TENON_ASSIGN(std::string text, device_source("cublaslt/unpad.cu"));
  TENON_ASSIGN(unpadder->module_,
               cuda::compile_text(problem, "cublaslt/unpad", std::move(text),
                                  {define("ELEMENT", element == 2 ? "unsigned short" : "unsigned"),
                                   define("COLUMNS", product.n), define("PADDED", padded.n)}));
  TENON_ASSIGN(unpadder->function_, unpadder->module_->function("unpad"));
  unpadder->count_ = count;
  unpadder->bytes_ = static_cast<size_t>(round_up(product.m * padded.n * element, 256));
  const int64_t threads = ceil_div(count * element, kPieceBytes);
  unpadder->blocks_ = static_cast<unsigned>(ceil_div(threads, kThreads));
  return unpadder;
}

Status Unpadder::run(const void* padded, void* dense, Queue queue) const {
  return function_.launch({.grid_x = blocks_, .block_x = kThreads}, queue.stream, padded, dense,
                          count_);
}

}  // namespace tenon::cublaslt

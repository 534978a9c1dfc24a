#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ir/element.h"
#include "ops/math.h"
#include "ops/pointwise_kernels.h"
#include "ops/table.h"

namespace tenon {
namespace {

constexpr int kMaxOperands = 3;
constexpr int64_t kChunk = 1024;

/// Output extents and operand strides with adjacent axes joined where all operands allow it. The
/// last stride of an operand is 1 or 0.
struct Nest {
  Extents extents;
  std::array<Extents, kMaxOperands> strides;
};

Result<Extents> broadcast_extents(const EvalContext& context, int operands) {
  Shape shape = to_shape(context.input(0).extents());
  for (int i = 1; i < operands; ++i) {
    TENON_ASSIGN(shape, broadcast(shape, to_shape(context.input(i).extents())));
  }
  return constants(shape);
}

Extents broadcast_strides(const Extents& extents, const Extents& out) {
  Extents strides(out.size(), 0);
  int64_t stride = 1;
  for (size_t i = 0; i < extents.size(); ++i) {
    const size_t axis = extents.size() - 1 - i;
    strides[out.size() - 1 - i] = extents[axis] == 1 ? 0 : stride;
    stride *= extents[axis];
  }
  return strides;
}

Nest make_nest(const EvalContext& context, int operands, const Extents& out) {
  std::array<Extents, kMaxOperands> strides;
  for (int i = 0; i < operands; ++i)
    strides[i] = broadcast_strides(context.input(i).extents(), out);
  Nest nest;
  for (size_t axis = 0; axis < out.size(); ++axis) {
    if (out[axis] == 1) continue;
    bool joins = !nest.extents.empty();
    for (int i = 0; i < operands && joins; ++i)
      joins = nest.strides[i].back() == strides[i][axis] * out[axis];
    if (joins)
      nest.extents.back() *= out[axis];
    else
      nest.extents.push_back(out[axis]);
    for (int i = 0; i < operands; ++i) {
      if (joins) nest.strides[i].pop_back();
      nest.strides[i].push_back(strides[i][axis]);
    }
  }
  if (nest.extents.empty()) {
    nest.extents.push_back(1);
    for (int i = 0; i < operands; ++i) nest.strides[i].push_back(1);
  }
  return nest;
}

/// Calls row(offsets, first output element) for every innermost row.
template <class Row> void for_each_row(const Nest& nest, int operands, Row row) {
  const int outer = static_cast<int>(nest.extents.size()) - 1;
  Extents position(outer, 0);
  std::array<int64_t, kMaxOperands> offsets{};
  const int64_t rows = element_count({nest.extents.begin(), nest.extents.end() - 1});
  for (int64_t r = 0; r < rows; ++r) {
    row(offsets, r * nest.extents.back());
    for (int axis = outer - 1; axis >= 0; --axis) {
      const bool wraps = ++position[axis] == nest.extents[axis];
      for (int i = 0; i < operands; ++i)
        offsets[i] += nest.strides[i][axis] * (wraps ? 1 - nest.extents[axis] : 1);
      if (!wraps) break;
      position[axis] = 0;
    }
  }
}

/// The type that elements are computed in.
DataType compute_type(DataType type) {
  switch (type) {
    case DataType::kFloat64:
    case DataType::kInt8:
    case DataType::kInt16:
    case DataType::kInt32:
    case DataType::kInt64:
    case DataType::kUInt16:
    case DataType::kUInt32:
    case DataType::kUInt64: return type;
    case DataType::kInt4:
    case DataType::kInt2: return DataType::kInt8;
    case DataType::kUInt8:
    case DataType::kBool:
    case DataType::kUInt4:
    case DataType::kUInt2: return DataType::kUInt8;
    default: return DataType::kFloat32;
  }
}

void load_chunk(DataType type, const std::byte* from, std::byte* to, int64_t count) {
  with_element(type, [&](auto element) {
    using E = decltype(element);
    const auto* source = reinterpret_cast<const typename E::Storage*>(from);
    using To =
        std::conditional_t<std::is_same_v<typename E::Compute, bool>, uint8_t, typename E::Compute>;
    auto* target = reinterpret_cast<To*>(to);
    for (int64_t i = 0; i < count; ++i) target[i] = static_cast<To>(E::load(source[i]));
  });
}

void store_chunk(DataType type, const std::byte* from, std::byte* to, int64_t count) {
  with_element(type, [&](auto element) {
    using E = decltype(element);
    const auto* source = reinterpret_cast<const typename E::Compute*>(from);
    auto* target = reinterpret_cast<typename E::Storage*>(to);
    for (int64_t i = 0; i < count; ++i) target[i] = E::store(source[i]);
  });
}

/// A row of any type: directly, or in chunks converted to the compute type and back.
class RowRunner {
 public:
  RowRunner(const Pointwise& op, DataType type, DataType out, int operands)
      : op_(op), type_(type), out_(out), operands_(operands), compute_(compute_type(type)) {
    kernel_ = is_real(compute_) ? real_kernel(op.function, compute_)
                                : integer_kernel(op.function, compute_);
    converts_in_ = compute_ != type_ && type_ != DataType::kBool;
    converts_out_ = out_ != DataType::kBool && compute_ != out_;
  }
  bool supported() const { return kernel_ != nullptr; }

  void run(const std::array<const std::byte*, kMaxOperands>& data,
           const std::array<int64_t, kMaxOperands>& strides, std::byte* out, int64_t count) {
    if (!converts_in_ && !converts_out_) return run_chunk(data, strides, out, count);
    const int bytes = byte_size(type_);
    for (int64_t begin = 0; begin < count; begin += kChunk) {
      const int64_t size = std::min(kChunk, count - begin);
      std::array<const std::byte*, kMaxOperands> chunk{};
      for (int i = 0; i < operands_; ++i) {
        const std::byte* source = data[i] + begin * strides[i] * bytes;
        chunk[i] = buffers_[i];
        load_chunk(type_, source, buffers_[i], strides[i] == 0 ? 1 : size);
      }
      std::byte* target = out + begin * byte_size(out_);
      run_chunk(chunk, strides, converts_out_ ? result_ : target, size);
      if (converts_out_) store_chunk(out_, result_, target, size);
    }
  }

 private:
  void run_chunk(const std::array<const std::byte*, kMaxOperands>& data,
                 const std::array<int64_t, kMaxOperands>& strides, std::byte* out, int64_t count) {
    RowOperand operands[kMaxOperands];
    for (int i = 0; i < operands_; ++i) operands[i] = {data[i], strides[i]};
    kernel_(operands, out, count, op_.alpha, op_.beta);
  }

  const Pointwise& op_;
  DataType type_, out_;
  int operands_;
  DataType compute_;
  RowKernel kernel_ = nullptr;
  bool converts_in_ = false, converts_out_ = false;
  alignas(64) std::byte buffers_[kMaxOperands][kChunk * 8];
  alignas(64) std::byte result_[kChunk * 8];
};

template <class T>
void select_row(const uint8_t* condition, int64_t condition_stride, const T* yes,
                int64_t yes_stride, const T* no, int64_t no_stride, T* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = condition[i * condition_stride] != 0 ? yes[i * yes_stride] : no[i * no_stride];
}

/// where() moves elements, whatever their type.
template <class T> void evaluate_where(EvalContext& context, const Nest& nest, Tensor& out) {
  const auto* condition = reinterpret_cast<const uint8_t*>(context.input(0).bytes());
  const auto* yes = reinterpret_cast<const T*>(context.input(1).bytes());
  const auto* no = reinterpret_cast<const T*>(context.input(2).bytes());
  auto* result = reinterpret_cast<T*>(out.mutable_bytes());
  for_each_row(nest, 3, [&](const auto& offsets, int64_t first) {
    select_row(condition + offsets[0], nest.strides[0].back(), yes + offsets[1],
               nest.strides[1].back(), no + offsets[2], nest.strides[2].back(), result + first,
               nest.extents.back());
  });
}

Status evaluate_where(EvalContext& context, const Extents& extents, const Nest& nest) {
  if (context.input(0).type() != DataType::kBool ||
      context.input(1).type() != context.input(2).type())
    return context.fail("a bool and two operands of one type are expected");
  Tensor& out = context.make_output(0, context.input(1).type(), extents);
  if (out.count() == 0) return {};
  switch (byte_size(out.type())) {
    case 1: evaluate_where<uint8_t>(context, nest, out); break;
    case 2: evaluate_where<uint16_t>(context, nest, out); break;
    case 4: evaluate_where<uint32_t>(context, nest, out); break;
    default: evaluate_where<uint64_t>(context, nest, out);
  }
  return {};
}

}  // namespace

Status evaluate(const Pointwise& op, EvalContext& context) {
  const PointwiseInfo& info = pointwise_info(op.function);
  for (int i = 0; i < info.arity; ++i)
    if (!context.has_input(i)) return context.fail(fmt::format("takes {} operands", info.arity));
  TENON_ASSIGN(const Extents extents, broadcast_extents(context, info.arity));
  const Nest nest = make_nest(context, info.arity, extents);
  if (info.category == PointwiseClass::choose) return evaluate_where(context, extents, nest);
  const DataType type = context.input(0).type();
  for (int i = 1; i < info.arity; ++i)
    if (context.input(i).type() != type) return context.fail("operands of one type are expected");
  const bool gives_bool =
      info.category == PointwiseClass::compare || info.category == PointwiseClass::logical;
  const DataType out_type = gives_bool ? DataType::kBool : type;
  RowRunner runner(op, type, out_type, info.arity);
  if (!runner.supported())
    return context.fail(fmt::format("not defined for type {}", name_of(type)));
  Tensor& out = context.make_output(0, out_type, extents);
  if (out.count() == 0) return {};
  const int bytes = byte_size(type);
  std::array<int64_t, kMaxOperands> strides{};
  for (int i = 0; i < info.arity; ++i) strides[i] = nest.strides[i].back();
  for_each_row(nest, info.arity, [&](const auto& offsets, int64_t first) {
    std::array<const std::byte*, kMaxOperands> data{};
    for (int i = 0; i < info.arity; ++i) data[i] = context.input(i).bytes() + offsets[i] * bytes;
    runner.run(data, strides, out.mutable_bytes() + first * byte_size(out_type),
               nest.extents.back());
  });
  return {};
}

}  // namespace tenon

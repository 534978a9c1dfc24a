#include "kernels/pointwise/typed.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "ir/element.h"
#include "ops/pointwise_kernels.h"

namespace tenon::cpu {
namespace {

// Elements that are worth a task of their own.
constexpr int64_t kTaskElements = 16384;

/// Calls f with an element of a type that is_typed_block_type() admits.
template <class F> void with_native(DataType type, F f) {
  switch (type) {
    case DataType::kFloat32: return f(Element<DataType::kFloat32>{});
    case DataType::kInt8: return f(Element<DataType::kInt8>{});
    case DataType::kInt32: return f(Element<DataType::kInt32>{});
    case DataType::kInt64: return f(Element<DataType::kInt64>{});
    case DataType::kUInt8: return f(Element<DataType::kUInt8>{});
    default: return f(Element<DataType::kBool>{});
  }
}

template <class F> void with_width(int bytes, F f) {
  switch (bytes) {
    case 1: return f(uint8_t{});
    case 4: return f(uint32_t{});
    default: return f(uint64_t{});
  }
}

/// As operator cast does: real numbers saturate, integers wrap, bool is x != 0.
template <class From, class To> typename To::Storage converted(typename From::Storage stored) {
  const auto value = From::load(stored);
  using V = typename To::Compute;
  if constexpr (std::is_same_v<V, bool>)
    return To::store(value != 0);
  else if constexpr (std::is_floating_point_v<typename From::Compute> && std::is_integral_v<V>)
    return To::saturate(static_cast<double>(value));
  else
    return To::store(static_cast<V>(value));
}

void cast_row(DataType from, DataType to, RowOperand x, void* out, int64_t count) {
  with_native(from, [&](auto source) {
    with_native(to, [&](auto target) {
      using From = decltype(source);
      using To = decltype(target);
      const auto* in = static_cast<const typename From::Storage*>(x.data);
      auto* result = static_cast<typename To::Storage*>(out);
      for (int64_t i = 0; i < count; ++i) result[i] = converted<From, To>(in[i * x.stride]);
    });
  });
}

void select_row(int bytes, const RowOperand* operands, void* out, int64_t count) {
  const auto* condition = static_cast<const uint8_t*>(operands[0].data);
  with_width(bytes, [&](auto word) {
    using T = decltype(word);
    const auto *yes = static_cast<const T*>(operands[1].data),
               *no = static_cast<const T*>(operands[2].data);
    for (int64_t i = 0; i < count; ++i)
      static_cast<T*>(out)[i] = condition[i * operands[0].stride] != 0 ? yes[i * operands[1].stride]
                                                                       : no[i * operands[2].stride];
  });
}

void move_row(int bytes, const void* from, int64_t from_stride, void* to, int64_t to_stride,
              int64_t count) {
  with_width(bytes, [&](auto word) {
    using T = decltype(word);
    for (int64_t i = 0; i < count; ++i)
      static_cast<T*>(to)[i * to_stride] = static_cast<const T*>(from)[i * from_stride];
  });
}

RowKernel row_kernel(PointwiseFunction function, DataType type) {
  return is_real(type) ? real_kernel(function, type) : integer_kernel(function, type);
}

/// One thread's walk over pieces of rows.
class Walk {
 public:
  Walk(const TypedPlan& plan, const void* const* inputs, void* const* outputs, void* scratch)
      : plan_(plan), inputs_(inputs), outputs_(outputs), scratch_(static_cast<char*>(scratch)) {
    values_.resize(plan.types.size());
  }

  void piece(int64_t row, int64_t first, int64_t count) {
    for (size_t i = 0; i < static_cast<size_t>(plan_.program.inputs); ++i)
      load(i, row, first, count);
    for (size_t i = 0; i < plan_.program.instructions.size(); ++i) apply(i, count);
    for (size_t i = 0; i < plan_.program.outputs.size(); ++i) store(i, row, first, count);
  }

 private:
  char* slot(size_t value) { return scratch_ + value * kTypedBlock * sizeof(int64_t); }

  int64_t offset(size_t operand, int64_t row, int64_t first) const {
    const auto &extents = plan_.loops.extents, &strides = plan_.loops.strides[operand];
    int64_t at = first * strides.back();
    for (size_t axis = extents.size() - 1; axis-- > 0;) {
      at += row % extents[axis] * strides[axis];
      row /= extents[axis];
    }
    return at;
  }

  void load(size_t input, int64_t row, int64_t first, int64_t count) {
    const int bytes = byte_size(plan_.types[input]);
    const int64_t stride = plan_.loops.strides[input].back();
    const char* from = static_cast<const char*>(inputs_[input]) + offset(input, row, first) * bytes;
    values_[input] = {from, stride};
    if (stride == 0 || stride == 1) return;
    move_row(bytes, from, stride, slot(input), 1, count);
    values_[input] = {slot(input), 1};
  }

  void apply(size_t index, int64_t count) {
    const auto& instruction = plan_.program.instructions[index];
    const size_t value = static_cast<size_t>(plan_.program.inputs) + index;
    RowOperand operands[3];
    for (int i = 0; i < 3 && instruction.sources[i] >= 0; ++i)
      operands[i] = values_[static_cast<size_t>(instruction.sources[i])];
    const DataType from = plan_.types[static_cast<size_t>(instruction.sources[0])];
    if (instruction.is_cast)
      cast_row(from, instruction.to, operands[0], slot(value), count);
    else if (instruction.function == PointwiseFunction::k_where)
      select_row(byte_size(instruction.to), operands, slot(value), count);
    else
      row_kernel(instruction.function, from)(operands, slot(value), count, instruction.alpha,
                                             instruction.beta);
    values_[value] = {slot(value), 1};
  }

  void store(size_t output, int64_t row, int64_t first, int64_t count) {
    const auto value = static_cast<size_t>(plan_.program.outputs[output]);
    const size_t operand = static_cast<size_t>(plan_.program.inputs) + output;
    const int bytes = byte_size(plan_.types[value]);
    move_row(bytes, values_[value].data, values_[value].stride,
             static_cast<char*>(outputs_[output]) + offset(operand, row, first) * bytes,
             plan_.loops.strides[operand].back(), count);
  }

  const TypedPlan& plan_;
  const void* const* inputs_;
  void* const* outputs_;
  char* scratch_;
  std::vector<RowOperand> values_;
};

}  // namespace

bool is_typed_block_type(DataType type) {
  switch (type) {
    case DataType::kFloat32:
    case DataType::kInt8:
    case DataType::kInt32:
    case DataType::kInt64:
    case DataType::kUInt8:
    case DataType::kBool: return true;
    default: return false;
  }
}

bool has_row_function(const PointwiseProgram::Instruction& instruction, DataType operand) {
  return instruction.is_cast || instruction.function == PointwiseFunction::k_where ||
         row_kernel(instruction.function, operand) != nullptr;
}

int64_t TypedPlan::rows() const {
  int64_t count = 1;
  for (size_t i = 0; i + 1 < loops.extents.size(); ++i) count *= loops.extents[i];
  return count;
}

void run_typed(const TypedPlan& plan, const void* const* inputs, void* const* outputs,
               ThreadPool& pool, void* scratch) {
  const int64_t pieces = ceil_div(plan.row(), kTypedBlock);
  const int64_t grain = std::max<int64_t>(1, kTaskElements / std::min(kTypedBlock, plan.row()));
  pool.parallel_for(plan.rows() * pieces, grain, [&](int64_t begin, int64_t end, int worker) {
    Walk walk(plan, inputs, outputs,
              static_cast<char*>(scratch) +
                  static_cast<size_t>(worker) * plan.worker_bytes(pool.threads()));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * kTypedBlock;
      walk.piece(i / pieces, first, std::min(kTypedBlock, plan.row() - first));
    }
  });
}

}  // namespace tenon::cpu

// Gather, GatherElements, GatherND and their scatters.
#include <algorithm>
#include <optional>
#include <span>

#include "kernels/cpu_tactic.h"
#include "kernels/movement/indexed_copy.h"
#include "kernels/movement/picked_rows.h"
#include "kernels/movement/strided_copy.h"
#include "kernels/movement/words.h"
#include "kernels/strides.h"
#include "ops/movement.h"

namespace tenon::tactics {
namespace {

using Order = cpu::IndexedCopy::Order;

int64_t place_of(int64_t axis, const Operand& x) {
  return axis < 0 ? axis + x.rank() : axis;
}

/// How x, the indices and the other side (results of a gather, updates of a scatter) go together.
struct Operands {
  const Operand &x, &indices, &other;
};

Status check(const Operands& o) {
  if (o.indices.type != DataType::kInt64 && o.indices.type != DataType::kInt32)
    return unsupported("indices that are neither i64 nor i32");
  if (o.other.count() == 0 || o.x.count() == 0) return unsupported("an empty tensor");
  return {};
}

cpu::IndexedCopy start(const Operands& o) {
  cpu::IndexedCopy copy;
  copy.bytes = static_cast<int>(byte_size(o.x.type));
  copy.wide = o.indices.type == DataType::kInt64;
  copy.extents = o.other.extents;
  copy.plain = strides_of(o.other);
  return copy;
}

/// x[..., indices, ...].
cpu::IndexedCopy along_axis(const Operands& o, int64_t axis) {
  cpu::IndexedCopy copy = start(o);
  const std::vector<int64_t> x = strides_of(o.x), indices = strides_of(o.indices);
  copy.indexed.assign(x.begin(), x.begin() + axis);
  copy.indexed.insert(copy.indexed.end(), indices.size(), 0);
  copy.indexed.insert(copy.indexed.end(), x.begin() + axis + 1, x.end());
  copy.index.assign(x.size() - 1 + indices.size(), 0);
  std::copy(indices.begin(), indices.end(), copy.index.begin() + axis);
  copy.tuple = {{o.x.extents[axis], x[axis]}};
  copy.simplify(Order::kAny);
  return copy;
}

/// Elements picked one by one along an axis.
cpu::IndexedCopy elements(const Operands& o, int64_t axis, Order order) {
  cpu::IndexedCopy copy = start(o);
  copy.indexed = strides_of(o.x);
  copy.index = strides_of(o.indices);
  copy.tuple = {{o.x.extents[axis], copy.indexed[axis]}};
  copy.indexed[axis] = 0;
  copy.simplify(order);
  return copy;
}

/// Slices picked by tuples.
cpu::IndexedCopy tuples(const Operands& o, int64_t batch, Order order) {
  cpu::IndexedCopy copy = start(o);
  const std::vector<int64_t> x = strides_of(o.x), indices = strides_of(o.indices);
  const int64_t length = o.indices.extents.back(), places = o.indices.rank() - 1;
  copy.indexed.assign(x.begin(), x.begin() + batch);
  copy.indexed.resize(static_cast<size_t>(places), 0);
  copy.indexed.insert(copy.indexed.end(), x.begin() + batch + length, x.end());
  copy.index.assign(indices.begin(), indices.end() - 1);
  copy.index.resize(copy.extents.size(), 0);
  for (int64_t t = 0; t < length; ++t) copy.tuple.push_back({o.x.extents[batch + t], x[batch + t]});
  copy.tuple_step = indices.back();
  copy.simplify(order);
  return copy;
}

/// The places of the indices, input 1: found out once where they are known now, else at each
/// launch, in its workspace.
class Offsets {
 public:
  static Result<Offsets> make(const cpu::IndexedCopy& copy, const Problem& problem) {
    Offsets offsets;
    const Operand& indices = problem.input(1);
    if (indices.constant == nullptr || !indices.constant->defined() || !indices.dense())
      return offsets;
    offsets.known_.resize(static_cast<size_t>(copy.tuples()));
    cpu::ThreadPool pool(1);
    TENON_TRY(copy.resolve(indices.constant->bytes(), offsets.known_.data(), pool));
    return offsets;
  }

  Result<const int64_t*> of(const cpu::IndexedCopy& copy, const LaunchArguments& arguments) const {
    if (!known_.empty()) return known_.data();
    auto* resolved = static_cast<int64_t*>(arguments.workspace);
    TENON_TRY(copy.resolve(arguments.inputs[1], resolved, *arguments.queue.pool));
    return resolved;
  }
  size_t workspace_bytes(const cpu::IndexedCopy& copy) const {
    return known_.empty() ? static_cast<size_t>(copy.tuples()) * sizeof(int64_t) : 0;
  }
  bool uses_input(int input) const { return input != 1 || known_.empty(); }
  std::span<const int64_t> known() const { return known_; }

 private:
  std::vector<int64_t> known_;
};

}  // namespace

namespace gather_indexed {
namespace {

Result<cpu::IndexedCopy> describe(const Problem& problem) {
  const Operation& node = problem.operation;
  const auto* gather = node.as<Gather>();
  const auto* picked = node.as<GatherElements>();
  const auto* nd = node.as<GatherNd>();
  if (gather == nullptr && picked == nullptr && nd == nullptr) return unsupported("not a gather");
  const Operands o{problem.input(0), problem.input(1), problem.output()};
  TENON_TRY(check(o));
  if (gather != nullptr) return along_axis(o, place_of(gather->axis, o.x));
  if (picked != nullptr) return elements(o, place_of(picked->axis, o.x), Order::kAny);
  return tuples(o, nd->batch_dims, Order::kAny);
}

/// Every row picks the same elements of its own row of the source, which are known.
std::optional<cpu::PickedRows> same_in_all_rows(const cpu::IndexedCopy& copy,
                                                std::span<const int64_t> offsets, cpu::Isa isa) {
  const cpu::IndexedCopy::Row row = copy.row();
  const bool fits = copy.extents.size() == 2 && copy.bytes == 4 && copy.index[0] == 0 &&
                    row.plain == 1 && row.indexed == 0 && row.offset == 1;
  return fits && !offsets.empty() ? cpu::PickedRows::make(offsets, isa) : std::nullopt;
}

class GatherKernel final : public Kernel {
 public:
  GatherKernel(cpu::IndexedCopy copy, Offsets offsets, cpu::Isa isa)
      : copy_(std::move(copy)),
        offsets_(std::move(offsets)),
        picked_(same_in_all_rows(copy_, offsets_.known(), isa)) {}

  Status run(const LaunchArguments& arguments) const override {
    if (picked_.has_value()) {
      picked_->run(static_cast<const uint32_t*>(arguments.inputs[0]), copy_.indexed[0],
                   static_cast<uint32_t*>(arguments.outputs[0]), copy_.plain[0], copy_.extents[0],
                   *arguments.queue.pool);
      return {};
    }
    if (picks())
      return copy_.pick(arguments.inputs[0], arguments.inputs[1], arguments.outputs[0],
                        *arguments.queue.pool);
    TENON_ASSIGN(const int64_t* offsets, offsets_.of(copy_, arguments));
    copy_.gather(arguments.inputs[0], offsets, arguments.outputs[0], *arguments.queue.pool);
    return {};
  }
  size_t workspace_bytes() const override { return picks() ? 0 : offsets_.workspace_bytes(copy_); }
  bool uses_input(int input) const override { return offsets_.uses_input(input); }

 private:
  bool picks() const { return offsets_.known().empty() && copy_.picks_elements(); }

  cpu::IndexedCopy copy_;
  Offsets offsets_;
  std::optional<cpu::PickedRows> picked_;
};

Result<std::unique_ptr<Kernel>> make(const Problem& problem, cpu::IndexedCopy copy) {
  TENON_ASSIGN(Offsets offsets, Offsets::make(copy, problem));
  return make_kernel<GatherKernel>(std::move(copy), std::move(offsets),
                                   cpu::isa_up_to(problem.isa_limit));
}

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make)

}  // namespace gather_indexed

namespace scatter_indexed {
namespace {

struct Description {
  cpu::IndexedCopy copy;  ///< From the updates into the result.
  ScatterReduction reduction = ScatterReduction::kNone;
};

Result<Description> describe(const Problem& problem) {
  const auto* picked = problem.operation.as<ScatterElements>();
  const auto* nd = problem.operation.as<ScatterNd>();
  if (picked == nullptr && nd == nullptr) return unsupported("not a scatter");
  const Operands o{problem.output(), problem.input(1), problem.input(2)};
  TENON_TRY(check(o));
  Description d;
  d.reduction = picked != nullptr ? picked->reduction : nd->reduction;
  if (d.reduction != ScatterReduction::kNone && o.x.type != DataType::kFloat32)
    return unsupported("a reduction of other types than f32");
  d.copy = picked != nullptr ? elements(o, place_of(picked->axis, o.x), Order::kGiven)
                             : tuples(o, 0, Order::kGiven);
  return d;
}

struct Replace {
  template <class T> static T combined(T, T update) { return update; }
};
struct Add {
  static float combined(float x, float update) { return x + update; }
};
struct Multiply {
  static float combined(float x, float update) { return x * update; }
};
struct Larger {
  static float combined(float x, float update) { return x > update || x != x ? x : update; }
};
struct Smaller {
  static float combined(float x, float update) { return x < update || x != x ? x : update; }
};

template <class How, class T>
void combine_row(const cpu::IndexedCopy::Row& row, const T* from, const int64_t* offsets, T* to) {
  if (row.offset == 0 && row.plain == 1 && row.indexed == 1) {
    to += *offsets;
    for (int64_t i = 0; i < row.count; ++i) to[i] = How::combined(to[i], from[i]);
    return;
  }
  for (int64_t i = 0; i < row.count; ++i) {
    T& place = to[i * row.indexed + offsets[i * row.offset]];
    place = How::combined(place, from[i * row.plain]);
  }
}

template <class How, class T>
void combine_all(const cpu::IndexedCopy& copy, const int64_t* offsets, const void* updates,
                 void* y) {
  const cpu::IndexedCopy::Row row = copy.row();
  copy.run_rows(offsets, [&](int64_t plain, int64_t indexed, const int64_t* own) {
    combine_row<How>(row, static_cast<const T*>(updates) + plain, own,
                     static_cast<T*>(y) + indexed);
  });
}

class ScatterKernel final : public Kernel {
 public:
  ScatterKernel(Description description, cpu::StridedCopy base, Offsets offsets)
      : description_(std::move(description)),
        base_(std::move(base)),
        offsets_(std::move(offsets)) {}

  Status run(const LaunchArguments& arguments) const override {
    TENON_ASSIGN(const int64_t* offsets, offsets_.of(description_.copy, arguments));
    base_.run(arguments.inputs[0], arguments.outputs[0], *arguments.queue.pool);
    update(offsets, arguments.inputs[2], arguments.outputs[0]);
    return {};
  }
  size_t workspace_bytes() const override { return offsets_.workspace_bytes(description_.copy); }
  bool uses_input(int input) const override { return offsets_.uses_input(input); }

 private:
  void update(const int64_t* offsets, const void* updates, void* y) const {
    const cpu::IndexedCopy& copy = description_.copy;
    switch (description_.reduction) {
      case ScatterReduction::kAdd: return combine_all<Add, float>(copy, offsets, updates, y);
      case ScatterReduction::kMul: return combine_all<Multiply, float>(copy, offsets, updates, y);
      case ScatterReduction::kMax: return combine_all<Larger, float>(copy, offsets, updates, y);
      case ScatterReduction::kMin: return combine_all<Smaller, float>(copy, offsets, updates, y);
      case ScatterReduction::kNone: break;
    }
    cpu::with_word(copy.bytes,
                   [&]<class T>(T) { combine_all<Replace, T>(copy, offsets, updates, y); });
  }

  Description description_;
  cpu::StridedCopy base_;
  Offsets offsets_;
};

Result<std::unique_ptr<Kernel>> make(const Problem& problem, Description d) {
  TENON_ASSIGN(Offsets offsets, Offsets::make(d.copy, problem));
  cpu::StridedCopy base =
      cpu::StridedCopy::make(problem.output().extents, strides_of(problem.input(0)),
                             strides_of(problem.output()), d.copy.bytes);
  return make_kernel<ScatterKernel>(std::move(d), std::move(base), std::move(offsets));
}

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make)

}  // namespace scatter_indexed

}  // namespace tenon::tactics

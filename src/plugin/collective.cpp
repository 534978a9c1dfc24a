// Collective operations among devices: layers of a network that NCCL runs.
#include "plugin/collective.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

namespace tenon::plugin {
namespace {

using nvinfer1::DataType;

struct TypeRow {
  DataType type;
  int nccl;
  size_t bytes;
  bool reduces;  ///< NCCL adds up such numbers.
};
constexpr TypeRow kTypes[] = {
    {DataType::kFLOAT, 7, 4, true}, {DataType::kHALF, 6, 2, true},  {DataType::kBF16, 9, 2, true},
    {DataType::kINT32, 2, 4, true}, {DataType::kINT64, 4, 8, true}, {DataType::kUINT8, 1, 1, true},
    {DataType::kBOOL, 1, 1, false}, {DataType::kINT8, 0, 1, false}, {DataType::kFP8, 1, 1, false},
};

const TypeRow* row_of(DataType type) {
  const auto* const found = std::ranges::find(kTypes, type, &TypeRow::type);
  return found == std::end(kTypes) ? nullptr : found;
}

size_t count_of(const nvinfer1::PluginTensorDesc& tensor) {
  size_t count = 1;
  for (int i = 0; i < tensor.dims.nbDims; ++i) count *= static_cast<size_t>(tensor.dims.d[i]);
  return count;
}

class CollectiveInstance final : public Instance {
 public:
  explicit CollectiveInstance(Collective collective) : collective_(std::move(collective)) {}

  tenon::plugin::Identity identity() const override { return {"DistCollective", "1", kOwnSpace}; }
  int32_t output_count() const override { return 1; }
  Result<std::vector<DataType>> output_types(std::span<const DataType> inputs) override {
    return std::vector<DataType>{inputs[0]};
  }

  Result<Words> output_shapes(std::span<const nvinfer1::Dims> inputs,
                              std::span<const int32_t>) override {
    ExpressionBuilder builder(1);
    nvinfer1::DimsExprs extents = builder.extents(0, inputs[0]);
    if (collective_.changes_shape()) {
      if (extents.nbDims < 1) return failed("a scalar has no axis to gather or scatter along");
      const bool gathers = collective_.kind == CollectiveKind::kAllGather;
      const int64_t first = inputs[0].d[0], parts = collective_.participants();
      if (!gathers && first >= 0 && first % parts != 0)
        return failed(fmt::format("{} rows cannot be scattered to {} ranks", first, parts));
      extents.d[0] = builder.operation(
          gathers ? nvinfer1::DimensionOperation::kPROD : nvinfer1::DimensionOperation::kFLOOR_DIV,
          *extents.d[0], *builder.constant(parts));
    }
    Words words;
    if (!append_shape(words, extents)) return failed("its input has extents that are not known");
    return words;
  }

  bool takes(int32_t position, std::span<const OperandType> operands, int32_t) override {
    const OperandType& operand = operands[static_cast<size_t>(position)];
    const TypeRow* row = row_of(operand.type);
    if (row == nullptr || operand.format != nvinfer1::TensorFormat::kLINEAR) return false;
    if (collective_.reduces() && !row->reduces) return false;
    return position == 0 ||
           (operand.type == operands[0].type && operand.scale == operands[0].scale);
  }
  Status configure(std::span<const OperandType>, int32_t) override { return {}; }

  Result<std::string> serialized() override {
    std::string text = fmt::format("{} {} {} {}", static_cast<int64_t>(collective_.kind),
                                   collective_.reduction, collective_.root, collective_.ranks);
    for (const int64_t rank : collective_.group) text += fmt::format(" {}", rank);
    return text;
  }

  Status prepare(std::span<const nvinfer1::PluginTensorDesc> inputs,
                 std::span<const nvinfer1::PluginTensorDesc>, int32_t,
                 nvinfer1::IPluginResourceContext* resources) override {
    resources_ = dynamic_cast<CollectiveResources*>(resources);
    if (resources_ == nullptr) return internal_error("a collective has no resources");
    const int64_t rows = inputs[0].dims.nbDims > 0 ? inputs[0].dims.d[0] : 1;
    if (collective_.kind == CollectiveKind::kReduceScatter &&
        rows % collective_.participants() != 0)
      return failed(
          fmt::format("{} rows cannot be scattered to {} ranks", rows, collective_.participants()));
    return {};
  }
  size_t workspace_bytes() const override { return 0; }

  Status enqueue(std::span<const nvinfer1::PluginTensorDesc> inputs,
                 std::span<const nvinfer1::PluginTensorDesc> outputs, const void* const* from,
                 void* const* to, void*, void* stream) override {
    const TypeRow& type = *row_of(inputs[0].type);
    const size_t in = count_of(inputs[0]), out = count_of(outputs[0]);
    Communication* const all = resources_->communication();
    if (all == nullptr || (!all->is_set() && collective_.participants() == 1))
      return copy(from[0], in * type.bytes, to[0], out * type.bytes, stream);
    if (!all->is_set())
      return failed(
          fmt::format("it runs among {} ranks: give the context its communicator "
                      "(setCommunicator)",
                      collective_.participants()));
    TENON_ASSIGN(void* const among, all->among(collective_.group));
    if (among == nullptr)  // No rank of the group: its result is its own input.
      return copy(from[0], in * type.bytes, to[0], out * type.bytes, stream);
    return run(all->nccl(), among, type, from[0], in, to[0], out, stream);
  }

 private:
  /// Each rank is taken to hold the same.
  Status copy(const void* from, size_t in, void* to, size_t out, void* stream) const {
    if (in == 0) return {};
    for (size_t place = 0; place < out; place += in)
      TENON_TRY(resources_->copy(static_cast<std::byte*>(to) + place, from,
                                 std::min(in, out - place), stream));
    return {};
  }

  Status run(const Nccl& nccl, void* among, const TypeRow& type, const void* from, size_t in,
             void* to, size_t out, void* stream) const {
    int ranks = 0, rank = 0;
    TENON_TRY(nccl.check(nccl.count(among, &ranks), "ncclCommCount"));
    TENON_TRY(nccl.check(nccl.rank(among, &rank), "ncclCommUserRank"));
    if (collective_.changes_shape() && ranks != collective_.participants())
      return failed(fmt::format("it was built for {} ranks (setNbRanks), the communicator has {}",
                                collective_.participants(), ranks));
    const auto reduction = static_cast<int>(collective_.reduction);
    const int root = root_among();
    if (collective_.has_root() && root >= ranks)
      return failed(fmt::format("its root is rank {} of {}", collective_.root, ranks));
    switch (collective_.kind) {
      case CollectiveKind::kAllReduce:
        return nccl.check(nccl.all_reduce(from, to, in, type.nccl, reduction, among, stream),
                          "ncclAllReduce");
      case CollectiveKind::kAllGather:
        return nccl.check(nccl.all_gather(from, to, in, type.nccl, among, stream), "ncclAllGather");
      case CollectiveKind::kBroadcast:
        return nccl.check(nccl.broadcast(from, to, in, type.nccl, root, among, stream),
                          "ncclBroadcast");
      case CollectiveKind::kReduce:
        // The others' results, which NCCL leaves alone, are their inputs.
        if (rank != root) TENON_TRY(copy(from, in * type.bytes, to, in * type.bytes, stream));
        return nccl.check(nccl.reduce(from, to, in, type.nccl, reduction, root, among, stream),
                          "ncclReduce");
      case CollectiveKind::kReduceScatter:
        return nccl.check(nccl.reduce_scatter(from, to, out, type.nccl, reduction, among, stream),
                          "ncclReduceScatter");
    }
    return internal_error("no such collective");
  }

  /// Groups are communicators of their own, in which ranks count on from 0.
  int root_among() const {
    const auto found = std::ranges::find(collective_.group, collective_.root);
    return static_cast<int>(collective_.group.empty() ? collective_.root
                                                      : found - collective_.group.begin());
  }

  Collective collective_;
  CollectiveResources* resources_ = nullptr;
};

}  // namespace

Communication::~Communication() {
  forget_parts();
}

void Communication::forget_parts() {
  for (const auto& [ranks, part] : parts_)
    if (part != nullptr) nccl_->destroy(part);
  parts_.clear();
}

Status Communication::set(void* communicator) {
  if (communicator == whole_) return {};
  TENON_ASSIGN(const Nccl nccl, Nccl::find());
  int ranks = 0;
  TENON_TRY(nccl.check(nccl.count(communicator, &ranks), "ncclCommCount"));
  forget_parts();
  nccl_ = nccl;
  whole_ = communicator;
  return {};
}

Result<void*> Communication::among(const std::vector<int64_t>& ranks) {
  if (ranks.empty()) return whole_;
  const auto known = parts_.find(ranks);
  if (known != parts_.end()) return known->second;
  if (nccl_->split == nullptr)
    return unsupported("groups of ranks need ncclCommSplit, which NCCL has from 2.18 on");
  int own = 0;
  TENON_TRY(nccl_->check(nccl_->rank(whole_, &own), "ncclCommUserRank"));
  const auto place = std::ranges::find(ranks, own);
  constexpr int kNoColor = -1;
  void* part = nullptr;
  TENON_TRY(nccl_->check(nccl_->split(whole_, place == ranks.end() ? kNoColor : 0,
                                      static_cast<int>(place - ranks.begin()), &part, nullptr),
                         "ncclCommSplit"));
  parts_[ranks] = part;
  return part;
}

Status Collective::check() const {
  constexpr int64_t kReductions = 5;
  if (reduces() && (reduction < 0 || reduction >= kReductions))
    return user_error("this collective needs a reduction");
  if (ranks < 1) return user_error("there is at least one rank");
  if (std::ranges::any_of(group, [](int64_t rank) { return rank < 0; }) ||
      std::set(group.begin(), group.end()).size() != group.size())
    return user_error("a group is of different ranks from 0 on");
  const bool known = group.empty() ? root >= 0 : std::ranges::find(group, root) != group.end();
  if (has_root() && !known) return user_error("the root is no rank of the group");
  return {};
}

std::unique_ptr<Instance> make_collective(Collective collective) {
  return std::make_unique<CollectiveInstance>(std::move(collective));
}

Result<std::unique_ptr<Instance>> read_collective(const std::string& serialized) {
  std::vector<int64_t> numbers;
  const char* at = serialized.data();
  const char* const end = at + serialized.size();
  while (at < end) {
    const auto [next, status] = std::from_chars(at, end, numbers.emplace_back());
    if (status != std::errc()) return user_error("a collective's fields are damaged");
    at = next == end ? end : next + 1;
  }
  constexpr size_t kFields = 4;
  if (numbers.size() < kFields || numbers[0] < 0 ||
      numbers[0] > static_cast<int64_t>(CollectiveKind::kReduceScatter))
    return user_error("a collective's fields are damaged");
  Collective collective{static_cast<CollectiveKind>(numbers[0]),
                        numbers[1],
                        numbers[2],
                        numbers[3],
                        {numbers.begin() + kFields, numbers.end()}};
  TENON_TRY(collective.check());
  return make_collective(std::move(collective));
}

}  // namespace tenon::plugin

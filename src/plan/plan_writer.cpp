#include <flatbuffers/flatbuffers.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstring>
#include <functional>
#include <span>
#include <unordered_map>

#include "base/arithmetic.h"
#include "base/guard.h"
#include "base/mapped_file.h"
#include "base/version.h"
#include "ops/structure.h"
#include "plan/plan_file.h"
#include "plan/plan_format.h"
#include "plan/plan_generated.h"

namespace tenon {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

/// Weights in the order they were met; equal tensors are stored once.
class WeightSection {
 public:
  explicit WeightSection(bool strip) : strips_(strip), strip_(strip) {}
  bool holds(const Tensor& tensor) const {
    return tensor.defined() && !(strip_ && is_strippable(tensor));
  }
  /// From here on, as it says, or as of the beginning again.
  void keep_all(bool keep) { strip_ = strips_ && !keep; }
  uint64_t add(const Tensor& tensor) {
    const auto [entry, is_new] = offsets_.try_emplace(tensor.content_hash(), size_);
    if (is_new) {
      tensors_.push_back(tensor);
      size_ = round_up(size_ + tensor.byte_count(), kWeightAlignment);
    }
    return entry->second;
  }
  size_t size() const { return size_; }
  std::span<Tensor> tensors() { return tensors_; }

 private:
  std::unordered_map<std::string, uint64_t> offsets_;
  std::vector<Tensor> tensors_;
  size_t size_ = 0;
  bool strips_, strip_;
};

Offset<fb::Tensor> write_tensor(FlatBufferBuilder& builder, WeightSection& weights,
                                const Tensor& tensor) {
  const auto extents = builder.CreateVector(tensor.extents());
  const bool stored = weights.holds(tensor);
  const uint64_t offset = stored ? weights.add(tensor) : 0;
  return fb::CreateTensor(builder, static_cast<uint8_t>(tensor.type()), extents, offset, stored);
}

/// Packed weights of all nodes lie together in the order of use, for steps to prefetch.
void place_packed(const Graph& graph, WeightSection& weights) {
  for (const auto& node : graph.nodes())
    if (weights.holds(node->packed)) weights.add(node->packed);
}

/// Turns attributes into their table form.
class AttributeWriter final : public AttributeVisitor {
 public:
  AttributeWriter(FlatBufferBuilder& builder, WeightSection& weights)
      : builder_(builder), weights_(weights) {}

  void visit(std::string_view name, bool& value) override { integers(name, {value}); }
  void visit(std::string_view name, int64_t& value) override { integers(name, {value}); }
  void visit(std::string_view name, DataType& value) override {
    integers(name, {static_cast<int64_t>(value)});
  }
  void visit(std::string_view name, std::vector<int64_t>& value) override { integers(name, value); }
  void visit_enum(std::string_view name, int& value, std::span<const std::string_view>) override {
    integers(name, {value});
  }
  void visit(std::string_view name, double& value) override { reals(name, {value}); }
  void visit(std::string_view name, std::vector<double>& value) override { reals(name, value); }
  void visit(std::string_view name, std::string& value) override { texts(name, {value}); }
  void visit(std::string_view name, std::vector<std::string>& value) override {
    texts(name, value);
  }
  void visit(std::string_view name, Tensor& value) override {
    // The reader's default. A scalar of another type is told from it though its contents are gone.
    if (!value.defined() && value.extents().empty() && value.type() == Tensor().type()) return;
    add(name, 0, 0, 0, write_tensor(builder_, weights_, value));
  }

  std::vector<Offset<fb::Attribute>> attributes;

 private:
  void integers(std::string_view name, const std::vector<int64_t>& v) {
    add(name, builder_.CreateVector(v), 0, 0, 0);
  }
  void reals(std::string_view name, const std::vector<double>& v) {
    add(name, 0, builder_.CreateVector(v), 0, 0);
  }
  void texts(std::string_view name, const std::vector<std::string>& v) {
    add(name, 0, 0, builder_.CreateVectorOfStrings(v), 0);
  }
  void add(std::string_view name, Offset<flatbuffers::Vector<int64_t>> i,
           Offset<flatbuffers::Vector<double>> r,
           Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> t, Offset<fb::Tensor> tensor) {
    const auto text = builder_.CreateString(name.data(), name.size());
    attributes.push_back(fb::CreateAttribute(builder_, text, i, r, t, tensor));
  }

  FlatBufferBuilder& builder_;
  WeightSection& weights_;
};

class GraphWriter {
 public:
  /// Of a network, `refits` it: unnamed weights cannot be given again.
  GraphWriter(FlatBufferBuilder& builder, WeightSection& weights, bool refits = false)
      : builder_(builder), weights_(weights), refits_(refits) {}

  Offset<fb::Graph> write(const Graph& graph) {
    std::unordered_map<const Value*, int> index;
    std::vector<Offset<fb::Value>> values;
    auto number = [&](const Value* value) {
      index.emplace(value, static_cast<int>(values.size()));
      values.push_back(write_value(*value));
    };
    for (const Value* input : graph.inputs()) number(input);
    std::vector<Offset<fb::Node>> nodes;
    for (const auto& node : graph.nodes()) {
      for (const Value* output : node->outputs()) number(output);
      nodes.push_back(write_node(*node, index));
    }
    const auto inputs = indices(graph.inputs(), index), outputs = indices(graph.outputs(), index);
    std::vector<Offset<fb::Symbol>> symbols;
    for (const auto& [name, range] : graph.symbol_ranges)
      symbols.push_back(
          fb::CreateSymbol(builder_, builder_.CreateString(name), range.min, range.max));
    return fb::CreateGraph(builder_, builder_.CreateString(graph.name),
                           builder_.CreateVector(symbols), builder_.CreateVector(values),
                           builder_.CreateVector(inputs), builder_.CreateVector(outputs),
                           builder_.CreateVector(nodes));
  }

 private:
  using Index = std::unordered_map<const Value*, int>;

  static std::vector<int> indices(const std::vector<Value*>& values, const Index& index) {
    std::vector<int> result;
    for (const Value* value : values) result.push_back(value == nullptr ? -1 : index.at(value));
    return result;
  }

  Offset<fb::Value> write_value(const Value& value) {
    std::vector<std::string> shape;
    for (const Dim& dim : value.type.shape) shape.push_back(dim.to_string());
    return fb::CreateValue(
        builder_, builder_.CreateString(value.name), static_cast<uint8_t>(value.type.type),
        static_cast<uint8_t>(value.type.layout), builder_.CreateVectorOfStrings(shape));
  }

  Offset<fb::Node> write_node(const Node& node, const Index& index) {
    std::vector<Offset<fb::Graph>> bodies;
    for (const auto& body : node.bodies) bodies.push_back(write(*body));
    AttributeWriter attributes(builder_, weights_);
    weights_.keep_all(refits_ && node.is<Constant>() && node.output()->name.empty());
    node.op->visit_attributes(attributes);
    weights_.keep_all(false);
    const auto op = builder_.CreateString(node.op->name().data(), node.op->name().size());
    Offset<fb::Tensor> packed;
    if (weights_.holds(node.packed)) packed = write_tensor(builder_, weights_, node.packed);
    return fb::CreateNode(
        builder_, op, builder_.CreateString(node.name),
        builder_.CreateVectorOfStrings(node.origins), builder_.CreateVector(attributes.attributes),
        builder_.CreateVector(indices(node.inputs(), index)),
        builder_.CreateVector(indices(node.outputs(), index)), builder_.CreateVector(bodies),
        builder_.CreateString(node.tactic), packed);
  }

  FlatBufferBuilder& builder_;
  WeightSection& weights_;
  bool refits_;
};

Offset<fb::Profile> write_profile(FlatBufferBuilder& builder, const Profile& profile) {
  std::vector<Offset<fb::ShapeRange>> ranges;
  const auto values = [&](const std::vector<int64_t>& numbers) {
    return numbers.empty() ? 0 : builder.CreateVector(numbers);
  };
  for (const auto& [input, range] : profile)
    ranges.push_back(fb::CreateShapeRange(
        builder, builder.CreateString(input), builder.CreateVector(range.min),
        builder.CreateVector(range.opt), builder.CreateVector(range.max), values(range.min_values),
        values(range.opt_values), values(range.max_values)));
  return fb::CreateProfile(builder, builder.CreateVector(ranges));
}

/// Stripped plans have it, too: it holds no weights.
Offset<flatbuffers::Vector<Offset<fb::Code>>> write_codes(FlatBufferBuilder& builder,
                                                          WeightSection& weights,
                                                          const CodeLibrary* library) {
  if (library == nullptr || library->size() == 0) return 0;
  std::vector<Offset<fb::Code>> codes;
  library->for_each([&](const std::string& source, const CodeLibrary::Code& code) {
    const Tensor bytes(DataType::kUInt8, {static_cast<int64_t>(code.bytes.size())},
                       code.bytes.data(), code.owner);
    const auto extents = builder.CreateVector(bytes.extents());
    const auto tensor = fb::CreateTensor(builder, static_cast<uint8_t>(bytes.type()), extents,
                                         weights.add(bytes), true);
    codes.push_back(fb::CreateCode(builder, builder.CreateString(source), tensor, code.hash_low,
                                   code.hash_high));
  });
  return builder.CreateVector(codes);
}

Offset<flatbuffers::Vector<Offset<fb::Choice>>> write_choices(FlatBufferBuilder& builder,
                                                              const std::vector<Choice>& choices) {
  if (choices.empty()) return 0;
  std::vector<Offset<fb::Choice>> written;
  for (const Choice& choice : choices) {
    std::vector<std::string> symbols, tactics;
    std::vector<int64_t> values;
    std::vector<int> places;
    for (const auto& [symbol, value] : choice.symbols) {
      symbols.push_back(symbol);
      values.push_back(value);
    }
    for (const auto& [place, tactic] : choice.tactics) {
      places.push_back(place);
      tactics.push_back(tactic);
    }
    written.push_back(fb::CreateChoice(builder, builder.CreateVectorOfStrings(symbols),
                                       builder.CreateVector(values), builder.CreateVector(places),
                                       builder.CreateVectorOfStrings(tactics), choice.form));
  }
  return builder.CreateVector(written);
}

}  // namespace

PlanChecksum plan_checksum(std::span<const std::byte> file, bool mapped) {
  constexpr size_t kWindow = size_t{8} << 20;
  PlanHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  header.checksum = {0, 0};
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, &header, sizeof header);
  for (size_t at = sizeof header; at < file.size(); at += kWindow) {
    const auto window = file.subspan(at, std::min(kWindow, file.size() - at));
    XXH3_128bits_update(&state, window.data(), window.size());
    if (mapped) release_pages(window);
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return {hash.low64, hash.high64};
}

namespace {

/// The description, finished; `weights` has the tensors that it names.
FlatBufferBuilder described(const Plan& plan, bool strip, WeightSection& weights) {
  FlatBufferBuilder builder;
  place_packed(*plan.graph, weights);
  const auto graph = GraphWriter(builder, weights).write(*plan.graph);
  std::vector<Offset<fb::Graph>> forms;
  for (const auto& form : plan.forms) forms.push_back(GraphWriter(builder, weights).write(*form));
  Offset<fb::Graph> network;
  if (plan.network != nullptr) network = GraphWriter(builder, weights, true).write(*plan.network);
  const auto codes = write_codes(builder, weights, plan.code.get());
  const auto choices = write_choices(builder, plan.choices);
  const auto libraries = write_codes(builder, weights, plan.libraries.get());
  std::vector<Offset<fb::Profile>> profiles;
  for (const Profile& profile : plan.profiles) profiles.push_back(write_profile(builder, profile));
  std::vector<Offset<fb::Setting>> settings;
  std::map<std::string, std::string> written = plan.settings;
  if (strip) written.emplace(kStrippedSetting, "yes");
  for (const auto& [name, value] : written)
    settings.push_back(
        fb::CreateSetting(builder, builder.CreateString(name), builder.CreateString(value)));
  builder.Finish(fb::CreatePlan(
      builder, static_cast<uint8_t>(plan.device), builder.CreateString(plan.device_name),
      builder.CreateString(plan.architecture), builder.CreateVector(settings),
      builder.CreateVectorOfStrings(plan.passes), builder.CreateVector(profiles), graph, network,
      codes, choices, libraries, builder.CreateVector(forms)));
  return builder;
}

/// The parts of a file, one behind the other.
class FileParts {
 public:
  FileParts(const FlatBufferBuilder& builder, WeightSection& weights)
      : description_(reinterpret_cast<const std::byte*>(builder.GetBufferPointer()),
                     builder.GetSize()),
        weights_(weights),
        offset_(round_up(kPlanPage + description_.size(), kPlanPage)),
        header_{kPlanMagic,
                0,
                size(),
                description_.size(),
                {kApiMajor, kApiMinor, kApiPatch, kApiBuild},
                kPlanFormat,
                offset_,
                {0, 0}} {}

  size_t size() const { return offset_ + weights_.size(); }

  /// Tensors that have no other owner are gone behind it.
  Status write(PlanSink& sink) {
    TENON_TRY(sink.begin(size()));
    header_.checksum = checksum();
    return each([&](std::span<const std::byte> part) { return sink.take(part); },
                [](Tensor& tensor) { tensor = {}; });
  }

 private:
  template <class Use, class Used> Status each(const Use& use, const Used& used) {
    static constexpr std::array<std::byte, kPlanPage> kZeros{};
    const std::span zeros(kZeros);
    TENON_TRY(use(std::as_bytes(std::span(&header_, 1))));
    TENON_TRY(use(zeros.first(kPlanPage - sizeof header_)));
    TENON_TRY(use(description_));
    TENON_TRY(use(zeros.first(offset_ - kPlanPage - description_.size())));
    for (Tensor& tensor : weights_.tensors()) {
      const auto bytes = static_cast<size_t>(tensor.byte_count());
      if (bytes > 0) TENON_TRY(use(std::span(tensor.bytes(), bytes)));
      TENON_TRY(use(zeros.first(round_up(bytes, kWeightAlignment) - bytes)));
      used(tensor);
    }
    return {};
  }

  PlanChecksum checksum() {
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    const Status hashed = each(
        [&](std::span<const std::byte> part) {
          XXH3_128bits_update(&state, part.data(), part.size());
          return Status();
        },
        [](Tensor&) {});
    static_cast<void>(hashed.ok());
    const XXH128_hash_t hash = XXH3_128bits_digest(&state);
    return {hash.low64, hash.high64};
  }

  const std::span<const std::byte> description_;
  WeightSection& weights_;
  const size_t offset_;
  PlanHeader header_;
};

/// `described_all` is called ahead of the weights.
Status write(const Plan& plan, bool strip, PlanSink& sink,
             const std::function<void()>& described_all) {
  return guarded("writing the plan", [&]() -> Status {
    WeightSection weights(strip || plan.stripped);
    const FlatBufferBuilder builder = described(plan, strip || plan.stripped, weights);
    described_all();
    return FileParts(builder, weights).write(sink);
  });
}

}  // namespace

Status PlanInMemory::begin(size_t bytes) {
  file = LargeBytes(bytes);
  return {};
}

Status PlanInMemory::take(std::span<const std::byte> part) {
  if (!part.empty()) std::memcpy(file.data() + at_, part.data(), part.size());
  at_ += part.size();
  return {};
}

Result<LargeBytes> write_plan(const Plan& plan, bool strip) {
  PlanInMemory sink;
  TENON_TRY(write(plan, strip, sink, [] {}));
  return std::move(sink.file);
}

Status write_and_free(Plan& plan, PlanSink& sink) {
  return write(plan, false, sink, [&plan] {
    plan.graph.reset();
    plan.forms.clear();
    plan.network.reset();
    plan.code.reset();
    plan.libraries.reset();
  });
}

Result<LargeBytes> write_and_free(Plan& plan) {
  PlanInMemory sink;
  TENON_TRY(write_and_free(plan, sink));
  return std::move(sink.file);
}

}  // namespace tenon

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "ops/table.h"
#include "ops/verifier.h"
#include "plan/plan_file.h"
#include "plan/plan_format.h"
#include "plan/plan_generated.h"
#include "plan/shape_values.h"

namespace tenon {
namespace {

constexpr int kMaxDepth = 64;  // Bodies within bodies; also FlatBuffers' own limit on nesting.

template <class... Args> Error damaged(fmt::format_string<Args...> format, Args&&... args) {
  return user_error("the plan is damaged: {}; build it again",
                    fmt::format(format, std::forward<Args>(args)...));
}

std::string text(const flatbuffers::String* string) {
  return string == nullptr ? std::string() : string->str();
}

/// FlatBuffers' verifier lets vectors of wide numbers lie anywhere, so they are copied as bytes.
template <class T> std::vector<T> numbers(const flatbuffers::Vector<T>* vector) {
  std::vector<T> values(vector == nullptr ? 0 : vector->size());
  if (!values.empty()) std::memcpy(values.data(), vector->Data(), values.size() * sizeof(T));
  return values;
}
template <class T> T first_number(const flatbuffers::Vector<T>& vector) {
  T value;
  std::memcpy(&value, vector.Data(), sizeof value);
  return value;
}

/// Those of a list that may be absent.
template <class T>
std::vector<const T*> each(const flatbuffers::Vector<flatbuffers::Offset<T>>* vector) {
  std::vector<const T*> all;
  if (vector != nullptr) all.assign(vector->begin(), vector->end());
  return all;
}

std::vector<std::string> texts(
    const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* vector) {
  std::vector<std::string> result;
  for (const auto* string : each(vector)) result.push_back(string->str());
  return result;
}

bool valid_type(uint8_t type) {
  return type <= static_cast<uint8_t>(DataType::kUInt2);
}

/// The weights section, from which tensors are handed out in place.
struct Weights {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;

  Result<Tensor> tensor(const fb::Tensor& description) const {
    const Extents extents = numbers(description.extents());
    if (!valid_type(description.type()))
      return damaged("a tensor has the unknown type {}", description.type());
    const auto type = static_cast<DataType>(description.type());
    const auto checked = checked_byte_count(type, extents);
    if (!checked.ok()) return damaged("a tensor has impossible extents");
    const auto size = static_cast<uint64_t>(*checked);
    if (!description.stored()) return Tensor(type, extents, nullptr, nullptr);
    if (description.offset() > bytes.size() || size > bytes.size() - description.offset())
      return damaged("a tensor of {} bytes lies outside the weights", size);
    if (description.offset() % kWeightAlignment != 0)
      return damaged("a tensor is not aligned to {} bytes", kWeightAlignment);
    return Tensor(type, extents, bytes.data() + description.offset(), owner);
  }
};

/// Gives every attribute its stored value; absent ones keep their default.
class AttributeReader final : public AttributeVisitor {
 public:
  AttributeReader(const fb::Node& node, const Weights& weights) : node_(node), weights_(weights) {}

  void visit(std::string_view name, bool& value) override {
    if (const int64_t* stored = integer(name)) value = *stored != 0;
  }
  void visit(std::string_view name, int64_t& value) override {
    if (const int64_t* stored = integer(name)) value = *stored;
  }
  void visit(std::string_view name, DataType& value) override {
    const int64_t* stored = integer(name);
    if (stored == nullptr) return;
    if (*stored < 0 || *stored > 255 || !valid_type(static_cast<uint8_t>(*stored)))
      return fail(name);
    value = static_cast<DataType>(*stored);
  }
  void visit_enum(std::string_view name, int& value,
                  std::span<const std::string_view> names) override {
    const int64_t* stored = integer(name);
    if (stored == nullptr) return;
    if (*stored < 0 || *stored >= static_cast<int64_t>(names.size())) return fail(name);
    value = static_cast<int>(*stored);
  }
  void visit(std::string_view name, std::vector<int64_t>& value) override {
    if (const auto* found = find(name)) value = numbers(found->integers());
  }
  void visit(std::string_view name, double& value) override {
    const auto* found = find(name);
    if (found == nullptr) return;
    if (found->reals() == nullptr || found->reals()->size() != 1) return fail(name);
    value = first_number(*found->reals());
  }
  void visit(std::string_view name, std::vector<double>& value) override {
    if (const auto* found = find(name)) value = numbers(found->reals());
  }
  void visit(std::string_view name, std::string& value) override {
    const auto* found = find(name);
    if (found == nullptr) return;
    if (found->texts() == nullptr || found->texts()->size() != 1) return fail(name);
    value = found->texts()->Get(0)->str();
  }
  void visit(std::string_view name, std::vector<std::string>& value) override {
    if (const auto* found = find(name)) value = texts(found->texts());
  }
  void visit(std::string_view name, Tensor& value) override {
    const auto* found = find(name);
    if (found == nullptr) return;
    if (found->tensor() == nullptr) return fail(name);
    auto tensor = weights_.tensor(*found->tensor());
    if (tensor.ok())
      value = std::move(tensor).value();
    else
      status = std::move(tensor).error();
  }

  Status status;

 private:
  const fb::Attribute* find(std::string_view name) const {
    if (node_.attributes() == nullptr) return nullptr;
    for (const auto* attribute : *node_.attributes())
      if (attribute->name() != nullptr && attribute->name()->string_view() == name)
        return attribute;
    return nullptr;
  }
  const int64_t* integer(std::string_view name) {
    const auto* found = find(name);
    if (found == nullptr) return nullptr;
    if (found->integers() == nullptr || found->integers()->size() != 1) {
      fail(name);
      return nullptr;
    }
    scratch_ = first_number(*found->integers());
    return &scratch_;
  }
  void fail(std::string_view name) {
    status = damaged("attribute '{}' of '{}'", name, text(node_.name()));
  }

  const fb::Node& node_;
  const Weights& weights_;
  int64_t scratch_ = 0;
};

class GraphReader {
 public:
  explicit GraphReader(const Weights& weights) : weights_(weights) {}

  Result<std::unique_ptr<Graph>> read(const fb::Graph* source, int depth) {
    if (source == nullptr || depth > kMaxDepth)
      return damaged("a graph is missing or nested too deeply");
    auto graph = std::make_unique<Graph>();
    graph->name = text(source->name());
    for (const auto* symbol : each(source->symbols()))
      graph->symbol_ranges[text(symbol->name())] = {symbol->min(), symbol->max()};
    std::vector<Value*> values(source->values() == nullptr ? 0 : source->values()->size(), nullptr);
    for (const int index : numbers(source->inputs())) {
      if (!fresh(values, index)) return damaged("input {} of graph '{}'", index, graph->name);
      values[index] = graph->add_input({}, {});
      TENON_TRY(read_value(*source->values()->Get(index), *values[index]));
    }
    for (const auto* node : each(source->nodes()))
      TENON_TRY(read_node(*source, *node, *graph, values, depth));
    for (const int index : numbers(source->outputs())) {
      if (!known(values, index)) return damaged("output {} of graph '{}'", index, graph->name);
      graph->add_output(values[index]);
    }
    return graph;
  }

 private:
  using Values = std::vector<Value*>;
  static bool known(const Values& values, int index) {
    return index >= 0 && index < static_cast<int>(values.size()) && values[index] != nullptr;
  }
  static bool fresh(const Values& values, int index) {
    return index >= 0 && index < static_cast<int>(values.size()) && values[index] == nullptr;
  }

  static Status read_value(const fb::Value& source, Value& value) {
    if (!valid_type(source.type()) || source.layout() > static_cast<uint8_t>(Layout::kChannelsLast))
      return damaged("type of value '{}'", text(source.name()));
    value.name = text(source.name());
    value.type.type = static_cast<DataType>(source.type());
    value.type.layout = static_cast<Layout>(source.layout());
    for (const std::string& dim : texts(source.shape())) {
      auto parsed = Dim::parse(dim);
      if (!parsed.ok()) return damaged("extent '{}' of value '{}'", dim, value.name);
      value.type.shape.push_back(std::move(parsed).value());
    }
    return {};
  }

  Status read_node(const fb::Graph& graph_source, const fb::Node& source, Graph& graph,
                   Values& values, int depth) {
    const std::string name = text(source.name());
    std::unique_ptr<Op> op = make_op(text(source.op()));
    if (op == nullptr)
      return damaged("node '{}' has the unknown operator '{}'", name, text(source.op()));
    AttributeReader attributes(source, weights_);
    op->visit_attributes(attributes);
    TENON_TRY(std::move(attributes.status));
    std::vector<Value*> inputs;
    for (const int index : numbers(source.inputs())) {
      if (index != -1 && !known(values, index)) return damaged("an operand of node '{}'", name);
      inputs.push_back(index == -1 ? nullptr : values[index]);
    }
    const std::vector<int> outputs = numbers(source.outputs());
    TENON_TRY(check_arity(*op, name, inputs.size(), outputs.size()));
    Node* node =
        graph.add_node(std::move(op), std::move(inputs), static_cast<int>(outputs.size()), name);
    node->origins = texts(source.origins());
    node->tactic = text(source.tactic());
    if (source.packed() != nullptr) {
      TENON_ASSIGN(node->packed, weights_.tensor(*source.packed()));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!fresh(values, outputs[i])) return damaged("an output of node '{}'", name);
      values[outputs[i]] = node->output(static_cast<int>(i));
      TENON_TRY(read_value(*graph_source.values()->Get(outputs[i]), *values[outputs[i]]));
    }
    for (const auto* inner : each(source.bodies())) {
      TENON_ASSIGN(auto body, read(inner, depth + 1));
      node->bodies.push_back(std::move(body));
    }
    return {};
  }

  static Status check_arity(const Op& op, const std::string& name, size_t inputs, size_t outputs) {
    const OpInfo& info = op_info(op.kind());
    auto outside = [](int count, int min, int max) {
      return count < min || (max >= 0 && count > max);
    };
    if (outside(static_cast<int>(inputs), info.min_inputs, info.max_inputs) ||
        outside(static_cast<int>(outputs), info.min_outputs, info.max_outputs))
      return damaged("node '{}' has {} inputs and {} outputs", name, inputs, outputs);
    return {};
  }

  const Weights& weights_;
};

void collect_values(const Graph& graph, std::vector<const Value*>& values) {
  values.insert(values.end(), graph.inputs().begin(), graph.inputs().end());
  for (const auto& node : graph.nodes()) {
    values.insert(values.end(), node->outputs().begin(), node->outputs().end());
    for (const auto& body : node->bodies) collect_values(*body, values);
  }
}

void collect_ranges(const Graph& graph, std::vector<SymbolRanges>& ranges) {
  ranges.push_back(graph.symbol_ranges);
  for (const auto& node : graph.nodes())
    for (const auto& body : node->bodies) collect_ranges(*body, ranges);
}
std::vector<SymbolRanges> ranges_of(const Graph& graph) {
  std::vector<SymbolRanges> ranges;
  collect_ranges(graph, ranges);
  return ranges;
}

Status infer_as_stored(Graph& graph) {
  std::vector<const Value*> values;
  collect_values(graph, values);
  std::vector<TensorType> stored;
  for (const Value* value : values) stored.push_back(value->type);
  if (const Status status = infer_graph(graph); !status.ok())
    return damaged("{}", status.error().message);
  for (size_t i = 0; i < values.size(); ++i)
    if (!(values[i]->type == stored[i]))
      return damaged("value '{}' is {}{}, not {}{}", values[i]->name, name_of(values[i]->type.type),
                     to_string(values[i]->type.shape), name_of(stored[i].type),
                     to_string(stored[i].shape));
  return {};
}

/// Kernels rely on the types that shape inference gives a node, so a file must say the same.
/// Inference also notes ranges of symbols, which bodies and earlier nodes see the next time: a
/// graph that is written must be read as the same.
Status check_types(Graph& graph) {
  constexpr int kMostRounds = 8;
  for (int round = 0; round < kMostRounds; ++round) {
    const std::vector<SymbolRanges> before = ranges_of(graph);
    TENON_TRY(infer_as_stored(graph));
    if (ranges_of(graph) == before) return {};
  }
  return damaged("the ranges of symbols of '{}' do not converge", graph.name);
}

/// `profiles` of a graph that runs: contents of inputs that they give have symbols.
Result<std::unique_ptr<Graph>> read_graph(const Weights& weights, const fb::Graph* source,
                                          const std::vector<Profile>& profiles) {
  TENON_ASSIGN(auto graph, GraphReader(weights).read(source, 0));
  if (const Status named = name_shape_values(*graph, profiles); !named.ok())
    return damaged("{}", named.error().message);
  if (const Status status = verify(*graph); !status.ok())
    return damaged("{}", status.error().message);
  TENON_TRY(check_types(*graph));
  return graph;
}

Profile read_profile(const fb::Profile& source) {
  Profile profile;
  for (const auto* range : each(source.ranges()))
    profile[text(range->input())] = {numbers(range->min()),        numbers(range->opt()),
                                     numbers(range->max()),        numbers(range->min_values()),
                                     numbers(range->opt_values()), numbers(range->max_values())};
  return profile;
}

/// Shapes are compared with the ranges axis by axis.
Status check_profile(const Profile& profile, const Graph& graph) {
  for (const Value* input : graph.inputs()) {
    const auto found = profile.find(input->name);
    if (found == profile.end()) continue;
    const ShapeRange& range = found->second;
    for (const Extents* extents : {&range.min, &range.opt, &range.max})
      if (extents->size() != input->type.shape.size())
        return damaged("a profile has {} axes for input '{}', which has {}", extents->size(),
                       input->name, input->type.shape.size());
  }
  return {};
}

using Codes = flatbuffers::Vector<flatbuffers::Offset<fb::Code>>;

/// `noun` is for messages.
Result<std::shared_ptr<CodeLibrary>> read_codes(const Codes* codes, const Weights& weights,
                                                std::string_view noun) {
  if (codes == nullptr || codes->size() == 0) return std::shared_ptr<CodeLibrary>();
  auto library = std::make_shared<CodeLibrary>();
  for (const fb::Code* code : *codes) {
    const std::string name = text(code->source());
    if (code->bytes() == nullptr || !code->bytes()->stored())
      return damaged("the {} {} has no bytes", noun, name);
    TENON_ASSIGN(const Tensor bytes, weights.tensor(*code->bytes()));
    const std::span<const std::byte> span(bytes.bytes(), static_cast<size_t>(bytes.byte_count()));
    if (!library->add(name, {span, weights.owner, code->hash_low(), code->hash_high()}))
      return damaged("the {} {} does not match its checksum", noun, name);
  }
  return library;
}

bool are_alike(const std::vector<Value*>& a, const std::vector<Value*>& b) {
  return std::ranges::equal(a, b, [](const Value* one, const Value* other) {
    return one->name == other->name && one->type == other->type;
  });
}

/// Where extents are broadcast, results may be larger.
bool are_alike_but_for_extents(const std::vector<Value*>& a, const std::vector<Value*>& b) {
  return std::ranges::equal(a, b, [](const Value* one, const Value* other) {
    TensorType type = one->type;
    const bool is_as_long = type.shape.size() == other->type.shape.size();
    type.shape = other->type.shape;
    return is_as_long && one->name == other->name && type == other->type;
  });
}

Result<std::vector<std::unique_ptr<Graph>>> read_forms(
    const flatbuffers::Vector<flatbuffers::Offset<fb::Graph>>* sources, const Weights& weights,
    const Plan& plan) {
  std::vector<std::unique_ptr<Graph>> forms;
  for (const auto* source : each(sources)) {
    TENON_ASSIGN(auto form, read_graph(weights, source, plan.profiles));
    if (!are_alike(form->inputs(), plan.graph->inputs()) ||
        !are_alike_but_for_extents(form->outputs(), plan.graph->outputs()))
      return damaged("a form of its graph has other inputs or outputs");
    forms.push_back(std::move(form));
  }
  return forms;
}

Result<Choice> read_choice(const fb::Choice& source, const Plan& plan) {
  Choice choice;
  choice.form = source.form();
  if (choice.form < 0 || choice.form > static_cast<int>(plan.forms.size()))
    return damaged("a choice of kernels is for form {} of {}", choice.form, plan.forms.size());
  const Graph& graph = form_of(plan, choice.form);
  const std::vector<std::string> symbols = texts(source.symbols()),
                                 tactics = texts(source.tactics());
  const std::vector<int64_t> values = numbers(source.values());
  const std::vector<int> places = numbers(source.places());
  if (symbols.size() != values.size() || places.size() != tactics.size())
    return damaged("a choice of kernels has lists of different lengths");
  for (size_t i = 0; i < symbols.size(); ++i) choice.symbols[symbols[i]] = values[i];
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0 || places[i] >= static_cast<int>(graph.nodes().size()))
      return damaged("a choice of kernels names layer {} of {}", places[i], graph.nodes().size());
    choice.tactics[places[i]] = tactics[i];
  }
  return choice;
}

/// The checksum is not looked at.
Result<PlanHeader> read_header(std::span<const std::byte> bytes) {
  TENON_TRY(peek_plan_version(bytes));
  PlanHeader header;
  if (bytes.size() < kPlanPage) return damaged("{} bytes are less than its header", bytes.size());
  std::memcpy(&header, bytes.data(), sizeof header);
  const uint32_t format = plan_format(header);
  if (format < kOldestPlanFormat || format > kPlanFormat)
    return user_error("the plan has format {}, this library reads {} to {}; build it again", format,
                      kOldestPlanFormat, kPlanFormat);
  if (header.file_size != bytes.size())
    return damaged("it has {} bytes of {}", bytes.size(), header.file_size);
  if (header.weights_offset > bytes.size() || header.weights_offset < kPlanPage ||
      header.description_size > header.weights_offset - kPlanPage)
    return damaged("its sections lie outside the file");
  if (header.weights_offset % kPlanPage != 0) return damaged("its weights do not begin on a page");
  return header;
}

/// Null where it is malformed.
const fb::Plan* description_of(std::span<const std::byte> bytes, const PlanHeader& header) {
  const auto* description = reinterpret_cast<const uint8_t*>(bytes.data() + kPlanPage);
  // The writer shares no tables, and each takes 8 bytes with the offset to it: small files that
  // name the same ones over and over are no plans.
  flatbuffers::Verifier verifier(description, header.description_size, kMaxDepth * 2,
                                 header.description_size / 8);
  return verifier.VerifyBuffer<fb::Plan>(nullptr) ? flatbuffers::GetRoot<fb::Plan>(description)
                                                  : nullptr;
}

/// The weights in memory of their own; new pages take as long as the bytes.
void copy_pieces(std::span<const std::byte> from, std::byte* to,
                 const std::function<void()>& beside) {
  constexpr size_t kPiece = size_t{8} << 20, kThreads = 4;
  const size_t pieces = ceil_div(from.size(), kPiece);
  for_each_parallel(pieces + 1, std::min({pieces, kThreads, helper_threads()}), [&](size_t i) {
    if (i == 0) return beside();
    const auto piece =
        from.subspan((i - 1) * kPiece).first(std::min(kPiece, from.size() - (i - 1) * kPiece));
    std::memcpy(to + (i - 1) * kPiece, piece.data(), piece.size());
  });
}

}  // namespace

std::string PlanVersion::to_string() const {
  return fmt::format("{}.{}.{}.{}", major, minor, patch, build);
}

Result<PlanVersion> peek_plan_version(std::span<const std::byte> bytes) {
  uint32_t magic = 0;
  if (bytes.size() >= kPlanPeek) std::memcpy(&magic, bytes.data(), sizeof magic);
  if (magic != kPlanMagic)
    return user_error("this is not a plan: its first bytes are not those of one");
  auto number = [&](int index) { return std::to_integer<int>(bytes[24 + index]); };
  return PlanVersion{number(0), number(1), number(2), number(3)};
}

Result<size_t> peek_plan_size(std::span<const std::byte> bytes) {
  TENON_TRY(peek_plan_version(bytes));
  uint64_t size = 0;
  std::memcpy(&size, bytes.data() + offsetof(PlanHeader, file_size), sizeof size);
  if (size < kPlanPage) return damaged("{} bytes are less than its header", size);
  return static_cast<size_t>(size);
}

namespace {

/// Later versions may run on devices that this one does not have.
Result<DeviceKind> device_of(const fb::Plan& source) {
  constexpr auto kLast = static_cast<uint8_t>(DeviceKind::kCuda);
  if (source.device_kind() <= kLast) return static_cast<DeviceKind>(source.device_kind());
  return user_error(
      "the plan was built for '{}', a device of kind {}, and this library knows the kinds 0 (CPU) "
      "and {} (NVIDIA GPU) alone; run it with the version of the library that built it, or build "
      "it again here",
      text(source.device_name()), source.device_kind(), kLast);
}

}  // namespace

namespace {

void add_tactics(const fb::Graph* graph, std::set<std::string>& tactics) {
  if (graph == nullptr) return;
  for (const fb::Node* node : each(graph->nodes())) {
    tactics.insert(text(node->tactic()));
    for (const fb::Graph* body : each(node->bodies())) add_tactics(body, tactics);
  }
}

}  // namespace

std::optional<PlanNeeds> peek_plan_needs(std::span<const std::byte> bytes) {
  const auto header = read_header(bytes);
  const fb::Plan* const source = header.ok() ? description_of(bytes, *header) : nullptr;
  if (source == nullptr) return std::nullopt;
  const auto device = device_of(*source);
  if (!device.ok()) return std::nullopt;
  PlanNeeds needs{*device, {}};
  add_tactics(source->graph(), needs.tactics);
  if (source->forms() != nullptr)
    for (const fb::Graph* form : *source->forms()) add_tactics(form, needs.tactics);
  if (source->choices() != nullptr)
    for (const fb::Choice* choice : *source->choices())
      for (std::string& tactic : texts(choice->tactics())) needs.tactics.insert(std::move(tactic));
  return needs;
}

Result<Plan> read_plan(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                       bool mapped) {
  TENON_ASSIGN(const PlanHeader header, read_header(bytes));
  std::span<const std::byte> section = bytes.subspan(header.weights_offset);
  bool is_sound = false;
  const auto check = [&] { is_sound = plan_checksum(bytes, mapped) == header.checksum; };
  if (owner == nullptr || reinterpret_cast<uintptr_t>(section.data()) % kWeightAlignment != 0) {
    Tensor copy(DataType::kUInt8, {static_cast<int64_t>(section.size())});
    copy_pieces(section, copy.mutable_bytes(), check);
    section = {copy.bytes(), section.size()};
    owner = std::make_shared<const Tensor>(std::move(copy));
  } else {
    check();
  }
  if (!is_sound) return damaged("its checksum does not match");
  const fb::Plan* const source = description_of(bytes, header);
  if (source == nullptr) return damaged("its description is malformed");
  const Weights weights{section, std::move(owner)};

  Plan plan;
  plan.device_name = text(source->device_name());
  TENON_ASSIGN(plan.device, device_of(*source));
  plan.architecture = text(source->architecture());
  for (const auto* setting : each(source->settings()))
    plan.settings[text(setting->name())] = text(setting->value());
  plan.passes = texts(source->passes());
  for (const auto* profile : each(source->profiles()))
    plan.profiles.push_back(read_profile(*profile));
  plan.stripped = plan.settings.erase(kStrippedSetting) > 0;
  TENON_ASSIGN(plan.graph, read_graph(weights, source->graph(), plan.profiles));
  for (const Profile& profile : plan.profiles) TENON_TRY(check_profile(profile, *plan.graph));
  TENON_ASSIGN(plan.forms, read_forms(source->forms(), weights, plan));
  if (source->network() != nullptr) {
    TENON_ASSIGN(plan.network, read_graph(weights, source->network(), {}));
  }
  TENON_ASSIGN(plan.code, read_codes(source->codes(), weights, "device code"));
  TENON_ASSIGN(plan.libraries, read_codes(source->libraries(), weights, "plugin library"));
  for (const auto* choice : each(source->choices())) {
    TENON_ASSIGN(plan.choices.emplace_back(), read_choice(*choice, plan));
  }
  return plan;
}

}  // namespace tenon

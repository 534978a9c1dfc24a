// Sequences and optionals. Their lengths must follow from the model, so that they vanish: a
// sequence is a list of values, and its operators rearrange the list.
#include <algorithm>

#include "onnx/graph_importer.h"
#include "onnx/op_table.h"
#include "onnx_proto/onnx.pb.h"

namespace tenon::importer {
namespace {

const ValueList* list_of(NodeImporter& n, const Value* value) {
  return n.importer().context().list(value);
}

/// Input 0, which must be a sequence that is there.
std::vector<Value*> items_of(NodeImporter& n) {
  const ValueList* list = list_of(n, n.input(0));
  if (list && list->present) return list->items;
  n.fail(ImportCode::kInvalidNode, list ? "the optional has no element" : "input 0 is no sequence");
  return {};
}

void output_list(NodeImporter& n, int index, std::vector<Value*> items) {
  n.output(index, n.importer().context().add_list({std::move(items)}));
}

/// A position within [0, count), given as input 1, from the end where negative.
size_t position(NodeImporter& n, size_t count, int64_t otherwise) {
  const std::vector<int64_t> given =
      n.has_input(1) ? n.required_integers(1, "the position") : std::vector<int64_t>{otherwise};
  if (!n.ok()) return 0;
  const auto size = static_cast<int64_t>(count);
  if (given.size() != 1 || given[0] < -size || given[0] >= size) {
    n.fail(ImportCode::kInvalidNode,
           fmt::format("position [{}] is outside a sequence of {}", fmt::join(given, ","), count));
    return 0;
  }
  return static_cast<size_t>(given[0] < 0 ? given[0] + size : given[0]);
}

/// Extents of the pieces along the axis.
std::vector<int64_t> piece_lengths(NodeImporter& n, int64_t extent) {
  if (!n.has_input(1))
    return std::vector<int64_t>(static_cast<size_t>(std::max<int64_t>(extent, 0)), 1);
  std::vector<int64_t> lengths = n.required_integers(1, "split");
  if (!n.ok() || n.rank(n.input(1)) == 1) return lengths;
  const int64_t chunk = lengths.empty() ? 0 : lengths[0];
  if (chunk < 1) {
    n.fail(ImportCode::kInvalidNode, fmt::format("pieces of {} elements", chunk));
    return {};
  }
  lengths.clear();
  for (int64_t from = 0; from < extent; from += chunk)
    lengths.push_back(std::min(chunk, extent - from));
  return lengths;
}

}  // namespace

void import_sequence_construct(NodeImporter& n, const OpRow&) {
  for (Value* value : n.inputs())
    if (!value || list_of(n, value))
      return n.fail(ImportCode::kInvalidNode, "an element is no tensor");
  output_list(n, 0, n.inputs());
}

void import_sequence_at(NodeImporter& n, const OpRow&) {
  const std::vector<Value*> items = items_of(n);
  if (!n.ok()) return;
  const size_t at = position(n, items.size(), 0);
  if (n.ok()) n.output(items[at]);
}

void import_sequence_erase(NodeImporter& n, const OpRow&) {
  std::vector<Value*> items = items_of(n);
  if (!n.ok()) return;
  const size_t at = position(n, items.size(), -1);
  if (!n.ok()) return;
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  output_list(n, 0, std::move(items));
}

void import_sequence_insert(NodeImporter& n, const OpRow&) {
  std::vector<Value*> items = items_of(n);
  if (!n.ok()) return;
  if (!n.input(1) || list_of(n, n.input(1)))
    return n.fail(ImportCode::kInvalidNode, "the element is no tensor");
  const auto size = static_cast<int64_t>(items.size());
  int64_t at = size;
  if (n.has_input(2)) {
    const std::vector<int64_t> given = n.required_integers(2, "the position");
    if (!n.ok()) return;
    if (given.size() != 1 || given[0] < -size || given[0] > size)
      return n.fail(
          ImportCode::kInvalidNode,
          fmt::format("position [{}] is outside a sequence of {}", fmt::join(given, ","), size));
    at = given[0] < 0 ? given[0] + size : given[0];
  }
  items.insert(items.begin() + at, n.input(1));
  output_list(n, 0, std::move(items));
}

void import_sequence_length(NodeImporter& n, const OpRow&) {
  const std::vector<Value*> items = items_of(n);
  if (n.ok()) n.output(n.integer(static_cast<int64_t>(items.size())));
}

void import_concat_from_sequence(NodeImporter& n, const OpRow&) {
  std::vector<Value*> items = items_of(n);
  const int64_t axis = n.integer_attribute("axis", 0);
  if (!n.ok()) return;
  if (items.empty()) return n.fail(ImportCode::kInvalidNode, "the sequence is empty");
  if (n.flag("new_axis"))
    for (Value*& item : items) item = n.unsqueeze(item, {axis});
  n.output(n.concat(std::move(items), axis));
}

void import_split_to_sequence(NodeImporter& n, const OpRow&) {
  Value* x = n.input(0);
  const int64_t axis = n.normalized(n.integer_attribute("axis", 0), n.rank(x));
  const int64_t extent = n.constant_extent(x, axis);
  const std::vector<int64_t> lengths = piece_lengths(n, extent);
  // keepdims counts only where no lengths are given.
  const bool squeezed = !n.has_input(1) && !n.flag("keepdims", true);
  if (!n.ok()) return;
  std::vector<Value*> items;
  int64_t from = 0;
  for (const int64_t length : lengths) {
    if (length < 0 || length > extent - from)
      return n.fail(ImportCode::kInvalidNode, "the pieces do not fit the axis");
    Value* item = n.slice(x, axis, from, from + length);
    items.push_back(squeezed ? n.squeeze(item, {axis}) : item);
    from += length;
  }
  if (from != extent) return n.fail(ImportCode::kInvalidNode, "the pieces do not fill the axis");
  output_list(n, 0, std::move(items));
}

void import_sequence_map(NodeImporter& n, const OpRow&) {
  const ::onnx::GraphProto* body = n.body("body");
  const std::vector<Value*> first = items_of(n);
  if (!n.ok()) return;
  std::vector<std::vector<Value*>> results(static_cast<size_t>(body->output_size()));
  for (size_t i = 0; i < first.size(); ++i) {
    std::vector<Value*> operands;
    for (Value* input : n.inputs()) {
      const ValueList* list = list_of(n, input);
      if (list && list->items.size() != first.size())
        return n.fail(ImportCode::kInvalidNode, "the sequences differ in length");
      operands.push_back(list ? list->items[i] : input);
    }
    const std::vector<Value*> outputs = n.importer().inline_body(*body, operands);
    // The body has reported its own problems.
    if (outputs.size() != results.size()) return n.fail(ImportCode::kSuccess, "");
    for (size_t k = 0; k < results.size(); ++k) results[k].push_back(outputs[k]);
  }
  for (size_t k = 0; k < results.size(); ++k)
    output_list(n, static_cast<int>(k), std::move(results[k]));
}

/// An optional that has an element is that element.
void import_optional(NodeImporter& n, const OpRow&) {
  n.output(n.has_input(0) ? n.input(0) : n.importer().context().add_list({{}, false}));
}

void import_optional_get_element(NodeImporter& n, const OpRow&) {
  const ValueList* list = list_of(n, n.input(0));
  if (!n.has_input(0) || (list && !list->present))
    return n.fail(ImportCode::kInvalidNode, "the optional has no element");
  n.output(n.input(0));
}

void import_optional_has_element(NodeImporter& n, const OpRow&) {
  const ValueList* list = list_of(n, n.input(0));
  const bool present = n.has_input(0) && (!list || list->present);
  n.output(n.number(present ? 1 : 0, DataType::kBool));
}

}  // namespace tenon::importer

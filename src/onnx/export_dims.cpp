// Integers over the symbols of shapes: extents of tensors, and arithmetic.
#include "ir/dim_expression.h"
#include "onnx/node_exporter.h"
#include "onnx/tensor_writer.h"
#include "ops/dims.h"

namespace tenon::importer {
namespace {

std::string export_atom(NodeExporter& n, const DimAtom& atom);

std::string export_symbol(NodeExporter& n, const std::string& symbol) {
  const auto [tensor, axis] = n.writer().place_of(symbol);
  if (!tensor.empty()) return n.extent(tensor, axis);
  n.fail(fmt::format("the extent '{}' is that of no tensor ahead of it", symbol));
  return "";
}

/// a / b, rounded down.
std::string export_quotient(NodeExporter& n, const std::string& a, const std::string& b) {
  return n.step("Div", {n.step("Sub", {a, n.step("Mod", {a, b})}), b});
}

std::string export_atom(NodeExporter& n, const DimAtom& atom) {
  if (atom.kind == AtomKind::kSymbol) return export_symbol(n, atom.name);
  const std::string a = export_extent(n, atom.a), b = export_extent(n, atom.b);
  switch (atom.kind) {
    case AtomKind::kFloorDiv: return export_quotient(n, a, b);
    case AtomKind::kMod: return n.step("Mod", {a, b});
    case AtomKind::kMin: return n.step("Min", {a, b});
    case AtomKind::kMax: return n.step("Max", {a, b});
    default: return n.step("Mul", {a, b});
  }
}

std::string export_term(NodeExporter& n, const DimTerm& term) {
  std::string product;
  for (const DimAtomPointer& factor : term.factors) {
    const std::string value = export_atom(n, *factor);
    product = product.empty() ? value : n.step("Mul", {product, value});
  }
  return term.coefficient == 1 ? product : n.step("Mul", {product, n.integers({term.coefficient})});
}

}  // namespace

std::string export_extent(NodeExporter& n, const Dim& extent) {
  if (extent.is_constant()) return n.integers({extent.constant()});
  const Dim::Expression& expression = expression_of(extent);
  std::string sum;
  for (const DimTerm& term : expression.terms) {
    const std::string value = export_term(n, term);
    sum = sum.empty() ? value : n.step("Add", {sum, value});
  }
  return expression.constant == 0 ? sum : n.step("Add", {sum, n.integers({expression.constant})});
}

void export_dims(NodeExporter& n) {
  const Dims& op = *n.node().as<Dims>();
  std::vector<std::string> elements;
  for (const std::string& text : op.expressions) {
    const Result<Dim> extent = Dim::parse(text);
    if (!extent.ok()) return n.fail(fmt::format("'{}' is no expression of extents", text));
    elements.push_back(export_extent(n, *extent));
  }
  if (elements.empty()) elements.push_back(n.integers({}));
  std::string all = elements.size() == 1
                        ? elements[0]
                        : n.step_with("Concat", elements).integer("axis", 0).output();
  if (op.extents.empty()) all = n.step("Squeeze", {all, n.integers({0})});
  if (op.extents.size() > 1) all = n.reshape(all, op.extents);
  n.result("Cast", {all}).integer("to", onnx_number_of(op.to));
}

}  // namespace tenon::importer

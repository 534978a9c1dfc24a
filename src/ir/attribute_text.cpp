#include "ir/attribute_text.h"

#include <fmt/format.h>

#include <cstring>

#include "ir/text.h"

namespace tenon {
namespace {

uint64_t bits_of(const Tensor& tensor, int64_t index) {
  uint64_t bits = 0;
  const int bytes = byte_size(tensor.type());
  std::memcpy(&bits, tensor.bytes() + index * bytes, bytes);
  return bits;
}

std::string number_text(const Tensor& tensor, int64_t index) {
  if (tensor.type() == DataType::kUInt64)
    return fmt::format("{}", tensor.values<uint64_t>()[index]);
  if (is_real(tensor.type())) return fmt::format("{}", tensor.as_double(index));
  return fmt::format("{}", tensor.as_int64(index));
}

/// A number where reading it gives the same bytes, else the bytes.
std::string element_text(const Tensor& tensor, int64_t index) {
  Tensor again(tensor.type(), {1});
  if (is_real(tensor.type()))
    again.set_from_double(0, tensor.as_double(index));
  else
    again.set_from_int64(0, tensor.as_int64(index));
  const bool is_nan = is_real(tensor.type()) && tensor.as_double(index) != tensor.as_double(index);
  const bool plain =
      tensor.type() == DataType::kUInt64 || bits_of(again, 0) == bits_of(tensor, index);
  if (plain && !is_nan) return number_text(tensor, index);
  return fmt::format("0x{:x}", bits_of(tensor, index));
}

template <class T, class F> std::string list_text(const std::vector<T>& values, F text) {
  std::string result = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) result += ',';
    result += text(values[i]);
  }
  return result + "]";
}

class TextVisitor final : public AttributeVisitor {
 public:
  std::vector<std::pair<std::string, std::string>> texts;

  void visit(std::string_view name, bool& value) override { add(name, value ? "true" : "false"); }
  void visit(std::string_view name, int64_t& value) override {
    add(name, fmt::format("{}", value));
  }
  void visit(std::string_view name, double& value) override { add(name, fmt::format("{}", value)); }
  void visit(std::string_view name, std::string& value) override { add(name, quote(value)); }
  void visit(std::string_view name, DataType& value) override {
    add(name, std::string(name_of(value)));
  }
  void visit(std::string_view name, std::vector<int64_t>& value) override {
    add(name, list_text(value, [](int64_t v) { return fmt::format("{}", v); }));
  }
  void visit(std::string_view name, std::vector<double>& value) override {
    add(name, list_text(value, [](double v) { return fmt::format("{}", v); }));
  }
  void visit(std::string_view name, std::vector<std::string>& value) override {
    add(name, list_text(value, [](const std::string& v) { return quote(v); }));
  }
  void visit(std::string_view name, Tensor& value) override { add(name, tensor_text(value)); }
  void visit_enum(std::string_view name, int& value,
                  std::span<const std::string_view> names) override {
    add(name, std::string(names[value]));
  }

 private:
  void add(std::string_view name, std::string text) {
    texts.emplace_back(std::string(name), std::move(text));
  }
};

class TensorVisitor final : public AttributeVisitor {
 public:
  std::vector<Tensor> tensors;

  void visit(std::string_view, bool&) override {}
  void visit(std::string_view, int64_t&) override {}
  void visit(std::string_view, double&) override {}
  void visit(std::string_view, std::string&) override {}
  void visit(std::string_view, DataType&) override {}
  void visit(std::string_view, std::vector<int64_t>&) override {}
  void visit(std::string_view, std::vector<double>&) override {}
  void visit(std::string_view, std::vector<std::string>&) override {}
  void visit(std::string_view, Tensor& value) override { tensors.push_back(value); }
  void visit_enum(std::string_view, int&, std::span<const std::string_view>) override {}
};

}  // namespace

std::string quote(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      result += fmt::format("\\{}", c);
    else if (byte < 0x20 || byte == 0x7F)
      result += fmt::format("\\x{:02x}", byte);
    else
      result += c;
  }
  return result + '"';
}

std::string tensor_text(const Tensor& tensor) {
  if (!tensor.defined()) return "none";
  const std::string type =
      fmt::format("{}[{}]", name_of(tensor.type()), fmt::join(tensor.extents(), ","));
  if (tensor.count() > kMaxWrittenElements) return type + "#" + tensor.content_hash();
  std::string elements;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    if (i > 0) elements += ',';
    elements += element_text(tensor, i);
  }
  return fmt::format("{}{{{}}}", type, elements);
}

std::vector<std::pair<std::string, std::string>> attribute_texts(const Op& op) {
  TextVisitor visitor;
  op.clone()->visit_attributes(visitor);
  return std::move(visitor.texts);
}

std::vector<Tensor> tensor_attributes(const Op& op) {
  TensorVisitor visitor;
  op.clone()->visit_attributes(visitor);
  return std::move(visitor.tensors);
}

}  // namespace tenon

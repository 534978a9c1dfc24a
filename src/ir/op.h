#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/data_type.h"
#include "ir/tensor.h"

namespace tenon {

/// Identifies a row of ops/ops.def. The IR carries the number only; the table gives it a meaning.
enum class OpKind : uint16_t;

/// Receives every attribute of an operator once, in declared order. Printing, parsing, equality,
/// hashing and serialization are visitors.
class AttributeVisitor {
 public:
  virtual ~AttributeVisitor() = default;
  virtual void visit(std::string_view name, bool& value) = 0;
  virtual void visit(std::string_view name, int64_t& value) = 0;
  virtual void visit(std::string_view name, double& value) = 0;
  virtual void visit(std::string_view name, std::string& value) = 0;
  virtual void visit(std::string_view name, DataType& value) = 0;
  virtual void visit(std::string_view name, std::vector<int64_t>& value) = 0;
  virtual void visit(std::string_view name, std::vector<double>& value) = 0;
  virtual void visit(std::string_view name, std::vector<std::string>& value) = 0;
  virtual void visit(std::string_view name, Tensor& value) = 0;
  /// An enumeration: `value` indexes `names`.
  virtual void visit_enum(std::string_view name, int& value,
                          std::span<const std::string_view> names) = 0;
};

/// An operator with its attributes. Value semantics through clone().
class Op {
 public:
  virtual ~Op() = default;
  virtual OpKind kind() const = 0;
  /// As in the IR's text; the scalar function's name for pointwise operators.
  virtual std::string_view name() const = 0;
  virtual std::unique_ptr<Op> clone() const = 0;
  /// An operator of the same kind with default attributes.
  virtual std::unique_ptr<Op> make_default() const = 0;
  virtual void visit_attributes(AttributeVisitor& visitor) = 0;
  /// Stays in the graph even when nothing uses its outputs.
  virtual bool has_side_effects() const { return false; }
  /// The contents of a `constant`, null for all other operators.
  virtual const Tensor* constant_value() const { return nullptr; }
};

/// Calls `visit(name, value)` for each of `values`; `names` has theirs, as in "axis, keep_dims".
template <class Visit, class... Values>
void visit_named(Visit& visit, std::string_view names, Values&... values) {
  const auto next = [&names] {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 2));
    return name;
  };
  (visit(next(), values), ...);
}

/// In an operator's struct: which members are its attributes, named as they are.
#define TENON_ATTRIBUTES(...)                  \
  template <class V> void attributes(V& v) {   \
    visit_named(v, #__VA_ARGS__, __VA_ARGS__); \
  }                                            \
  static_assert(true)

/// Implements Op for a struct with `static constexpr OpKind kKind`, `static constexpr
/// std::string_view kName` and, where it has attributes, TENON_ATTRIBUTES. Enumerations among the
/// attributes need a function `std::span<const std::string_view> enum_names(E)` beside them.
template <class Derived> class OpBase : public Op {
 public:
  template <class V> void attributes(V&) {}

  OpKind kind() const override { return Derived::kKind; }
  std::string_view name() const override { return Derived::kName; }
  std::unique_ptr<Op> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
  std::unique_ptr<Op> make_default() const override { return std::make_unique<Derived>(); }
  void visit_attributes(AttributeVisitor& visitor) override {
    auto each = [&visitor](std::string_view name, auto& value) {
      using T = std::remove_reference_t<decltype(value)>;
      if constexpr (std::is_enum_v<T> && !std::is_same_v<T, DataType>) {
        const int before = static_cast<int>(value);
        int number = before;
        visitor.visit_enum(name, number, enum_names(value));
        // Visitors that only read share an operator among threads.
        if (number != before) value = static_cast<T>(number);
      } else {
        visitor.visit(name, value);
      }
    };
    static_cast<Derived*>(this)->attributes(each);
  }
};

}  // namespace tenon

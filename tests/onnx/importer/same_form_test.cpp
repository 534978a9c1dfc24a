// Rows of same_form.def speak of attributes that their operators have.
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "ops/table.h"

namespace tenon {
namespace {

class Names final : public AttributeVisitor {
 public:
  std::set<std::string> all;

  void visit(std::string_view name, bool&) override { all.emplace(name); }
  void visit(std::string_view name, int64_t&) override { all.emplace(name); }
  void visit(std::string_view name, double&) override { all.emplace(name); }
  void visit(std::string_view name, std::string&) override { all.emplace(name); }
  void visit(std::string_view name, DataType&) override { all.emplace(name); }
  void visit(std::string_view name, std::vector<int64_t>&) override { all.emplace(name); }
  void visit(std::string_view name, std::vector<double>&) override { all.emplace(name); }
  void visit(std::string_view name, std::vector<std::string>&) override { all.emplace(name); }
  void visit(std::string_view name, Tensor&) override { all.emplace(name); }
  void visit_enum(std::string_view name, int&, std::span<const std::string_view>) override {
    all.emplace(name);
  }
};

struct Row {
  OpKind kind;
  const char *operands, *attributes;
};

TEST(SameForm, SpellsAttributesThatThereAre) {
  constexpr Row kRows[] = {
#define TENON_ONNX_FORM(Struct, operands, attributes) {OpKind::k##Struct, operands, attributes},
#include "onnx/same_form.def"
  };
  std::set<OpKind> met;
  for (const Row& row : kRows) {
    const OpInfo& info = op_info(row.kind);
    EXPECT_TRUE(met.insert(row.kind).second) << info.name << " has two rows";
    EXPECT_EQ(std::string_view(row.operands).find_first_not_of("xl"), std::string_view::npos);
    Names names;
    info.make()->visit_attributes(names);
    std::istringstream items(row.attributes);
    for (std::string item; items >> item;)
      EXPECT_TRUE(names.all.contains(item.substr(0, item.find('='))))
          << info.name << " has no attribute for '" << item << '\'';
  }
}

}  // namespace
}  // namespace tenon

#include <fmt/format.h>

#include <unordered_map>

#include "base/ascii.h"
#include "base/guard.h"
#include "ir/text.h"
#include "ops/table.h"
#include "ops/text_scanner.h"

namespace tenon {
namespace {

/// Fills attributes from name = value pairs; a visit does nothing unless its attribute is the one
/// being read.
class AttributeReader final : public AttributeVisitor {
 public:
  AttributeReader(TextScanner& scanner, const WeightSource* weights, std::string name)
      : scanner_(scanner), weights_(weights), name_(std::move(name)) {}

  /// Reads the value of the attribute of this name.
  Status read_into(Op& op) {
    op.visit_attributes(*this);
    if (!status_.ok()) return status_;
    if (found_) return {};
    return scanner_.fail(fmt::format("{} has no attribute \"{}\"", op.name(), name_));
  }

  void visit(std::string_view name, bool& value) override {
    if (!is_it(name)) return;
    value = scanner_.accept_word("true");
    if (!value && !scanner_.accept_word("false")) status_ = scanner_.fail("true or false expected");
  }
  void visit(std::string_view name, int64_t& value) override {
    if (is_it(name)) take(scanner_.integer(), value);
  }
  void visit(std::string_view name, double& value) override {
    if (is_it(name)) take(scanner_.real(), value);
  }
  void visit(std::string_view name, std::string& value) override {
    if (is_it(name)) take(scanner_.quoted(), value);
  }
  void visit(std::string_view name, DataType& value) override {
    if (is_it(name)) take(scanner_.data_type(), value);
  }
  void visit(std::string_view name, std::vector<int64_t>& value) override {
    if (is_it(name)) take_list(value, [this] { return scanner_.integer(); });
  }
  void visit(std::string_view name, std::vector<double>& value) override {
    if (is_it(name)) take_list(value, [this] { return scanner_.real(); });
  }
  void visit(std::string_view name, std::vector<std::string>& value) override {
    if (is_it(name)) take_list(value, [this] { return scanner_.quoted(); });
  }
  void visit(std::string_view name, Tensor& value) override {
    if (is_it(name)) take(scanner_.tensor(weights_), value);
  }
  void visit_enum(std::string_view name, int& value,
                  std::span<const std::string_view> names) override {
    if (!is_it(name)) return;
    std::string word;
    take(scanner_.word(), word);
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] != word) continue;
      value = static_cast<int>(i);
      return;
    }
    if (status_.ok()) status_ = scanner_.fail(fmt::format("\"{}\" is none of its words", word));
  }

 private:
  bool is_it(std::string_view name) {
    if (name != name_) return false;
    found_ = true;
    return true;
  }
  template <class T> void take(Result<T> result, T& value) {
    if (result.ok())
      value = std::move(*result);
    else
      status_ = std::move(result).error();
  }
  template <class T, class Read> void take_list(std::vector<T>& values, Read read) {
    values.clear();
    status_ = scanner_.expect('[');
    if (!status_.ok() || scanner_.accept(']')) return;
    do {
      take(read(), values.emplace_back());
      if (!status_.ok()) return;
    } while (scanner_.accept(','));
    status_ = scanner_.expect(']');
  }

  TextScanner& scanner_;
  const WeightSource* weights_;
  std::string name_;
  bool found_ = false;
  Status status_;
};

class GraphParser {
 public:
  GraphParser(TextScanner& scanner, const WeightSource* weights, int depth)
      : scanner_(scanner), weights_(weights), depth_(depth), graph_(std::make_unique<Graph>()) {}

  Result<std::unique_ptr<Graph>> parse() {
    if (depth_ > kMaxTextDepth) return scanner_.fail("graphs are nested too deeply");
    if (!scanner_.accept_word("graph")) return scanner_.fail("\"graph\" expected");
    TENON_ASSIGN(graph_->name, scanner_.quoted());
    TENON_TRY(inputs());
    if (scanner_.accept_word("where")) TENON_TRY(ranges());
    TENON_TRY(scanner_.expect('{'));
    while (!scanner_.accept_word("return")) TENON_TRY(node());
    TENON_TRY(outputs());
    TENON_TRY(scanner_.expect('}'));
    return std::move(graph_);
  }

 private:
  /// %number "name" of a new value.
  struct Definition {
    int64_t number = 0;
    std::string name;
  };

  Result<int64_t> number() {
    TENON_TRY(scanner_.expect('%'));
    return scanner_.integer();
  }

  Result<Definition> definition() {
    Definition result;
    TENON_ASSIGN(result.number, number());
    if (values_.contains(result.number))
      return scanner_.fail(fmt::format("%{} is defined twice", result.number));
    if (scanner_.peek() == '"') {
      TENON_ASSIGN(result.name, scanner_.quoted());
    }
    return result;
  }

  Result<Value*> reference() {
    TENON_ASSIGN(const int64_t number, this->number());
    const auto found = values_.find(number);
    if (found == values_.end())
      return scanner_.fail(fmt::format("%{} is not defined above", number));
    return found->second;
  }

  Status type_of(Value& value) {
    TENON_ASSIGN(value.type.type, scanner_.data_type());
    TENON_ASSIGN(value.type.shape, scanner_.dims('[', ']'));
    if (scanner_.accept_adjacent("@nhwc")) value.type.layout = Layout::kChannelsLast;
    if (!scanner_.accept_adjacent("=")) return {};
    TENON_ASSIGN(std::vector<Dim> elements, scanner_.dims('(', ')'));
    value.elements = std::move(elements);
    return {};
  }

  Status inputs() {
    TENON_TRY(scanner_.expect('('));
    if (scanner_.accept(')')) return {};
    do {
      TENON_ASSIGN(Definition input, definition());
      TENON_TRY(scanner_.expect(':'));
      Value* value = graph_->add_input(std::move(input.name), {});
      values_[input.number] = value;
      TENON_TRY(type_of(*value));
    } while (scanner_.accept(','));
    return scanner_.expect(')');
  }

  Status ranges() {
    do {
      std::string symbol;
      TENON_ASSIGN(symbol, scanner_.peek() == '"' ? scanner_.quoted() : symbol_word());
      if (!scanner_.accept_word("in")) return scanner_.fail("\"in\" expected");
      Range range;
      TENON_TRY(scanner_.expect('['));
      TENON_ASSIGN(range.min, scanner_.integer());
      TENON_TRY(scanner_.expect(','));
      if (!scanner_.accept_word("inf")) {
        TENON_ASSIGN(range.max, scanner_.integer());
      }
      TENON_TRY(scanner_.expect(']'));
      graph_->symbol_ranges[symbol] = range;
    } while (scanner_.accept(','));
    return {};
  }

  /// Symbols may have dots inside.
  Result<std::string> symbol_word() {
    TENON_ASSIGN(std::string symbol, scanner_.word());
    while (scanner_.accept_adjacent(".")) {
      symbol += '.';
      if (scanner_.peek() == '_' || is_letter_or_digit(scanner_.peek())) {
        TENON_ASSIGN(const std::string more, scanner_.word());
        symbol += more;
      }
    }
    return symbol;
  }

  Status node() {
    std::vector<Definition> results;
    if (scanner_.peek() == '%') {
      do {
        TENON_ASSIGN(Definition result, definition());
        results.push_back(std::move(result));
      } while (scanner_.accept(','));
      TENON_TRY(scanner_.expect('='));
    }
    TENON_ASSIGN(const std::string name, scanner_.word());
    std::unique_ptr<Op> op = make_op(name);
    if (op == nullptr) return scanner_.fail(fmt::format("\"{}\" is no operator", name));
    Node* node = graph_->add_node(std::move(op), {}, static_cast<int>(results.size()));
    if (scanner_.peek() == '"') {
      TENON_ASSIGN(node->name, scanner_.quoted());
    }
    TENON_TRY(operands(*node));
    if (scanner_.accept('{')) TENON_TRY(attributes(*node->op));
    TENON_TRY(bodies(*node));
    TENON_TRY(types(*node, results));
    return suffixes(*node);
  }

  Status operands(Node& node) {
    TENON_TRY(scanner_.expect('('));
    if (scanner_.accept(')')) return {};
    do {
      if (scanner_.accept('_')) {
        node.append_input(nullptr);
        continue;
      }
      TENON_ASSIGN(Value * value, reference());
      node.append_input(value);
    } while (scanner_.accept(','));
    return scanner_.expect(')');
  }

  Status attributes(Op& op) {
    do {
      TENON_ASSIGN(std::string name, scanner_.word());
      TENON_TRY(scanner_.expect('='));
      TENON_TRY(AttributeReader(scanner_, weights_, std::move(name)).read_into(op));
    } while (scanner_.accept(','));
    return scanner_.expect('}');
  }

  Status bodies(Node& node) {
    // "graph" cannot be the next node: nodes stand after the types.
    while (scanner_.peek() == 'g') {
      const TextScanner before = scanner_;
      if (!scanner_.accept_word("graph")) return {};
      scanner_ = before;
      TENON_ASSIGN(auto body, GraphParser(scanner_, weights_, depth_ + 1).parse());
      node.bodies.push_back(std::move(body));
    }
    return {};
  }

  Status types(Node& node, std::vector<Definition>& results) {
    if (!results.empty()) TENON_TRY(scanner_.expect(':'));
    for (size_t i = 0; i < results.size(); ++i) {
      if (i > 0) TENON_TRY(scanner_.expect(','));
      Value* value = node.output(static_cast<int>(i));
      if (!values_.emplace(results[i].number, value).second)
        return scanner_.fail(fmt::format("%{} is defined twice", results[i].number));
      value->name = std::move(results[i].name);
      TENON_TRY(type_of(*value));
    }
    return {};
  }

  Status suffixes(Node& node) {
    if (scanner_.accept_word("from")) {
      TENON_TRY(scanner_.expect('['));
      do {
        TENON_ASSIGN(std::string origin, scanner_.quoted());
        node.origins.push_back(std::move(origin));
      } while (scanner_.accept(','));
      TENON_TRY(scanner_.expect(']'));
    }
    if (!scanner_.accept('@')) return {};
    if (scanner_.peek() == '"') {
      TENON_ASSIGN(node.tactic, scanner_.quoted());
    } else {
      node.tactic = scanner_.bare_tactic();
      if (node.tactic.empty()) return scanner_.fail("a tactic expected");
    }
    return {};
  }

  Status outputs() {
    if (scanner_.peek() != '%') return {};
    do {
      TENON_ASSIGN(Value * value, reference());
      graph_->add_output(value);
    } while (scanner_.accept(','));
    return {};
  }

  TextScanner& scanner_;
  const WeightSource* weights_;
  int depth_;
  std::unique_ptr<Graph> graph_;
  std::unordered_map<int64_t, Value*> values_;
};

}  // namespace

Result<std::unique_ptr<Graph>> parse_graph(std::string_view text, const WeightSource* weights) {
  return guarded("reading a graph", [&]() -> Result<std::unique_ptr<Graph>> {
    TextScanner scanner(text);
    TENON_ASSIGN(auto graph, GraphParser(scanner, weights, 0).parse());
    if (!scanner.at_end()) return scanner.fail("nothing more expected");
    return graph;
  });
}

}  // namespace tenon

#include <fmt/format.h>

#include "lower/step_text.h"
#include "ops/text_scanner.h"

namespace tenon {
namespace {

/// Lists nest this deep in the text.
constexpr int kMostDepth = 32;

class StepParser {
 public:
  explicit StepParser(std::string_view text) : scanner_(text) {}

  Result<StepList> all() {
    TENON_ASSIGN(StepList list, this->list(0));
    if (!scanner_.at_end()) return scanner_.fail("the end of the text expected");
    return list;
  }

 private:
  Result<StepList> list(int depth) {
    StepList list;
    if (depth > kMostDepth) return scanner_.fail("lists of steps nest too deep");
    TENON_TRY(expect_word("steps"));
    TENON_ASSIGN(list.name, scanner_.quoted());
    TENON_TRY(scanner_.expect('('));
    TENON_ASSIGN(list.inputs, count());
    TENON_TRY(scanner_.expect(','));
    TENON_ASSIGN(list.outputs, count());
    TENON_TRY(scanner_.expect(')'));
    list.is_fixed = scanner_.accept_word("only");
    if (scanner_.accept_word("where")) TENON_TRY(symbols(list));
    TENON_TRY(scanner_.expect('{'));
    while (scanner_.accept_word("buffer")) TENON_TRY(buffer(list));
    while (scanner_.accept_word("step")) TENON_TRY(step(list, depth));
    TENON_TRY(scanner_.expect('}'));
    return list;
  }

  Status expect_word(std::string_view word) {
    return scanner_.accept_word(word) ? Status()
                                      : scanner_.fail(fmt::format("'{}' expected", word));
  }

  Result<int> count() {
    TENON_ASSIGN(const int64_t value, scanner_.integer());
    if (value < 0 || value > INT32_MAX) return scanner_.fail("a count expected");
    return static_cast<int>(value);
  }

  /// The number that buffers and steps have in the order of the text.
  Status number(size_t expected) {
    TENON_ASSIGN(const int number, count());
    if (static_cast<size_t>(number) == expected) return {};
    return scanner_.fail(fmt::format("the number {} expected", expected));
  }

  Status symbols(StepList& list) {
    do {
      std::string name;
      if (scanner_.peek() == '"') {
        TENON_ASSIGN(name, scanner_.quoted());
      } else {
        TENON_ASSIGN(name, scanner_.word());
      }
      TENON_TRY(scanner_.expect('='));
      TENON_ASSIGN(list.symbols[name], scanner_.integer());
    } while (scanner_.accept(','));
    return {};
  }

  Result<Dim> dim() {
    TENON_ASSIGN(const std::vector<Dim> dims, scanner_.dims('[', ']'));
    if (dims.size() != 1) return scanner_.fail("one expression expected");
    return dims[0];
  }

  Status buffer(StepList& list) {
    StepBuffer buffer;
    TENON_TRY(scanner_.expect('b'));
    TENON_TRY(number(list.buffers.size()));
    TENON_ASSIGN(buffer.bytes, dim());
    TENON_TRY(scanner_.expect(':'));
    TENON_TRY(expect_word("steps"));
    TENON_ASSIGN(buffer.first, count());
    TENON_TRY(expect_word("to"));
    TENON_ASSIGN(buffer.last, count());
    while (scanner_.accept(',')) {
      if (scanner_.accept_word("of")) {
        TENON_ASSIGN(buffer.node, count());
        TENON_ASSIGN(buffer.output, count());
        continue;
      }
      TENON_TRY(expect_word("above"));
      TENON_TRY(below(buffer));
    }
    list.buffers.push_back(std::move(buffer));
    return {};
  }

  Status below(StepBuffer& buffer) {
    do {
      TENON_TRY(scanner_.expect('b'));
      TENON_ASSIGN(buffer.above.emplace_back(), count());
    } while (scanner_.peek() == 'b' && !next_is_buffer());
    return {};
  }

  bool next_is_buffer() {
    TextScanner ahead = scanner_;
    return ahead.accept_word("buffer");
  }

  Result<Place> place() {
    Place place;
    if (scanner_.accept('_')) return place;
    const auto base = std::string_view("bioc").find(scanner_.peek());
    if (base == std::string_view::npos || !scanner_.accept(scanner_.peek()))
      return scanner_.fail("an operand expected: b, i, o or c with a number, or _");
    place.base = static_cast<Place::Base>(base + 1);
    TENON_ASSIGN(place.index, count());
    if (scanner_.peek() != '[') return place;
    TENON_ASSIGN(const std::vector<Dim> dims, scanner_.dims('[', ']'));
    if (dims.empty() || dims.size() > 2) return scanner_.fail("one or two expressions expected");
    place.offset = dims[0];
    if (dims.size() == 2) place.each = dims[1];
    return place;
  }

  Result<std::vector<Place>> places() {
    std::vector<Place> places;
    TENON_TRY(scanner_.expect('('));
    if (scanner_.accept(')')) return places;
    do {
      TENON_ASSIGN(places.emplace_back(), place());
    } while (scanner_.accept(','));
    TENON_TRY(scanner_.expect(')'));
    return places;
  }

  Status kernel(Step& step) {
    if (scanner_.accept_word("copy")) {
      TENON_ASSIGN(step.bytes, dim());
      return {};
    }
    TENON_TRY(scanner_.expect('@'));
    if (scanner_.peek() == '"') {
      TENON_ASSIGN(step.kernel, scanner_.quoted());
    } else {
      step.kernel = scanner_.bare_tactic();
    }
    return step.kernel.empty() ? scanner_.fail("a kernel expected") : Status();
  }

  Status step(StepList& list, int depth) {
    Step step;
    TENON_TRY(number(list.steps.size()));
    TENON_ASSIGN(step.name, scanner_.quoted());
    TENON_TRY(scanner_.expect(':'));
    TENON_ASSIGN(const int64_t node, scanner_.integer());
    if (node < -1 || node > INT32_MAX) return scanner_.fail("a node's place expected");
    step.node = static_cast<int>(node);
    TENON_TRY(kernel(step));
    TENON_ASSIGN(step.inputs, places());
    TENON_TRY(scanner_.expect('-'));
    TENON_TRY(scanner_.expect('>'));
    TENON_ASSIGN(step.outputs, places());
    TENON_TRY(rest(step));
    if (scanner_.accept('{'))
      while (!scanner_.accept('}')) {
        TENON_ASSIGN(step.bodies.emplace_back(), this->list(depth + 1));
      }
    list.steps.push_back(std::move(step));
    return {};
  }

  Status rest(Step& step) {
    if (scanner_.accept_word("scratch")) {
      TENON_ASSIGN(step.scratch, place());
    }
    if (scanner_.accept_word("own")) {
      TENON_ASSIGN(step.own, places());
    }
    if (scanner_.accept_word("samples")) {
      TENON_ASSIGN(step.samples, dim());
    }
    if (scanner_.accept_word("section")) {
      TENON_ASSIGN(step.section, count());
      TENON_TRY(expect_word("stream"));
      TENON_ASSIGN(step.stream, count());
    }
    step.fenced = scanner_.accept_word("fenced");
    step.overlapped = scanner_.accept_word("overlapped");
    if (scanner_.accept_word("fetch")) {
      TENON_ASSIGN(step.fetch.step, count());
      TENON_ASSIGN(step.fetch.offset, scanner_.integer());
      TENON_ASSIGN(step.fetch.bytes, scanner_.integer());
    }
    while (scanner_.accept_word("load")) TENON_TRY(load(step));
    return {};
  }

  Status load(Step& step) {
    StepLoad& load = step.loads.emplace_back();
    TENON_ASSIGN(load.step, count());
    load.is_own = scanner_.accept_word("own");
    if (!load.is_own) TENON_TRY(expect_word("in"));
    TENON_ASSIGN(load.operand, count());
    TENON_TRY(scanner_.expect('b'));
    TENON_ASSIGN(load.buffer, count());
    TENON_ASSIGN(load.bytes, scanner_.integer());
    return {};
  }

  TextScanner scanner_;
};

}  // namespace

Result<StepList> parse_steps(std::string_view text) {
  return StepParser(text).all();
}

}  // namespace tenon

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "device/source_text.h"
#include "kernels/jit/recorded_text.h"
#include "kernels/region.h"
#include "kernels/strides.h"
#include "kernels/tactic.h"

namespace tenon {

/// One axis of a loop over the elements of a tensor: `extent` steps of `step` along a tensor's
/// axis.
struct LoopAxis {
  int axis = 0;
  int64_t extent = 1, step = 1;
};
/// Slowest first. The product of the extents is the number of elements.
using IndexLoop = std::vector<LoopAxis>;

/// The axes of a tensor in that order.
IndexLoop loop_over(const Extents& extents, const std::vector<int>& axes);
/// Axes in the order in which they lie in memory of a dense tensor of that layout.
std::vector<int> memory_order(int rank, Layout layout);
IndexLoop memory_loop(const Operand& operand);
Extents loop_extents(const IndexLoop& loop);
int64_t loop_count(const IndexLoop& loop);
/// A tensor's strides (logical order) along the axes of the loop.
std::vector<int64_t> loop_strides(const IndexLoop& loop, const std::vector<int64_t>& strides);
IndexLoop joined(IndexLoop first, const IndexLoop& second);

/// Strides of an operand as a tensor of `extents` that it broadcasts to: 0 along broadcast axes.
Result<std::vector<int64_t>> broadcast_strides(const Operand& operand, const Extents& extents);

/// The largest number of elements up to 16 bytes, a power of 2, that can be loaded or stored at
/// once along the fastest axis of the loop.
int pack_width(const IndexLoop& loop, const Operand& operand, const std::vector<int64_t>& strides);
inline int pack_width(const IndexLoop& loop, const Operand& operand) {
  return pack_width(loop, operand, strides_of(operand));
}

/// Elements that the address of an operand is known to be a multiple of.
int64_t alignment_in_elements(const Operand& operand);

/// Name of the element type in kernels/jit/prelude.cuh; null for types that kernels do not know.
const char* device_type(DataType type);
/// The type of arithmetic there: float for narrow floats.
const char* wide_type(DataType type);

/// Of elements that are moved, whatever they mean.
const char* word_type(int bytes);

/// Source of a kernel that is the same for all extents of the slowest axes: constants that differ
/// are read from the launch's first argument, an array of the values: of one word each where that
/// is enough for all, else of two. A kernel waits for each line of its arguments.
struct OpenSource {
  SourceText text;  ///< Empty: there is none.
  std::vector<uint32_t> words;
  /// The word that says how a launch walks (jit/hopper.cuh), where code reads that.
  std::optional<size_t> walk = {};
};

/// n / d for all n below 2^31 is n * multiplier >> shift, in 64 bits.
struct Inverse {
  int64_t multiplier, shift;
};
Inverse inverse_of(int64_t divisor);

/// Recorded text, and its form where some of its numbers are open. Sources that were made of it
/// share the text until more is recorded.
class OpenText {
 public:
  void add(std::string_view text) { exact().text(text), open().text(text); }
  void add(std::string_view exact_text, std::string_view open_text) {
    exact().text(exact_text), open().text(open_text);
  }
  void record(TextForm form, std::span<const std::string_view> words,
              std::span<const int64_t> numbers = {}) {
    exact().record(form, words, numbers), open().record(form, words, numbers);
  }
  /// The same of each alone.
  RecordedText& exact() { return own(exact_); }
  RecordedText& open() { return own(open_); }
  /// Defines a constant of which code is compiled for all values.
  void open(std::string_view name, int64_t value);
  /// Defines OPEN_WALK, the word that says how a launch walks.
  void open_walk();
  /// Defines a constant that an expression of open ones gives.
  void computed(std::string_view name, int64_t value, std::string_view expression);
  /// Defines a fact: its value in exact code, and in code for all extents.
  void flag(std::string_view name, bool exact_value, bool open_value);
  /// Statements on places and extents, whose whole numbers above 1 are open.
  void open_numbers(std::string_view statements);
  /// A number that code reads from the launch, by its place among these.
  int64_t place_of(int64_t value);
  /// Defines a macro that divides numbers below 2^31 by the value of an expression, which is open.
  void divider(std::string_view name, std::string_view expression, int64_t value);

  /// Adds the text with its numbers.
  void add_exact_to(SourceText& source) const;
  /// Between a prelude and a body, whose kernels get the argument.
  OpenSource source(const SourceText& prelude, const SourceText& body) const;
  /// The same with the body in both forms; `open_body` null: its kernels have no place for it.
  OpenSource source(const SourceText& prelude, const FileBlock& body,
                    const FileBlock* open_body) const;

 private:
  static RecordedText& own(std::shared_ptr<RecordedText>& text) {
    if (text.use_count() > 1) text = std::make_shared<RecordedText>(*text);
    return *text;
  }
  SourceText begin_open(const SourceText& prelude) const;
  bool is_narrow() const;
  /// Where a number lies among the words.
  size_t word_of(int64_t place) const;
  std::vector<uint32_t> words() const;
  /// With its words.
  OpenSource finished(SourceText text) const;

  std::shared_ptr<RecordedText> exact_ = std::make_shared<RecordedText>(),
                                open_ = std::make_shared<RecordedText>();
  std::vector<int64_t> values_;
  std::optional<int64_t> walk_;  ///< Its place.
};

/// As many names as there are values for them, with one space between two.
template <size_t count> class Names {
 public:
  consteval Names(const char* text) : rest_(text) {
    if (std::ranges::count(rest_, ' ') + 1 != count) throw "as many names as values";
  }
  std::string_view next() {
    const std::string_view name = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(std::min(name.size() + 1, rest_.size()));
    return name;
  }

 private:
  std::string_view rest_;
};

/// Source of a kernel made for one problem: the prelude, the problem's constants, then files of
/// the kernel families. Same problem, same text.
class KernelCode {
 public:
  /// Each of several: `constants("kRows kColumns", rows, columns)`.
  template <class... Values> void constants(Names<sizeof...(Values)> names, Values... values) {
    (constant(names.next(), values), ...);
  }
  template <class... Values> void flags(Names<sizeof...(Values)> names, Values... values) {
    (flag(names.next(), values), ...);
  }
  template <class... Types> void types(Names<sizeof...(Types)> names, Types... types) {
    (type(names.next(), types), ...);
  }
  /// `using name = ...;`
  void type(std::string_view name, DataType type);
  void alias(std::string_view name, std::string_view type);
  void constant(std::string_view name, int64_t value);
  /// The same of a number that grows with the slowest axis: no constant expression may use it.
  void open(std::string_view name, int64_t value) { constants_.open(name, value); }
  /// The same of a number that other axes decide: open where these may vary, too.
  void inner(std::string_view name, int64_t value) {
    all_open_ ? constants_.open(name, value) : constant(name, value);
  }
  /// The same of a number that an expression of others gives.
  void inner_as(std::string_view name, int64_t value, std::string_view expression) {
    all_open_ ? constants_.computed(name, value, expression) : constant(name, value);
  }
  /// The same of a fact that code makes use of where it is known to hold.
  void inner_flag(std::string_view name, bool value) {
    constants_.flag(name, value, value && !all_open_);
  }
  /// Statements on places and extents, of which the same holds.
  void inner_text(std::string_view statements) {
    all_open_ ? constants_.open_numbers(statements) : text(statements);
  }
  /// Whether more axes than the slowest vary (device/open_extents.h).
  void open_all(bool all) { all_open_ = all; }
  /// A macro of one argument that divides by such a number, without a division where it is open.
  void divider(std::string_view name, std::string_view expression, int64_t value) {
    constants_.divider(name, expression, value);
  }
  void record(TextForm form, std::span<const std::string_view> words,
              std::span<const int64_t> numbers = {}) {
    constants_.record(form, words, numbers);
  }
  void record(TextForm form, std::initializer_list<std::string_view> words,
              std::span<const int64_t> numbers = {}) {
    record(form, std::span(words.begin(), words.size()), numbers);
  }
  void flag(std::string_view name, bool value);
  /// Whether things come in whole units, `outer` times as many as one place of the slowest axis
  /// has. Code for all extents has one form: there it says whether each place's do.
  void whole_flag(std::string_view name, int64_t count, int64_t outer, int64_t unit);
  void real(std::string_view name, double value);
  void array(std::string_view name, const std::vector<int64_t>& values);
  /// A struct that says where the elements of a loop lie in an operand (`locate` of the prelude).
  void located(std::string_view name, const IndexLoop& loop, const Operand& operand,
               const std::vector<int64_t>& strides);
  void located(std::string_view name, const IndexLoop& loop, const Operand& operand) {
    located(name, loop, operand, strides_of(operand));
  }
  void text(std::string_view text) { constants_.add(text); }
  /// Text that code for all extents is without.
  void exact_text(std::string_view text) { constants_.add(text, ""); }
  /// Text that code for all extents alone has.
  void open_text(std::string_view text) { constants_.add("", text); }
  /// Has code for all extents read how a launch walks (jit/hopper.cuh).
  void open_walk() { constants_.open_walk(); }
  /// The operands of the tensor cores of jit/matrix.cuh: f16 or bf16.
  void matrix_type(DataType type);
  /// Division and square root of floats may be off in the last place, and denormals are zero: for
  /// results that are rounded to 16 bits.
  void allow_fast_math() { fast_ = true; }
  /// Results of `type` are wanted: fast_math where that is 16 bits wide.
  void round_to(DataType type) {
    if (is_half(type)) fast_ = true;
  }

  /// All of it, ending in the given files of src/kernels ("rows/softmax.cu").
  struct Sources {
    SourceText exact;
    OpenSource open;
  };
  Result<Sources> sources(std::initializer_list<std::string_view> files) const;
  const std::vector<std::string>& options() const;

 private:
  OpenText constants_;
  bool fast_ = false, all_open_ = false;
};

/// Text of a real number in device code, infinities and NaN included.
std::string device_real(double value);

/// True when indices of all operands of the problem fit 32 bits.
bool small_indices(const Problem& problem);

}  // namespace tenon

#include "kernels/jit/kernel_code.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <string>
#include <vector>

#include "base/ascii.h"
#include "kernels/jit/sources.h"
#include "kernels/strides.h"

namespace tenon {

IndexLoop loop_over(const Extents& extents, const std::vector<int>& axes) {
  IndexLoop loop;
  for (const int axis : axes) loop.push_back({axis, extents[static_cast<size_t>(axis)]});
  return loop;
}

std::vector<int> memory_order(int rank, Layout layout) {
  std::vector<int> order;
  for (int i = 0; i < rank; ++i) order.push_back(i);
  if (layout == Layout::kChannelsLast && rank >= 3) {
    order.erase(order.begin() + 1);
    order.push_back(1);
  }
  return order;
}

IndexLoop memory_loop(const Operand& operand) {
  return loop_over(operand.extents, memory_order(operand.rank(), operand.layout));
}

Extents loop_extents(const IndexLoop& loop) {
  Extents extents;
  for (const LoopAxis& axis : loop) extents.push_back(axis.extent);
  return extents;
}

int64_t loop_count(const IndexLoop& loop) {
  int64_t count = 1;
  for (const LoopAxis& axis : loop) count *= axis.extent;
  return count;
}

std::vector<int64_t> loop_strides(const IndexLoop& loop, const std::vector<int64_t>& strides) {
  std::vector<int64_t> result;
  for (const LoopAxis& axis : loop)
    result.push_back(strides[static_cast<size_t>(axis.axis)] * axis.step);
  return result;
}

IndexLoop joined(IndexLoop first, const IndexLoop& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Result<std::vector<int64_t>> broadcast_strides(const Operand& operand, const Extents& extents) {
  const std::vector<int64_t> own = strides_of(operand);
  if (own.size() > extents.size()) return unsupported("an operand has more axes than the result");
  std::vector<int64_t> strides(extents.size(), 0);
  const size_t skipped = extents.size() - own.size();
  for (size_t i = 0; i < own.size(); ++i) {
    if (operand.extents[i] == 1) continue;
    if (operand.extents[i] != extents[skipped + i])
      return unsupported("an operand does not broadcast to the result");
    strides[skipped + i] = own[i];
  }
  return strides;
}

int64_t alignment_in_elements(const Operand& operand) {
  return std::max<int64_t>(1, operand.alignment / byte_size(operand.type));
}

namespace {

/// The same loop with as few axes as possible.
struct MergedLoop {
  std::vector<int64_t> extents, strides;

  MergedLoop(const Extents& loop, const std::vector<int64_t>& from) {
    for (size_t i = 0; i < loop.size(); ++i) {
      if (loop[i] == 1) continue;
      if (!extents.empty() && strides.back() == from[i] * loop[i]) {
        extents.back() *= loop[i];
        strides.back() = from[i];
      } else {
        extents.push_back(loop[i]);
        strides.push_back(from[i]);
      }
    }
  }
};

bool allows(const MergedLoop& loop, int64_t alignment, int width) {
  if (loop.extents.empty()) return width == 1;
  if (loop.extents.back() % width != 0) return false;
  if (loop.strides.back() == 0) return true;
  if (loop.strides.back() != 1 || alignment % width != 0) return false;
  for (size_t i = 0; i + 1 < loop.strides.size(); ++i)
    if (loop.strides[i] % width != 0) return false;
  return true;
}

/// What stands for the slowest extent of a located tensor where it is open: a number that code
/// finds no more out by than what holds for these extents and many others. Only where there is one
/// axis alone does code ask what divides it: 16 or less do so as they do, as does the fastest
/// extent if there are others. It equals nothing that code compares it with.
int64_t open_extent(const IndexLoop& loop, const std::vector<int64_t>& merged) {
  constexpr int64_t kPrime = 257, kWidestPack = 16;
  if (merged.size() > 1) return kPrime;
  int64_t known = 1;
  size_t axes = 0;
  for (const LoopAxis& axis : loop)
    if (axis.extent != 1) known = axis.extent, ++axes;
  if (axes < 2 || known > INT32_MAX / kPrime / kWidestPack) known = 1;
  while (known % kWidestPack != 0 && merged[0] % (known * 2) == 0) known *= 2;
  return kPrime * known;
}

// Texts kept for the process are never destroyed: threads may make code while it ends.

/// The line ahead of a file of the library, which lives as long as the process. Thread-safe.
std::string_view line_of(std::string_view file) {
  static auto& mutex = *new std::shared_mutex;
  static auto& known = *new std::map<std::string, std::string, std::less<>>;
  {
    const std::shared_lock lock(mutex);
    if (const auto found = known.find(file); found != known.end()) return found->second;
  }
  const std::unique_lock lock(mutex);
  return known.emplace(file, fmt::format("#line 1 \"{}\"\n", file)).first->second;
}

constexpr std::string_view kOpenParameter =
    "const __grid_constant__ OpenConstants open_constants, ";

/// A text cut where its kernels' parameters begin.
struct CutText {
  std::vector<std::string_view> parts;
  bool has_places = true;  ///< False: a kernel's begin nowhere.
};

CutText cut(std::string_view text) {
  constexpr std::string_view kKernel = "kernel(";
  CutText result;
  for (size_t at = 0; (at = text.find("__global__", at)) != std::string_view::npos; at = 0) {
    const size_t open = text.find(kKernel, at);
    result.has_places &= open != std::string_view::npos;
    if (!result.has_places) return result;
    result.parts.push_back(text.substr(0, open + kKernel.size()));
    text.remove_prefix(open + kKernel.size());
  }
  result.parts.push_back(text);
  return result;
}

/// The same of a file of the library, cut once. Thread-safe.
const CutText& cut_file(std::string_view file) {
  static auto& mutex = *new std::shared_mutex;
  static auto& known = *new std::map<std::pair<const char*, size_t>, CutText>;
  const std::pair key(file.data(), file.size());
  {
    const std::shared_lock lock(mutex);
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  const std::unique_lock lock(mutex);
  return known.try_emplace(key, cut(file)).first->second;
}

/// Adds the open numbers to the parameters of the piece's kernels, or says that one has no place
/// for them.
bool add_open_parameter(std::string_view piece, bool is_file, SourceText& text) {
  const CutText own = is_file ? CutText() : cut(piece);
  const CutText& pieces = is_file ? cut_file(piece) : own;
  for (size_t i = 0; i < pieces.parts.size(); ++i) {
    if (i > 0) text.add_file(kOpenParameter);
    is_file ? text.add_file(pieces.parts[i]) : text.add(std::string(pieces.parts[i]));
  }
  return pieces.has_places;
}

/// Files in a row, as they are and with the open numbers among their kernels' parameters.
struct Body {
  std::unique_ptr<const FileBlock> exact, open;  ///< `open` null: a kernel has no place for them.
};

Result<Body> make_body(std::initializer_list<std::string_view> files) {
  std::vector<std::string_view> exact, open;
  bool has_places = true;
  for (const std::string_view file : files) {
    TENON_ASSIGN(const std::string_view text, device_file(file));
    for (const std::string_view piece : {line_of(file), text}) {
      exact.push_back(piece);
      const CutText& cut = cut_file(piece);
      has_places &= cut.has_places;
      for (size_t i = 0; i < cut.parts.size(); ++i) {
        if (i > 0) open.push_back(kOpenParameter);
        open.push_back(cut.parts[i]);
      }
    }
  }
  Body body{std::make_unique<const FileBlock>(std::move(exact)), nullptr};
  if (has_places) body.open = std::make_unique<const FileBlock>(std::move(open));
  return body;
}

/// Names in a row, compared without a copy of them.
struct NamesOrder {
  using is_transparent = void;
  template <class A, class B> bool operator()(const A& a, const B& b) const {
    return std::ranges::lexicographical_compare(a, b);
  }
};

/// The same, made once for each row of names. Thread-safe.
Result<const Body*> body_of(std::initializer_list<std::string_view> files) {
  static auto& mutex = *new std::shared_mutex;
  static auto& known = *new std::map<std::vector<std::string>, Body, NamesOrder>;
  {
    const std::shared_lock lock(mutex);
    if (const auto found = known.find(files); found != known.end()) return &found->second;
  }
  TENON_ASSIGN(Body body, make_body(files));
  const std::unique_lock lock(mutex);
  std::vector<std::string> names(files.begin(), files.end());
  return &known.try_emplace(std::move(names), std::move(body)).first->second;
}

}  // namespace

int pack_width(const IndexLoop& loop, const Operand& operand, const std::vector<int64_t>& strides) {
  const MergedLoop merged(loop_extents(loop), loop_strides(loop, strides));
  int width = 16 / byte_size(operand.type);
  while (width > 1 && !allows(merged, alignment_in_elements(operand), width)) width /= 2;
  return width;
}

const char* device_type(DataType type) {
  switch (type) {
    case DataType::kFloat32: return "f32";
    case DataType::kFloat16: return "f16";
    case DataType::kBFloat16: return "bf16";
    case DataType::kFloat64: return "f64";
    case DataType::kInt8:
    case DataType::kInt4:
    case DataType::kInt2: return "i8";
    case DataType::kInt16: return "i16";
    case DataType::kInt32: return "i32";
    case DataType::kInt64: return "i64";
    case DataType::kUInt8:
    case DataType::kUInt4:
    case DataType::kUInt2: return "u8";
    case DataType::kUInt16: return "u16";
    case DataType::kUInt32: return "u32";
    case DataType::kUInt64: return "u64";
    case DataType::kBool: return "boolean";
    default: return nullptr;
  }
}

const char* wide_type(DataType type) {
  if (is_half(type)) return "f32";
  if (type == DataType::kBool) return "bool";
  return device_type(type);
}

const char* word_type(int bytes) {
  return bytes == 1 ? "u8" : bytes == 2 ? "u16" : bytes == 4 ? "u32" : "u64";
}

void OpenText::open(std::string_view name, int64_t value) {
  const int64_t wide = value > INT32_MAX || value < INT32_MIN ? 1 : 0;
  exact().record(TextForm::kConstant, {name}, {&value, 1});
  const int64_t numbers[] = {wide, place_of(value)};
  open().record(TextForm::kOpenConstant, {name}, numbers);
}

void OpenText::open_walk() {
  walk_ = place_of(0);
  open().text(fmt::format("#define OPEN_WALK (open_constant<u32, {}>())\n", *walk_));
}

void OpenText::computed(std::string_view name, int64_t value, std::string_view expression) {
  exact().record(TextForm::kConstant, {name}, {&value, 1});
  open().text(fmt::format("#define {} ({})\n", name, expression));
}

void OpenText::flag(std::string_view name, bool exact_value, bool open_value) {
  const int64_t numbers[] = {exact_value ? 1 : 0, open_value ? 1 : 0};
  exact().record(TextForm::kFlag, {name}, {&numbers[0], 1});
  open().record(TextForm::kFlag, {name}, {&numbers[1], 1});
}

int64_t OpenText::place_of(int64_t value) {
  values_.push_back(value);
  return std::ssize(values_) - 1;
}

void OpenText::open_numbers(std::string_view statements) {
  const auto is_word = [](char c) { return is_letter_or_digit(c) || c == '_'; };
  std::string open;
  for (size_t at = 0, end = 0; at < statements.size(); at = end) {
    end = at + 1;
    if (!is_word(statements[at])) {
      open += statements[at];
      continue;
    }
    const auto goes_on = [&](char c) { return is_word(c) || c == '.' || c == '\''; };
    while (end < statements.size() && goes_on(statements[end])) ++end;
    const std::string_view word = statements.substr(at, end - at);
    int64_t value = 0;
    const char* const last = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data(), last, value);
    const std::string_view suffix(rest, static_cast<size_t>(last - rest));
    const bool is_whole = error == std::errc() && (suffix.empty() || suffix == "u");
    if (is_whole && value > 1)
      open +=
          fmt::format("open_constant<{}, {}>()", suffix == "u" ? "u32" : "i64", place_of(value));
    else
      open += word;
  }
  add(statements, open);
}

/// The multiplier lies between 2^31 and 2^32, and is too large by less than 1.
Inverse inverse_of(int64_t divisor) {
  int64_t shift = 31;
  while (int64_t{1} << (shift - 31) < divisor) ++shift;
  return {((int64_t{1} << shift) + divisor - 1) / divisor, shift};
}

void OpenText::divider(std::string_view name, std::string_view expression, int64_t value) {
  const Inverse inverse = inverse_of(value);
  const int64_t multiplier = place_of(inverse.multiplier), shift = place_of(inverse.shift);
  const std::string begin = "#define " + std::string(name) + "(number) (";
  add(begin + "(number) / (" + std::string(expression) + "))\n",
      begin + "int(u64(u32(number)) * u64(open_constant<i64, " + std::to_string(multiplier) +
          ">()) >> open_constant<int, " + std::to_string(shift) + ">()))\n");
}

void OpenText::add_exact_to(SourceText& source) const {
  if (exact_->empty()) return;
  exact_->seal();
  source.add(exact_);
}

/// Zeros in front of a number make it the same one in 64 bits.
bool OpenText::is_narrow() const {
  return std::ranges::all_of(values_, [](int64_t v) { return v >= 0 && v <= UINT32_MAX; });
}

size_t OpenText::word_of(int64_t place) const {
  return static_cast<size_t>(is_narrow() ? place : 2 * place);
}

std::vector<uint32_t> OpenText::words() const {
  const bool is_one_each = is_narrow();
  std::vector<uint32_t> words;
  for (const int64_t value : values_) {
    words.push_back(static_cast<uint32_t>(value));
    if (!is_one_each) words.push_back(static_cast<uint32_t>(value >> 32));
  }
  return words;
}

/// The prelude and this text.
SourceText OpenText::begin_open(const SourceText& prelude) const {
  SourceText text;
  constexpr size_t kUsualPieces = 5;
  text.reserve(kUsualPieces);
  const int bytes = is_narrow() ? 4 : 8;
  if (!values_.empty()) text.add(fmt::format("#define OPEN_BYTES {}\n", bytes));
  text.add(prelude);
  if (!values_.empty())
    text.add(fmt::format("struct OpenConstants {{\n  {} values[{}];\n}};\n",
                         bytes == 4 ? "u32" : "i64", values_.size()));
  open_->seal();
  text.add(open_);
  return text;
}

OpenSource OpenText::finished(SourceText text) const {
  OpenSource source{std::move(text), words()};
  if (walk_) source.walk = word_of(*walk_);
  return source;
}

OpenSource OpenText::source(const SourceText& prelude, const SourceText& body) const {
  if (*exact_ == *open_) return {};
  SourceText text = begin_open(prelude);
  if (values_.empty()) {
    text.add(body);
    return {std::move(text), {}};
  }
  bool has_places = true;
  body.for_each([&](std::string_view piece, bool is_file) {
    has_places &= add_open_parameter(piece, is_file, text);
  });
  if (!has_places) return {};
  return finished(std::move(text));
}

OpenSource OpenText::source(const SourceText& prelude, const FileBlock& body,
                            const FileBlock* open_body) const {
  const FileBlock* const end = values_.empty() ? &body : open_body;
  if (*exact_ == *open_ || end == nullptr) return {};
  SourceText text = begin_open(prelude);
  text.add(*end);
  return finished(std::move(text));
}

void KernelCode::matrix_type(DataType type) {
  text(fmt::format("#define MATRIX_BF16 {}\n", type == DataType::kBFloat16 ? 1 : 0));
}

void KernelCode::type(std::string_view name, DataType type) {
  alias(name, device_type(type));
}
void KernelCode::alias(std::string_view name, std::string_view type) {
  record(TextForm::kAlias, {name, type});
}
void KernelCode::constant(std::string_view name, int64_t value) {
  record(TextForm::kConstant, {name}, {&value, 1});
}
void KernelCode::flag(std::string_view name, bool value) {
  const int64_t number = value ? 1 : 0;
  record(TextForm::kFlag, {name}, {&number, 1});
}
void KernelCode::whole_flag(std::string_view name, int64_t count, int64_t outer, int64_t unit) {
  const bool are_known = !all_open_ && outer > 0 && count % outer == 0;
  constants_.flag(name, count % unit == 0, are_known && count / outer % unit == 0);
}
void KernelCode::real(std::string_view name, double value) {
  text(fmt::format("#define {} {}\n", name, device_real(value)));
}
void KernelCode::array(std::string_view name, const std::vector<int64_t>& values) {
  const std::string list = values.empty() ? "0" : fmt::format("{}", fmt::join(values, ", "));
  text(fmt::format("__device__ constexpr Index {}[] = {{{}}};\n", name, list));
}

namespace {

/// A number in place of an extent that code must not depend on: like it, 0 or 1 or neither. Code
/// asks for divisors of the fastest extent alone.
constexpr int64_t kUnknown = 263;
int64_t unknown_like(int64_t extent) {
  return extent > 1 ? kUnknown : extent;
}

/// Likewise of a stride: a multiple of the same powers of two up to 16.
int64_t unknown_stride_like(int64_t stride) {
  constexpr int64_t kWidestPack = 16;
  return stride > 1 ? kUnknown * std::gcd(stride, kWidestPack) : stride;
}

/// Alignment, extents and strides.
using LocatedNumbers = std::vector<int64_t>;
LocatedNumbers located_numbers(int64_t alignment, const std::vector<int64_t>& extents,
                               const std::vector<int64_t>& strides) {
  LocatedNumbers numbers;
  numbers.reserve(1 + 2 * extents.size());
  numbers.push_back(alignment);
  numbers.insert(numbers.end(), extents.begin(), extents.end());
  numbers.insert(numbers.end(), strides.begin(), strides.end());
  return numbers;
}

/// Records the struct where all extents but the fastest are open.
void record_all_open(std::string_view name, int64_t alignment, const MergedLoop& merged,
                     OpenText& constants) {
  std::vector<int64_t> extents, strides, reads;
  for (const int64_t extent : merged.extents) extents.push_back(unknown_like(extent));
  for (const int64_t stride : merged.strides) strides.push_back(unknown_stride_like(stride));
  extents.back() = merged.extents.back();
  const auto read = [&](int64_t value, bool is_known) {
    const bool is_open = value > 1 && !is_known;
    reads.push_back(is_open ? 1 : 0);
    reads.push_back(is_open ? constants.place_of(value) : value);
  };
  for (size_t i = 0; i < extents.size(); ++i) read(merged.extents[i], i + 1 == extents.size());
  for (const int64_t stride : merged.strides) read(stride, false);
  constants.open().record(TextForm::kLocated, {name}, located_numbers(alignment, extents, strides));
  constants.open().record(TextForm::kActual, {name}, reads);
}

}  // namespace

void KernelCode::located(std::string_view name, const IndexLoop& loop, const Operand& operand,
                         const std::vector<int64_t>& strides) {
  const MergedLoop merged(loop_extents(loop), loop_strides(loop, strides));
  const int64_t alignment = alignment_in_elements(operand);
  constants_.exact().record(TextForm::kLocated, {name},
                            located_numbers(alignment, merged.extents, merged.strides));
  if (all_open_ && merged.extents.size() >= 2)
    return record_all_open(name, alignment, merged, constants_);
  std::vector<int64_t> open = merged.extents;
  if (!open.empty()) open.front() = open_extent(loop, merged.extents);
  constants_.open().record(TextForm::kLocated, {name},
                           located_numbers(alignment, open, merged.strides));
}

Result<KernelCode::Sources> KernelCode::sources(
    std::initializer_list<std::string_view> files) const {
  static const auto& prelude = *new Result<std::string_view>(device_file("jit/prelude.cuh"));
  TENON_TRY(prelude);
  static const auto& begin = *new FileBlock({*prelude});
  TENON_ASSIGN(const Body* const body, body_of(files));
  Sources sources;
  constexpr size_t kPieces = 3;
  sources.exact.reserve(kPieces);
  sources.exact.add(begin);
  sources.open = constants_.source(sources.exact, *body->exact, body->open.get());
  constants_.add_exact_to(sources.exact);
  sources.exact.add(*body->exact);
  return sources;
}

const std::vector<std::string>& KernelCode::options() const {
  using Words = std::vector<std::string>;
  static const Words& exact = *new Words{"-diag-suppress=177"};
  static const Words& fast =
      *new Words{"-diag-suppress=177", "--ftz=true", "--prec-div=false", "--prec-sqrt=false"};
  return fast_ ? fast : exact;
}

std::string device_real(double value) {
  if (std::isnan(value)) return "kNan";
  if (std::isinf(value)) return value > 0 ? "kInfinity" : "(-kInfinity)";
  std::string text = fmt::format("{:.17g}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return value < 0 || std::signbit(value) ? "(" + text + ")" : text;
}

bool small_indices(const Problem& problem) {
  const auto fits = [](const Operand& operand) {
    return !operand.present ||
           (operand.count() <= INT32_MAX && extent_in_memory(operand) - 1 <= INT32_MAX);
  };
  return std::all_of(problem.inputs.begin(), problem.inputs.end(), fits) &&
         std::all_of(problem.outputs.begin(), problem.outputs.end(), fits);
}

}  // namespace tenon

// Formulas of random numbers and signals.
#include <bit>
#include <cstring>
#include <set>

#include "kernels/generic/formulas.h"
#include "kernels/jit/sources.h"
#include "ops/generate.h"

namespace tenon::formulas {
namespace {

Status add_turns(Formula& f) {
  TENON_ASSIGN(const std::string turns, device_source("generic/turn.cuh"));
  f.constants += turns;
  return {};
}

void add_kind(Formula& f, std::string_view kind, int64_t seed) {
  f.constants += fmt::format("#define RANDOM_{} 1\n", kind);
  f.number("kSeed", seed);
}

}  // namespace

Status random(const Problem&, const Random& op, Formula& f) {
  add_kind(f, op.distribution == Distribution::kNormal ? "NORMAL" : "UNIFORM", op.seed);
  f.real("kA", op.a);
  f.real("kB", op.b);
  return {};
}

Status bernoulli(const Problem&, const Bernoulli& op, Formula& f) {
  add_kind(f, "CHANCE", op.seed);
  return {};
}

Status multinomial(const Problem&, const Multinomial& op, Formula& f) {
  add_kind(f, "CLASSES", op.seed);
  return {};
}

Status window(const Problem& problem, const Window& op, Formula& f) {
  const int64_t size = problem.output().count();
  f.number("kPeriod", op.periodic ? size : size - 1);
  f.number("kWindow", static_cast<int>(op.window));
  return {};
}

Status mel_weights(const Problem&, const MelWeights&, Formula&) {
  return {};
}

Status dft(const Problem& problem, const Dft& op, Formula& f) {
  const Operand &x = problem.input(0), &y = problem.output();
  TENON_ASSIGN(const int64_t wanted, known_number(problem, 2, -2));
  const int axis = axis_of(wanted, x.rank());
  const bool halved = op.onesided && !op.inverse, mirror = op.onesided && op.inverse;
  int64_t length = y.extents[axis];
  if (halved) {
    // The result's extent stands for two lengths.
    TENON_ASSIGN(length, known_number(problem, 1, x.extents[axis]));
  }
  f.number("kAxis", axis);
  f.number("kLength", length);
  f.number("kParts", x.extents.back());
  f.flag("kInverse", op.inverse);
  f.flag("kMirror", mirror);
  return add_turns(f);
}

Status stft(const Problem& problem, const Stft&, Formula& f) {
  TENON_ASSIGN(const int64_t step, known_number(problem, 1, 1));
  const int64_t window = problem.has_input(2) ? problem.input(2).count() : 0;
  const bool windowed = problem.has_input(2);
  int64_t length = window;
  if (!windowed) {
    TENON_ASSIGN(length, known_number(problem, 3, 0));
  }
  f.number("kStep", step);
  f.number("kLength", length);
  f.number("kParts", problem.input(0).extents.back());
  f.flag("kHasWindow", windowed);
  return add_turns(f);
}

namespace {

/// Each known n-gram once, with the place of its count.
std::vector<int64_t> grams_of(const TfIdf& op, int64_t& count) {
  std::vector<int64_t> table;
  std::set<std::vector<int64_t>> seen;
  size_t number = 0;
  for (size_t i = 0; i < op.counts.size(); ++i) {
    const int64_t size = static_cast<int64_t>(i) + 1;
    const auto total = static_cast<int64_t>(op.pool.size());
    const int64_t end = i + 1 < op.counts.size() ? op.counts[i + 1] : total;
    for (int64_t at = op.counts[i]; at + size <= end; at += size, ++number) {
      std::vector<int64_t> items(op.pool.begin() + at, op.pool.begin() + at + size);
      if (size < op.min_length || size > op.max_length || !seen.insert(items).second) continue;
      table.insert(table.end(), {size, op.indexes[number]});
      table.insert(table.end(), items.begin(), items.end());
      ++count;
    }
  }
  for (const double weight : op.weights) table.push_back(std::bit_cast<int64_t>(weight));
  return table;
}

}  // namespace

Status tfidf(const Problem& problem, const TfIdf& op, Formula& f) {
  const Operand& x = problem.input(0);
  int64_t grams = 0;
  std::vector<int64_t> table = grams_of(op, grams);
  f.number("kGrams", grams);
  f.number("kLength", x.extents.back());
  f.number("kItemStride", strides_of(x).back());
  f.number("kSkips", op.max_skips);
  f.number("kMode", static_cast<int>(op.mode));
  f.flag("kWeighted", !op.weights.empty());
  f.table = [table = std::move(table)] {
    std::vector<std::byte> bytes(table.size() * sizeof(int64_t) + sizeof(int64_t));
    std::memcpy(bytes.data(), table.data(), table.size() * sizeof(int64_t));
    return bytes;
  };
  return {};
}

}  // namespace tenon::formulas

// tenon_onnx_suite: runs the ONNX backend test cases in a process beside this one.
//
//     tenon_onnx_suite CASES EXCLUDED TABLE [WAY] [--only=TEXT] [--shard=I/N] [--min-rate=0.98]
//
// WAY is --engine, the way of users: passes, kernels, a plan, an engine; --open-extents, the same
// with symbols for the extents of inputs; --reference, where the operators are evaluated one by
// one; --gpu, --engine on a GPU; or --cover-gpu, whether a GPU would leave nothing to the host,
// which needs no GPU. CASES is the folder that generate_cases.py writes, EXCLUDED a list "pattern:
// reason" a line ('*' at the end matches the rest), TABLE the file that receives a line a case.
// Fails when fewer node cases than the rate pass, when a case outside the list fails, and when a
// case on the list passes (its results, not only its coverage). A shard is every N-th case,
// beginning with number I, without the rate; suite_on_gpus.py runs shards side by side. SIGTERM
// ends the run with the counts so far.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include "suite_process.h"
#include "suite_runner.h"

namespace tenon::onnx_suite {
namespace {

struct Exclusion {
  std::string pattern, reason;
  bool used = false;
};

bool matches(const std::string& pattern, const std::string& name) {
  if (!pattern.empty() && pattern.back() == '*')
    return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == name;
}

std::vector<Exclusion> read_exclusions(const std::string& path) {
  std::vector<Exclusion> list;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
    list.push_back({line.substr(0, colon), line.substr(colon + 2)});
  }
  return list;
}

struct Tally {
  int passed = 0, excluded = 0, failed = 0;

  int all() const { return passed + excluded + failed; }
  double rate() const { return all() == 0 ? 1 : static_cast<double>(passed) / all(); }
};

struct Options {
  std::string cases, excluded, table, only;
  double min_rate = 0.98;
  size_t shard = 0, shards = 1;
  Way way{run_engine};
  bool runs = true;  ///< False where no results are computed.

  bool whole() const { return only.empty() && shards == 1; }
};

/// Counts outcomes, and writes the table.
class Count {
 public:
  explicit Count(const Options& options)
      : options_(options), exclusions_(read_exclusions(options.excluded)), table_(options.table) {}

  void add(const Case& one, const Outcome& outcome) {
    Exclusion* exclusion = nullptr;
    for (Exclusion& entry : exclusions_)
      if (matches(entry.pattern, one.name)) exclusion = &entry;
    if (exclusion) exclusion->used = true;
    Tally& tally = tallies_[one.set];
    ++(outcome.passed ? tally.passed : (exclusion ? tally.excluded : tally.failed));
    const char* word = outcome.passed ? "pass" : (exclusion ? "excluded" : "fail");
    const std::string& note = exclusion && !outcome.passed ? exclusion->reason : outcome.note;
    // At once: who ends this process wants to know how far it came.
    table_ << fmt::format("{}\t{}\t{}\t{}\t{}\n", one.set, one.name, word, one.operators, note)
           << std::flush;
    if (outcome.passed == (exclusion == nullptr) || (outcome.passed && !options_.runs)) return;
    ++unexpected_;
    fmt::print("{} {}: {}\n", outcome.passed ? "PASSES BUT IS EXCLUDED" : "FAILS", one.name,
               outcome.note);
    std::fflush(stdout);
  }

  /// Whether all is as it should be.
  bool report(bool complete) {
    for (const auto& [set, tally] : tallies_)
      fmt::print("{}: {} pass, {} excluded, {} fail, of {}\n", set, tally.passed, tally.excluded,
                 tally.failed, tally.all());
    for (const Exclusion& entry : exclusions_) {
      if (entry.used || !options_.whole() || !complete) continue;
      ++unexpected_;
      fmt::print("EXCLUDED BUT THERE IS NO SUCH CASE: {}\n", entry.pattern);
    }
    const double least = options_.shards == 1 ? options_.min_rate : 0;
    const double rate = tallies_["node"].rate();
    fmt::print("node cases that pass: {:.2f} % (at least {:.2f} %)\n", rate * 100, least * 100);
    return complete && unexpected_ == 0 && rate >= least;
  }

 private:
  const Options& options_;
  std::vector<Exclusion> exclusions_;
  std::ofstream table_;
  std::map<std::string, Tally> tallies_;
  int unexpected_ = 0;
};

int run(const Options& options) {
  Result<std::vector<Case>> cases = read_cases(options.cases);
  if (!cases.ok()) {
    fmt::print(stderr, "{}\n", cases.error().message);
    return 1;
  }
  Count count(options);
  std::vector<const Case*> readable;
  size_t number = 0;
  for (const Case& one : *cases) {
    if (one.name.find(options.only) == std::string::npos) continue;
    if (number++ % options.shards != options.shard) continue;
    if (one.unreadable.empty())
      readable.push_back(&one);
    else
      count.add(one, {false, one.unreadable + " tensors are not supported"});
  }
  CaseProcess process(options.cases, readable, options.way);
  for (size_t i = 0; i < readable.size(); ++i) {
    const std::optional<Outcome> outcome = process.outcome_of(i);
    if (!outcome.has_value()) {
      fmt::print("STOPPED at {}, {} of {} cases\n", readable[i]->name, i, readable.size());
      count.report(false);
      return 1;
    }
    count.add(*readable[i], *outcome);
  }
  return count.report(true) ? 0 : 1;
}

/// "0/4": the first of four.
bool read_shard(const std::string& text, Options& options) {
  const size_t slash = text.find('/');
  if (slash == std::string::npos) return false;
  options.shard = static_cast<size_t>(std::atoi(text.c_str()));
  options.shards = static_cast<size_t>(std::atoi(text.c_str() + slash + 1));
  return options.shard < options.shards;
}

}  // namespace
}  // namespace tenon::onnx_suite

int main(int count, char** arguments) {
  tenon::onnx_suite::Options options;
  std::vector<std::string> plain;
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    if (word.starts_with("--only="))
      options.only = word.substr(7);
    else if (word == "--reference")
      options.way.runner = tenon::onnx_suite::run_reference;
    else if (word == "--open-extents")
      options.way.open_extents = true;
    else if (word == "--engine")
      options.way = {tenon::onnx_suite::run_engine};
    else if (word == "--gpu")
      options.way = {tenon::onnx_suite::gpu_runner()};
    else if (word == "--cover-gpu")
      options.way = {tenon::onnx_suite::cover_gpu}, options.runs = false;
    else if (word.starts_with("--shard=") && tenon::onnx_suite::read_shard(word.substr(8), options))
      continue;
    else if (word.starts_with("--min-rate="))
      options.min_rate = std::stod(word.substr(11));
    else
      plain.push_back(word);
  }
  if (plain.size() != 3) {
    fmt::print(stderr,
               "usage: tenon_onnx_suite CASES EXCLUDED TABLE [WAY] [--only=TEXT] [--shard=I/N] "
               "[--min-rate=RATE]\n");
    return 2;
  }
  options.cases = plain[0];
  options.excluded = plain[1];
  options.table = plain[2];
  return tenon::onnx_suite::run(options);
}

#include "tools/repeatability.h"

#include <cstring>
#include <thread>

#include "base/arithmetic.h"

namespace tenon::tools {
namespace {

using Outputs = std::vector<std::vector<char>>;

Status run_once(Runner& runner) {
  const Clock clock;
  std::vector<QueryTimes> ignored;
  TENON_TRY(runner.query(clock, ignored));
  return runner.finish(ignored);
}

std::vector<const Binding*> outputs_of(Runner& runner) {
  std::vector<const Binding*> outputs;
  for (const auto& binding : runner.bindings())
    if (!binding->is_input) outputs.push_back(binding.get());
  return outputs;
}

Outputs contents(Runner& runner) {
  Outputs result;
  for (const Binding* output : outputs_of(runner)) {
    const char* bytes = static_cast<const char*>(output->memory.data());
    result.emplace_back(bytes, bytes + output->memory.size());
  }
  return result;
}

bool are(const Outputs& expected, Runner& runner) {
  const std::vector<const Binding*> outputs = outputs_of(runner);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& memory = outputs[i]->memory;
    if (memory.size() != expected[i].size() ||
        std::memcmp(memory.data(), expected[i].data(), memory.size()) != 0)
      return false;
  }
  return true;
}

/// One thread's part.
struct Part {
  std::unique_ptr<Runner> runner;
  int64_t differing = 0;
  Status status;

  void run(const Outputs& expected, int64_t count) {
    for (int64_t i = 0; i < count && status.ok(); ++i) {
      status = run_once(*runner);
      if (status.ok() && !are(expected, *runner)) ++differing;
    }
  }
};

}  // namespace

Result<Repeated> repeat_runs(const MakeRunner& make, int64_t count, int streams) {
  TENON_ASSIGN(const std::unique_ptr<Runner> alone, make(false));
  TENON_TRY(run_once(*alone));
  const Outputs expected = contents(*alone);
  std::vector<Part> parts(static_cast<size_t>(streams));
  for (size_t i = 0; i < parts.size(); ++i) {
    TENON_ASSIGN(parts[i].runner, make(i % 2 == 1));
  }
  const int64_t each = ceil_div(count, streams);
  {
    std::vector<std::jthread> threads;
    for (Part& part : parts) threads.emplace_back([&] { part.run(expected, each); });
  }
  Repeated result{each * streams};
  for (Part& part : parts) {
    TENON_TRY(std::move(part.status));
    result.differing += part.differing;
  }
  return result;
}

}  // namespace tenon::tools

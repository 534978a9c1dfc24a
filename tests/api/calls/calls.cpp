#include "calls.h"

namespace api_calls {

/// Answers of "no" and "none" are no failures.
bool Calls::is_question(const std::string& name) {
  const std::string method = name.substr(name.rfind(':') + 1);
  if (name.rfind("IParserError::", 0) == 0) return true;
  static constexpr const char* kBeginnings[] = {"is",          "has", "get",      "all",   "can",
                                                "platformHas", "are", "supports", "unmark"};
  for (const char* beginning : kBeginnings)
    if (method.rfind(beginning, 0) == 0) return true;
  return method.size() > 5 && method.compare(method.size() - 5, 5, "IsSet") == 0;
}

int64_t Calls::errors(const World& world) {
  return static_cast<int64_t>(world.recorder.errors.size()) + world.parser->getNbErrors() +
         world.parser_refitter->getNbErrors();
}

void Calls::note(const World& world, int64_t before, const std::string& name,
                 const std::string& given, bool failed) {
  if (failed && errors(world) == before) silent_.insert(name + "(" + given + ")");
}

/// All of them where they are few, else those that differ from the first in one place.
void Calls::for_each_set(const std::vector<size_t>& counts,
                         const std::function<void(const std::vector<size_t>&)>& f) {
  constexpr size_t kFew = 150;
  size_t product = 1;
  for (const size_t count : counts) product *= count;
  std::vector<size_t> at(counts.size(), 0);
  if (product <= kFew) {
    for (size_t i = 0; i < product; ++i) {
      size_t rest = i;
      for (size_t axis = 0; axis < counts.size(); ++axis) {
        at[axis] = rest % counts[axis];
        rest /= counts[axis];
      }
      f(at);
    }
    return;
  }
  f(at);
  for (size_t axis = 0; axis < counts.size(); ++axis) {
    for (at[axis] = 1; at[axis] < counts[axis]; ++at[axis]) f(at);
    at[axis] = 0;
  }
}

}  // namespace api_calls

#include "api/algorithm_questions.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <span>

namespace tenon::api {
namespace {

template <class Base, class Derived>
std::vector<const Base*> pointers(const std::vector<std::unique_ptr<Derived>>& objects) {
  std::vector<const Base*> all;
  for (const auto& object : objects) all.push_back(object.get());
  return all;
}

/// The first of the candidates among those that were named.
Result<size_t> first_of(std::span<const int32_t> named, size_t candidates, const Node& layer) {
  for (const int32_t index : named)
    if (index < 0 || static_cast<size_t>(index) >= candidates)
      return user_error(
          "selectAlgorithms selected {} for layer '{}', which has the choices 0 to {}", index,
          layer.name, candidates - 1);
  return static_cast<size_t>(*std::ranges::min_element(named));
}

}  // namespace

void AlgorithmQuestions::begin(ProfileEnds ends) {
  ends_ = std::move(ends);
  contexts_.clear();
  chosen_.clear();
}

Result<size_t> AlgorithmQuestions::choose(const LayerChoices& choices) {
  const size_t count = choices.candidates.size();
  auto context = std::make_unique<AlgorithmContext>(choices, ends_);
  std::vector<std::unique_ptr<AlgorithmChoice>> all;
  for (const Candidate& candidate : choices.candidates)
    all.push_back(std::make_unique<AlgorithmChoice>(choices, candidate));
  std::vector<int32_t> named(count, -1);
  const int32_t selected =
      selector_->selectAlgorithms(*context, pointers<nvinfer1::IAlgorithm>(all).data(),
                                  static_cast<int32_t>(count), named.data());
  if (selected < 0 || static_cast<size_t>(selected) > count)
    return user_error("selectAlgorithms returned {} for layer '{}', which has {} choices", selected,
                      choices.node.name, count);
  if (selected == 0 && rejects_empty_)
    return user_error(
        "selectAlgorithms selected nothing for layer '{}', and BuilderFlag::"
        "kREJECT_EMPTY_ALGORITHMS is set",
        choices.node.name);
  size_t place = 0;
  if (selected > 0) {
    const auto indices = std::span(named).first(static_cast<size_t>(selected));
    TENON_ASSIGN(place, first_of(indices, count, choices.node));
  }
  logger_.verbose("selectAlgorithms: {} of {} choices for layer '{}': {}", selected, count,
                  choices.node.name, choices.candidates[place].tactic);
  contexts_.push_back(std::move(context));
  chosen_.push_back(std::move(all[place]));
  return place;
}

void AlgorithmQuestions::report() const {
  if (selector_ == nullptr) return;
  selector_->reportAlgorithms(pointers<nvinfer1::IAlgorithmContext>(contexts_).data(),
                              pointers<nvinfer1::IAlgorithm>(chosen_).data(),
                              static_cast<int32_t>(chosen_.size()));
}

}  // namespace tenon::api

#pragma once

#include <fmt/format.h>

#include <string>

#include "lower/step_list.h"

namespace tenon {

/// The steps under their numbers, whatever the order of buffers.
inline std::string numbers_of(const StepList& list) {
  const auto number = [&](const Dim& dim) { return dim.evaluate(list.symbols).value_or(-1); };
  const auto buffer_text = [&](const StepBuffer& buffer) {
    return fmt::format("[{}.{} {} bytes {}-{}]", buffer.node, buffer.output, number(buffer.bytes),
                       buffer.first, buffer.last);
  };
  std::string text;
  const auto add = [&](const Place& place) {
    const bool is_buffer = place.base == Place::Base::kBuffer;
    text += fmt::format(
        " {}:{}+{}+{}", static_cast<int>(place.base),
        is_buffer ? buffer_text(list.buffers[place.index]) : std::to_string(place.index),
        number(place.offset), number(place.each));
  };
  for (const Step& step : list.steps) {
    text += fmt::format("\n{} {} {} bytes, {} samples, {} {}, {} of {}+{}:", step.node, step.kernel,
                        number(step.bytes), number(step.samples), step.fenced, step.overlapped,
                        step.fetch.bytes, step.fetch.step, step.fetch.offset);
    for (const Place& place : step.inputs) add(place);
    for (const Place& place : step.outputs) add(place);
    add(step.scratch);
  }
  return text;
}

}  // namespace tenon

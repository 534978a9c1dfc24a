#include <fmt/format.h>

#include "base/ascii.h"
#include "ir/attribute_text.h"
#include "ir/dim_expression.h"
#include "lower/step_text.h"

namespace tenon {
namespace {

std::string place_text(const Place& place) {
  static constexpr std::string_view kBases = "_bioc";
  if (place.base == Place::Base::kNone) return "_";
  std::string text = fmt::format("{}{}", kBases[static_cast<size_t>(place.base)], place.index);
  if (place.each != Dim(0))
    return text + fmt::format("[{},{}]", place.offset.to_string(), place.each.to_string());
  if (place.offset != Dim(0)) text += fmt::format("[{}]", place.offset.to_string());
  return text;
}

std::string places_text(const std::vector<Place>& places) {
  std::string text;
  for (const Place& place : places) text += (text.empty() ? "" : ", ") + place_text(place);
  return "(" + text + ")";
}

/// "name{config}" of plain characters stands as it is, everything else in quotes.
std::string kernel_text(const std::string& kernel) {
  const size_t brace = std::min(kernel.find('{'), kernel.size());
  bool plain = brace > 0;
  for (size_t i = 0; i < brace; ++i)
    plain &=
        is_letter_or_digit(kernel[i]) || kernel[i] == '.' || kernel[i] == '_' || kernel[i] == '-';
  if (brace < kernel.size()) plain &= kernel.find('}') == kernel.size() - 1;
  for (const char c : kernel) plain &= c > ' ' && c < 0x7F && c != '"';
  return plain ? kernel : quote(kernel);
}

std::string buffer_text(const StepBuffer& buffer, size_t number) {
  std::string text = fmt::format("buffer b{} [{}]: steps {} to {}", number,
                                 buffer.bytes.to_string(), buffer.first, buffer.last);
  if (buffer.node >= 0) text += fmt::format(", of {} {}", buffer.node, buffer.output);
  for (size_t i = 0; i < buffer.above.size(); ++i)
    text += fmt::format("{}b{}", i == 0 ? ", above " : " ", buffer.above[i]);
  return text;
}

std::string step_text(const Step& step, size_t number) {
  std::string text = fmt::format("step {} {}: {} ", number, quote(step.name), step.node);
  text += step.kernel.empty() ? fmt::format("copy [{}]", step.bytes.to_string())
                              : fmt::format("@{}", kernel_text(step.kernel));
  text += fmt::format(" {} -> {}", places_text(step.inputs), places_text(step.outputs));
  if (step.scratch.base != Place::Base::kNone)
    text += fmt::format(" scratch {}", place_text(step.scratch));
  if (!step.own.empty()) text += " own " + places_text(step.own);
  if (step.samples != Dim(1)) text += fmt::format(" samples [{}]", step.samples.to_string());
  if (step.section != 0) text += fmt::format(" section {} stream {}", step.section, step.stream);
  if (step.fenced) text += " fenced";
  if (step.overlapped) text += " overlapped";
  const StepFetch& fetch = step.fetch;
  if (fetch.bytes != 0)
    text += fmt::format(" fetch {} {} {}", fetch.step, fetch.offset, fetch.bytes);
  for (const StepLoad& load : step.loads)
    text += fmt::format(" load {} {} {} b{} {}", load.step, load.is_own ? "own" : "in",
                        load.operand, load.buffer, load.bytes);
  return text;
}

void print_list(const StepList& list, int indent, std::string& out) {
  const std::string margin(static_cast<size_t>(indent), ' ');
  out += fmt::format("{}steps {} ({}, {})", margin, quote(list.name), list.inputs, list.outputs);
  if (list.is_fixed) out += " only";
  const char* before = " where ";
  for (const auto& [symbol, value] : list.symbols) {
    out += fmt::format("{}{} = {}", before, symbol_text(symbol), value);
    before = ", ";
  }
  out += " {\n";
  for (size_t i = 0; i < list.buffers.size(); ++i)
    out += fmt::format("{}  {}\n", margin, buffer_text(list.buffers[i], i));
  for (size_t i = 0; i < list.steps.size(); ++i) {
    out += fmt::format("{}  {}", margin, step_text(list.steps[i], i));
    if (!list.steps[i].bodies.empty()) {
      out += " {\n";
      for (const StepList& body : list.steps[i].bodies) print_list(body, indent + 4, out);
      out += fmt::format("{}  }}", margin);
    }
    out += '\n';
  }
  out += fmt::format("{}}}\n", margin);
}

}  // namespace

std::string print(const StepList& list) {
  std::string text;
  print_list(list, 0, text);
  return text;
}

}  // namespace tenon

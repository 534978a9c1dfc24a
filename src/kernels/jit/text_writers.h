#pragma once

#include <string>

#include "kernels/jit/recorded_text.h"

namespace tenon {

/// Adds a record's text.
using TextWriter = void (*)(const TextRecord& record, std::string& text);

namespace text_writers {
#define TENON_TEXT_FORM(form, writer) void writer(const TextRecord& record, std::string& text);
#include "kernels/jit/text_forms.def"

/// Epilogues in all of their steps.
void add_epilogue_samples(RecordedText& sample);
/// Products of warp groups of all kinds.
void add_group_product_samples(RecordedText& sample);
}  // namespace text_writers

}  // namespace tenon

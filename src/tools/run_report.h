#pragma once

#include <optional>
#include <string>

#include "NvInfer.h"
#include "tenon/device.h"
#include "tools/arguments.h"
#include "tools/query_log.h"
#include "tools/report.h"
#include "tools/report/document.h"

namespace tenon::tools {

/// Whether --html, --exportReport or --exportTimeline ask for a report of this run.
bool wants_report(const Arguments& arguments);

/// What is known before anything was built.
ReportParts new_report(const Arguments& arguments, std::span<const char* const> words,
                       std::string_view program = "trtexec");

/// The JSON of a report that the library gives; null where it gives none.
Json library_json(nvinfer1::IHostMemory* text);

/// Adds the bandwidth that a GPU's memory has on paper: two transfers a clock.
void add_memory_rate(ReportParts& parts, const GpuDescription& gpu);

/// Adds what was measured.
void add_measurements(ReportParts& parts, nvinfer1::IExecutionContext& context,
                      const QueryLog& queries, std::span<const LayerTimes> layers, bool on_cpu);

/// Writes the files that the arguments name.
Status write_report(ReportParts parts, const Arguments& arguments, Console& console);

/// Bytes a second that copying memory reads and writes, with all threads. Takes about a tenth of a
/// second.
double measured_copy_rate();

}  // namespace tenon::tools

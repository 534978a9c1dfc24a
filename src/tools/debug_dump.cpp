#include "tools/debug_dump.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <numeric>
#include <set>

#include "tenon/device.h"
#include "tools/api_logger.h"
#include "tools/bindings.h"
#include "tools/exports.h"
#include "tools/file_names.h"
#include "tools/tensor_words.h"

namespace tenon::tools {
namespace {

using nvinfer1::Dims;
using nvinfer1::TensorLocation;

/// The type in the header of a NumPy file; types without a NumPy name are bytes.
std::string numpy_type(nvinfer1::DataType type) {
  switch (type) {
    case nvinfer1::DataType::kFLOAT: return "<f4";
    case nvinfer1::DataType::kHALF: return "<f2";
    case nvinfer1::DataType::kINT8: return "|i1";
    case nvinfer1::DataType::kUINT8: return "|u1";
    case nvinfer1::DataType::kBOOL: return "|b1";
    case nvinfer1::DataType::kINT32: return "<i4";
    case nvinfer1::DataType::kINT64: return "<i8";
    default: return fmt::format("|V{}", (type_bits(type) + 7) / 8);
  }
}

/// A .npy file of version 1.0.
std::string numpy_file(const Binding& tensor) {
  std::string shape;
  for (int i = 0; i < tensor.dims.nbDims; ++i) shape += fmt::format("{}, ", tensor.dims.d[i]);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   numpy_type(tensor.type), shape);
  constexpr size_t kPrefix = 10, kAlignment = 64;
  header.append(kAlignment - (kPrefix + header.size() + 1) % kAlignment, ' ') += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xFF);
  file += static_cast<char>(header.size() >> 8);
  return file + header + std::string(tensor.memory.data(), tensor.memory.size());
}

/// Of the values that are finite; how many are not is told.
std::string summary(const OutputValues& values) {
  const std::string head = fmt::format("{}: ({})", values.name, values.dimensions);
  std::vector<double> finite;
  std::ranges::copy_if(values.values, std::back_inserter(finite),
                       [](double value) { return std::isfinite(value); });
  const size_t wrong = values.values.size() - finite.size();
  const std::string rest =
      wrong == 0 ? "" : fmt::format(", {} of {} not finite", wrong, values.values.size());
  if (finite.empty()) return head + (wrong == 0 ? " no values" : " no finite values" + rest);
  const auto [low, high] = std::ranges::minmax(finite);
  const double sum = std::accumulate(finite.begin(), finite.end(), 0.0);
  return fmt::format("{} min {:g}, max {:g}, mean {:g}{}", head, low, high,
                     sum / static_cast<double>(finite.size()), rest);
}

std::string lines(const OutputValues& values) {
  std::string text;
  for (size_t i = 0; i < values.values.size(); ++i) text += values.text_at(i) + "\n";
  return text;
}

/// The tensor that a debug listener is shown.
Result<Binding> fetch(const void* address, TensorLocation where, nvinfer1::DataType type,
                      const Dims& shape, const char* name, IGpu* gpu, cudaStream_t stream) {
  Binding tensor;
  tensor.name = name;
  tensor.type = type;
  tensor.dims = shape;
  const auto bytes = static_cast<size_t>(bytes_of(tensor.dims, tensor.type));
  if (!tensor.memory.resize(bytes)) return resource_error("no memory for {} bytes", bytes);
  const auto* from = static_cast<const char*>(address);
  if (where == TensorLocation::kHOST)
    std::copy(from, from + bytes, tensor.memory.data());
  else if (gpu == nullptr || !gpu->copyAsync(tensor.memory.data(), from, bytes, stream) ||
           !gpu->synchronize(stream))
    return internal_error("'{}' could not be copied from the GPU", tensor.name);
  return tensor;
}

/// Writes the tensors that it is shown. Its errors are kept, since the library calls it.
class Dump final : public nvinfer1::IDebugListener {
 public:
  Dump(const Arguments& arguments, Console& console, IGpu* gpu)
      : all_(arguments.text(OptionId::saveAllDebugTensors)), console_(console), gpu_(gpu) {}

  Status read_names(const Arguments& arguments) {
    TENON_ASSIGN(files_,
                 parse_map("--saveDebugTensors", arguments.text(OptionId::saveDebugTensors)));
    return {};
  }

  bool processDebugTensor(const void* address, TensorLocation where, nvinfer1::DataType type,
                          const Dims& shape, const char* name, cudaStream_t stream) override {
    const Result<Binding> tensor = fetch(address, where, type, shape, name, gpu_, stream);
    status_ = tensor.ok() ? Status() : Status(tensor.error());
    if (status_.ok()) status_ = write(*tensor);
    return status_.ok();
  }

  const Status& status() const { return status_; }

  /// Behind the run: a file that was asked for is written, or the user is told why not.
  Status check_shown(const nvinfer1::ICudaEngine& engine) const {
    if (shown_.empty() && files_.empty())
      return user_error("the engine has no debug tensors: build it with --markDebug=names");
    for (const NamedText& file : files_) {
      if (shown_.contains(file.name)) continue;
      if (!engine.isDebugTensor(file.name.c_str()))
        return user_error(
            "--saveDebugTensors: the engine has no debug tensor '{0}': build it with "
            "--markDebug={0}{1}",
            file.name, shown_.empty() ? "" : fmt::format("; it has {}", fmt::join(shown_, ", ")));
      console_.warning("--saveDebugTensors: this run did not compute '{}'; {} is not written",
                       file.name, file.text);
    }
    return {};
  }

 private:
  Status write(const Binding& tensor) {
    const std::span<const char> bytes(tensor.memory.data(), tensor.memory.size());
    shown_.insert(tensor.name);
    for (const NamedText& file : files_)
      if (file.name == tensor.name) TENON_TRY(save(file.text, bytes));
    for (const std::string_view word : split_outside_quotes(all_, ',')) {
      const std::string& file = names_.stem(tensor.name);
      if (word == "summary") console_.info("{}", summary(tensor.values()));
      if (word == "numpy") TENON_TRY(save(file + ".npy", numpy_file(tensor)));
      if (word == "raw") TENON_TRY(save(file + ".raw", bytes));
      if (word == "string") TENON_TRY(save(file + ".txt", lines(tensor.values())));
    }
    return {};
  }

  Status save(const std::string& file, std::span<const char> bytes) {
    TENON_TRY(write_file(file, bytes));
    console_.info("Wrote {}", file);
    return {};
  }

  std::string all_;
  std::vector<NamedText> files_;
  Console& console_;
  IGpu* gpu_;
  Status status_;
  FileNames names_;
  std::set<std::string> shown_;
};

/// Keeps what it is shown.
class Gathering final : public nvinfer1::IDebugListener {
 public:
  Gathering(std::vector<OutputValues>& values, IGpu* gpu) : values_(values), gpu_(gpu) {}
  bool processDebugTensor(const void* address, TensorLocation where, nvinfer1::DataType type,
                          const Dims& shape, const char* name, cudaStream_t stream) override {
    const Result<Binding> tensor = fetch(address, where, type, shape, name, gpu_, stream);
    status_ = tensor.ok() ? Status() : Status(tensor.error());
    if (status_.ok()) values_.push_back(tensor->values());
    return status_.ok();
  }
  const Status& status() const { return status_; }

 private:
  std::vector<OutputValues>& values_;
  IGpu* gpu_;
  Status status_;
};

/// One run of the context under the listener.
template <class Listener>
Status run_under(nvinfer1::IExecutionContext& context, const Arguments& arguments,
                 Listener& listener) {
  const bool unfused = arguments.flag(OptionId::markUnfusedTensorsAsDebugTensors);
  context.setDebugListener(&listener);
  context.setAllTensorsDebugState(true);
  if (unfused && !context.setUnfusedTensorsDebugState(true))
    return user_error(
        "--markUnfusedTensorsAsDebugTensors: the plan was built without this flag; build it again");
  const bool ran = context.enqueueV3(nullptr);
  if (unfused) context.setUnfusedTensorsDebugState(false);
  context.setDebugListener(nullptr);
  TENON_TRY(listener.status());
  if (!ran) return internal_error("the run that shows debug tensors failed");
  return {};
}

std::unique_ptr<IGpu> gpu_of(nvinfer1::IExecutionContext& context, const Arguments& arguments,
                             nvinfer1::ILogger& logger) {
  return std::unique_ptr<IGpu>(
      runsOnGpu(context.getEngine()) ? openGpu(chosen_device(arguments), logger) : nullptr);
}

}  // namespace

Result<std::vector<OutputValues>> gather_debug_tensors(nvinfer1::IExecutionContext& context,
                                                       const Arguments& arguments,
                                                       Console& console) {
  ApiLogger logger(console);
  const std::unique_ptr<IGpu> gpu = gpu_of(context, arguments, logger);
  std::vector<OutputValues> values;
  Gathering gathering(values, gpu.get());
  TENON_TRY(run_under(context, arguments, gathering));
  return values;
}

Status dump_debug_tensors(nvinfer1::IExecutionContext& context, const Arguments& arguments,
                          Console& console) {
  if (!arguments.has(OptionId::saveDebugTensors) && !arguments.has(OptionId::saveAllDebugTensors))
    return {};
  ApiLogger logger(console);
  const std::unique_ptr<IGpu> gpu = gpu_of(context, arguments, logger);
  Dump dump(arguments, console, gpu.get());
  TENON_TRY(dump.read_names(arguments));
  TENON_TRY(run_under(context, arguments, dump));
  return dump.check_shown(context.getEngine());
}

}  // namespace tenon::tools

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "NvInfer.h"
#include "base/log.h"
#include "base/status.h"
#include "tools/exports.h"
#include "tools/values.h"

namespace tenon::tools {

/// Host memory for one tensor, aligned for vector loads.
class HostBuffer {
 public:
  /// Keeps its memory where that is enough.
  bool resize(size_t bytes);
  char* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(char* memory) const;
  };
  std::unique_ptr<char, Free> data_;
  size_t size_ = 0, capacity_ = 0;
};

/// An input or output of a context with its memory. As an output allocator it serves outputs whose
/// extents are known only after the run.
class Binding final : public nvinfer1::IOutputAllocator {
 public:
  std::string name;
  bool is_input = false;
  bool is_shape = false;  ///< An input whose values shapes depend on.
  nvinfer1::DataType type = nvinfer1::DataType::kFLOAT;
  nvinfer1::Dims dims{};
  HostBuffer memory;

  void* reallocateOutput(const char* tensor, void* current, uint64_t size,
                         uint64_t alignment) noexcept override;
  void notifyShape(const char* tensor, const nvinfer1::Dims& shape) noexcept override;

  /// The values as numbers, for printing.
  OutputValues values() const;
};

/// Sets the shapes of all inputs of a context, makes memory for inputs and outputs, fills the
/// inputs and sets all addresses. `shapes`: the shapes given for this run; missing extents become
/// the profile's usual ones. `files`: raw values of inputs by name; the others are random with a
/// fixed seed.
struct BindingRequest {
  std::vector<NamedShape> shapes;
  std::vector<NamedText> files;
  int profile = 0;
};
Result<std::vector<std::unique_ptr<Binding>>> bind(nvinfer1::IExecutionContext& context,
                                                   const BindingRequest& request, Logger& log);

/// Random values as trtexec draws them: floating point uniform in [-1, 1], integers in [-128, 127],
/// 0 or 1, 0 to 255.
void fill_random(Binding& binding);

}  // namespace tenon::tools

#include "tools/bindings.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/arithmetic.h"
#include "tools/tensor_words.h"

namespace tenon::tools {
namespace {

using nvinfer1::Dims;
using nvinfer1::ICudaEngine;
using nvinfer1::IExecutionContext;
using nvinfer1::OptProfileSelector;

constexpr size_t kAlignment = 64;

Error no_memory(const Binding& binding) {
  return resource_error("there is no memory for '{}' of shape {}", binding.name,
                        dims_text(binding.dims));
}

/// The batch that the shapes of other inputs tell, for an input of which nothing else is unknown.
std::optional<int64_t> inferred_batch(const ICudaEngine& engine, const Binding& binding,
                                      const BindingRequest& request) {
  const Dims own = engine.getTensorShape(binding.name.c_str());
  const bool rest_is_known =
      std::all_of(own.d + 1, own.d + std::max(own.nbDims, 1), [](int64_t d) { return d >= 0; });
  if (own.nbDims < 1 || own.d[0] >= 0 || !rest_is_known) return std::nullopt;
  std::optional<int64_t> batch;
  for (int32_t i = 0; i < engine.getNbIOTensors(); ++i) {
    const char* name = engine.getIOTensorName(i);
    const Dims declared = engine.getTensorShape(name);
    const NamedShape* given = find_shape(request.shapes, name);
    const bool is_batched = given != nullptr && !given->dims.empty() && declared.nbDims > 0 &&
                            declared.d[0] < 0 && !engine.isShapeInferenceIO(name);
    if (!is_batched) continue;
    if (batch && *batch != given->dims[0]) return std::nullopt;
    batch = given->dims[0];
  }
  return batch;
}

/// The shape to run with: as given, else the profile's usual one.
Result<Dims> run_shape(const ICudaEngine& engine, const Binding& binding,
                       const BindingRequest& request) {
  const Dims declared = engine.getTensorShape(binding.name.c_str());
  const NamedShape* given = find_shape(request.shapes, binding.name);
  if (given && !binding.is_shape) {
    const Dims dims = to_dims(given->dims);
    if (dims.nbDims != declared.nbDims) {
      return user_error("input '{}' has {} dimensions ({}), but the shape {} was given",
                        binding.name, declared.nbDims, dims_text(declared), dims_text(dims));
    }
    return dims;
  }
  if (volume(declared) >= 0) return declared;
  Dims usual =
      engine.getProfileShape(binding.name.c_str(), request.profile, OptProfileSelector::kOPT);
  if (const auto batch = inferred_batch(engine, binding, request)) usual.d[0] = *batch;
  return usual;
}

Status set_input_shape(IExecutionContext& context, Binding& binding,
                       const BindingRequest& request) {
  const ICudaEngine& engine = context.getEngine();
  TENON_ASSIGN(binding.dims, run_shape(engine, binding, request));
  if (context.setInputShape(binding.name.c_str(), binding.dims)) return {};
  const auto bound = [&](OptProfileSelector selector) {
    return dims_text(engine.getProfileShape(binding.name.c_str(), request.profile, selector));
  };
  return user_error("input '{}' cannot have the shape {}: its profile goes from {} to {}",
                    binding.name, dims_text(binding.dims), bound(OptProfileSelector::kMIN),
                    bound(OptProfileSelector::kMAX));
}

/// Of the buffer: padded channels are more than the shape tells.
int64_t buffer_bytes(const IExecutionContext& context, const Binding& binding) {
  const char* name = binding.name.c_str();
  const ICudaEngine& engine = context.getEngine();
  const int32_t packed = engine.getTensorVectorizedDim(name);
  if (packed < 0 || volume(binding.dims) <= 0) return bytes_of(binding.dims, binding.type);
  const int64_t components = engine.getTensorComponentsPerElement(name);
  const Dims strides = context.getTensorStrides(name);
  int64_t vectors = 1;
  for (int32_t i = 0; i < binding.dims.nbDims; ++i) {
    const int64_t extent =
        i == packed ? (binding.dims.d[i] + components - 1) / components : binding.dims.d[i];
    vectors = std::max(vectors, extent * strides.d[i]);
  }
  return vectors * components * engine.getTensorBytesPerComponent(name);
}

Status allocate(const IExecutionContext& context, Binding& binding) {
  const int64_t bytes = buffer_bytes(context, binding);
  if (bytes < 0 || !binding.memory.resize(static_cast<size_t>(bytes))) return no_memory(binding);
  return {};
}

Status load_file(Binding& binding, const std::string& file) {
  TENON_ASSIGN(const std::vector<char> bytes, read_file(file));
  if (bytes.size() != binding.memory.size()) {
    return user_error("'{}' has {} bytes, but input '{}' of shape {} and type {} takes {}", file,
                      bytes.size(), binding.name, dims_text(binding.dims), type_word(binding.type),
                      binding.memory.size());
  }
  std::ranges::copy(bytes, binding.memory.data());
  return {};
}

/// The values of a shape input are the numbers typed as its shape, or the profile's usual values.
void fill_shape_values(const ICudaEngine& engine, Binding& binding, const BindingRequest& request) {
  const NamedShape* given = find_shape(request.shapes, binding.name);
  const int64_t* usual = engine.getProfileTensorValuesV2(binding.name.c_str(), request.profile,
                                                         OptProfileSelector::kOPT);
  const int64_t count = volume(binding.dims);
  for (int64_t i = 0; i < count; ++i) {
    const bool typed = given && i < static_cast<int64_t>(given->dims.size());
    const int64_t value = typed ? given->dims[i] : usual ? usual[i] : 1;
    const auto narrow = static_cast<int32_t>(value);
    const bool wide = binding.type == nvinfer1::DataType::kINT64;
    std::memcpy(binding.memory.data() + i * (wide ? 8 : 4),
                wide ? static_cast<const void*>(&value) : &narrow, wide ? 8 : 4);
  }
}

Status fill(const ICudaEngine& engine, Binding& binding, const BindingRequest& request,
            Logger& log) {
  for (const NamedText& entry : request.files) {
    if (entry.name != binding.name) continue;
    log.info("Using values loaded from {} for input {}", entry.text, binding.name);
    return load_file(binding, entry.text);
  }
  if (binding.is_shape) {
    fill_shape_values(engine, binding, request);
  } else {
    log.info("Using random values for input {}", binding.name);
    fill_random(binding);
  }
  return {};
}

Status bind_input(IExecutionContext& context, Binding& binding, const BindingRequest& request,
                  Logger& log) {
  TENON_TRY(set_input_shape(context, binding, request));
  TENON_TRY(allocate(context, binding));
  TENON_TRY(fill(context.getEngine(), binding, request, log));
  if (!context.setInputTensorAddress(binding.name.c_str(), binding.memory.data())) {
    return internal_error("the address of '{}' was not accepted", binding.name);
  }
  log.info("Input binding for {} with dimensions {} is created.", binding.name,
           dims_text(binding.dims));
  return {};
}

Status bind_output(IExecutionContext& context, Binding& binding, Logger& log) {
  binding.dims = context.getTensorShape(binding.name.c_str());
  if (volume(binding.dims) < 0) {
    log.info(
        "Output binding for {} is dynamic and will be created during execution using "
        "OutputAllocator.",
        binding.name);
    if (context.setOutputAllocator(binding.name.c_str(), &binding)) return {};
    return internal_error("the output allocator of '{}' was not accepted", binding.name);
  }
  TENON_TRY(allocate(context, binding));
  if (!context.setOutputTensorAddress(binding.name.c_str(), binding.memory.data())) {
    return internal_error("the address of '{}' was not accepted", binding.name);
  }
  log.info("Output binding for {} with dimensions {} is created.", binding.name,
           dims_text(binding.dims));
  return {};
}

std::unique_ptr<Binding> describe(const ICudaEngine& engine, const char* name) {
  auto binding = std::make_unique<Binding>();
  binding->name = name;
  binding->is_input = engine.getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT;
  binding->is_shape = binding->is_input && engine.isShapeInferenceIO(name);
  binding->type = engine.getTensorDataType(name);
  return binding;
}

/// Names that were typed must be inputs.
Status check_names(const std::vector<std::unique_ptr<Binding>>& bindings,
                   const BindingRequest& request) {
  const auto known = [&](std::string_view pattern) {
    return std::ranges::any_of(
        bindings, [&](const auto& b) { return b->is_input && matches(pattern, b->name); });
  };
  for (const NamedShape& shape : request.shapes) {
    if (!known(shape.name)) return user_error("--shapes: the engine has no input '{}'", shape.name);
  }
  for (const NamedText& entry : request.files) {
    if (!known(entry.name))
      return user_error("--loadInputs: the engine has no input '{}'", entry.name);
  }
  return {};
}

}  // namespace

bool HostBuffer::resize(size_t bytes) {
  if (bytes > capacity_ || !data_) {
    const size_t rounded = round_up(std::max<size_t>(bytes, 1), kAlignment);
    data_.reset(rounded < bytes ? nullptr
                                : static_cast<char*>(std::aligned_alloc(kAlignment, rounded)));
    capacity_ = data_ ? rounded : 0;
  }
  size_ = data_ ? bytes : 0;
  return data_ != nullptr;
}

void HostBuffer::Free::operator()(char* memory) const {
  std::free(memory);
}

void* Binding::reallocateOutput(const char*, void*, uint64_t size, uint64_t) noexcept {
  return memory.resize(size) ? memory.data() : nullptr;
}

void Binding::notifyShape(const char*, const Dims& shape) noexcept {
  dims = shape;
}

Result<std::vector<std::unique_ptr<Binding>>> bind(IExecutionContext& context,
                                                   const BindingRequest& request, Logger& log) {
  const ICudaEngine& engine = context.getEngine();
  std::vector<std::unique_ptr<Binding>> bindings;
  for (int32_t i = 0; i < engine.getNbIOTensors(); ++i)
    bindings.push_back(describe(engine, engine.getIOTensorName(i)));
  TENON_TRY(check_names(bindings, request));
  for (const auto& binding : bindings) {
    if (binding->is_input) TENON_TRY(bind_input(context, *binding, request, log));
  }
  const char* missing = nullptr;
  if (context.inferShapes(1, &missing) != 0) {
    return user_error("the output shapes do not follow from the input shapes{}{}",
                      missing ? ": missing is " : "", missing ? missing : "");
  }
  for (const auto& binding : bindings) {
    if (!binding->is_input) TENON_TRY(bind_output(context, *binding, log));
  }
  return bindings;
}

}  // namespace tenon::tools

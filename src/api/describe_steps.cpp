// The plan level of a context, as text.
#include "api/context.h"
#include "api/host_memory.h"
#include "lower/step_text.h"
#include "tenon/inspect.h"

#define TENON_EXPORT __attribute__((visibility("default")))

namespace tenon {
namespace {

Result<std::string> steps_text(api::ContextHandle& handle) {
  Context& context = handle.context();
  TENON_TRY(context.read_values());
  TENON_TRY(context.prepare());
  if (context.program() == nullptr)
    return user_error("describeSteps: shapes are data-dependent, so steps follow from each run");
  const StepList& list = context.program()->list();
  std::string text = print(list);
  // A text that says something else than the list would mislead.
  TENON_ASSIGN(const StepList read, parse_steps(text));
  if (read != list) return internal_error("the steps of '{}' do not read back", list.name);
  return text;
}

}  // namespace

TENON_EXPORT nvinfer1::IHostMemory* describeSteps(nvinfer1::IExecutionContext& context) noexcept {
  auto* handle = dynamic_cast<api::ContextHandle*>(&context);
  if (handle == nullptr) return nullptr;
  return handle->reporter().guarded("describeSteps", nullptr, [&]() -> nvinfer1::IHostMemory* {
    const auto text = steps_text(*handle);
    if (!text.ok()) {
      handle->reporter().report(text.error());
      return nullptr;
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(text->data());
    return new api::HostMemory({bytes, bytes + text->size()});
  });
}

}  // namespace tenon

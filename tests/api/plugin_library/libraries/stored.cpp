// A plugin library for plans to carry.
#include "plugins.h"

namespace {

class StoredRepeat final : public plugin_test::Repeat {
 public:
  using Repeat::Repeat;
  nvinfer1::IPluginV3* clone() noexcept override { return new StoredRepeat(factor_); }
  nvinfer1::IPluginV3* attachToContext(nvinfer1::IPluginResourceContext*) noexcept override {
    return clone();
  }
  const char* getPluginName() const noexcept override { return "StoredRepeat"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
};

class StoredRepeatCreator final : public plugin_test::CreatorOf<StoredRepeat> {
 public:
  const char* getPluginName() const noexcept override { return "StoredRepeat"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) nvinfer1::IPluginCreatorInterface* const*
getCreators(int32_t& count) {
  static StoredRepeatCreator creator;
  static nvinfer1::IPluginCreatorInterface* const all[] = {&creator};
  count = 1;
  return all;
}

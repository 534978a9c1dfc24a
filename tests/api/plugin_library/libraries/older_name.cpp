// A plugin library that lists a creator of the third generation under the name that the second one
// has for its list.
#include "plugins.h"

namespace {

class OwnCreator final : public plugin_test::RepeatCreator {
 public:
  const char* getPluginName() const noexcept override { return "RepeatByOlderName"; }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) nvinfer1::IPluginCreatorInterface* const*
getPluginCreators(int32_t& count) {
  static OwnCreator creator;
  static nvinfer1::IPluginCreatorInterface* const all[] = {&creator};
  count = 1;
  return all;
}

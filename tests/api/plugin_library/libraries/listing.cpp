// A plugin library that says which creators it has.
#include "plugins.h"

extern "C" __attribute__((visibility("default"))) nvinfer1::IPluginCreatorInterface* const*
getCreators(int32_t& count) {
  static plugin_test::RepeatCreator creator;
  static nvinfer1::IPluginCreatorInterface* const all[] = {&creator};
  count = 1;
  return all;
}

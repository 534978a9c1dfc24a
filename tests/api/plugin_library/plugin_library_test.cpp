// Libraries of plugins that are loaded and taken back while the process goes on.
#include <NvInfer.h>
#include <gtest/gtest.h>

#include <string>

namespace {

using namespace nvinfer1;

bool is_listed(const std::string& name) {
  int32_t count = 0;
  IPluginCreatorInterface* const* all = getPluginRegistry()->getAllCreators(&count);
  for (int32_t i = 0; i < count; ++i)
    if (name == static_cast<IPluginCreatorV3One*>(all[i])->getPluginName()) return true;
  return false;
}

struct Kind {
  const char *library, *name, *space;
};

class PluginLibrary : public testing::TestWithParam<Kind> {
 protected:
  IPluginRegistry& registry_ = *getPluginRegistry();
  bool is_there() const {
    return registry_.getCreator(GetParam().name, "1", GetParam().space) != nullptr;
  }
};

TEST_P(PluginLibrary, TakesItsCreatorsAlong) {
  ASSERT_FALSE(is_there());
  IPluginRegistry::PluginLibraryHandle handle = registry_.loadLibrary(GetParam().library);
  ASSERT_NE(handle, nullptr);
  EXPECT_TRUE(is_there());
  EXPECT_TRUE(is_listed(GetParam().name));
  registry_.deregisterLibrary(handle);
  EXPECT_FALSE(is_there());
  EXPECT_FALSE(is_listed(GetParam().name));
}

TEST_P(PluginLibrary, CanBeLoadedAgain) {
  for (int round = 0; round < 3; ++round) {
    IPluginRegistry::PluginLibraryHandle handle = registry_.loadLibrary(GetParam().library);
    ASSERT_NE(handle, nullptr);
    EXPECT_TRUE(is_there());
    registry_.deregisterLibrary(handle);
    EXPECT_FALSE(is_there());
  }
}

TEST_P(PluginLibrary, StaysForItsOtherHandle) {
  IPluginRegistry::PluginLibraryHandle first = registry_.loadLibrary(GetParam().library);
  IPluginRegistry::PluginLibraryHandle second = registry_.loadLibrary(GetParam().library);
  registry_.deregisterLibrary(first);
  EXPECT_TRUE(is_there());
  registry_.deregisterLibrary(second);
  EXPECT_FALSE(is_there());
}

TEST_P(PluginLibrary, HandlesThatAreNoneAreLeftAlone) {
  int other = 0;
  registry_.deregisterLibrary(&other);
  registry_.deregisterLibrary(nullptr);
  EXPECT_FALSE(is_there());
}

INSTANTIATE_TEST_SUITE_P(Kinds, PluginLibrary,
                         testing::Values(Kind{LISTING_LIBRARY, "Repeat", ""},
                                         Kind{OLDER_NAME_LIBRARY, "RepeatByOlderName", ""},
                                         Kind{REGISTERING_LIBRARY, "RepeatOfALibrary", "library"}));

}  // namespace

// A plugin library that registers its creator while it is loaded. The object lies on the heap: only
// its code goes with the library.
#include "plugins.h"

namespace {

class OwnCreator final : public plugin_test::RepeatCreator {
 public:
  const char* getPluginName() const noexcept override { return "RepeatOfALibrary"; }
};

[[maybe_unused]] const bool registered =
    getPluginRegistry()->registerCreator(*new OwnCreator, "library");

}  // namespace

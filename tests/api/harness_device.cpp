#include "harness.h"

namespace api_test {

tenon::IGpu* gpu() {
  return nullptr;
}

}  // namespace api_test

#pragma once

#include <span>
#include <vector>

namespace api_calls {

class Calls;

/// A class of the surface that the library implements.
struct ClassRow {
  const char* name;
  int methods;
  void (*call)(Calls& calls);
};

/// Written from tests/api/surface/surface.txt.
std::vector<ClassRow> class_rows();

}  // namespace api_calls

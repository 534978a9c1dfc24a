// Operators whose inference and evaluation are still to be written: models with them are refused, by name.
#include "ops/nn.h"
#include "ops/table.h"

namespace tenon {

#define TENON_UNFINISHED(Struct)                                                                           \
  Status infer(const Struct& op, InferContext& context) { return context.fail(unfinished(op)); }           \
  Status evaluate(const Struct& op, EvalContext& context) { return context.fail(unfinished(op)); }

namespace {
std::string unfinished(const Op& op) { return fmt::format("{} is not implemented yet", op.name()); }
}  // namespace

TENON_UNFINISHED(DeformConv)
TENON_UNFINISHED(RoiPool)
TENON_UNFINISHED(GridSample)
TENON_UNFINISHED(AffineGrid)
TENON_UNFINISHED(Nms)

}  // namespace tenon

// Any bytes given to the plan reader are a plan or an error, and any plan can be laid out and
// written again. A wrong checksum would end nearly every run at once, so the checksum is made right
// first.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "plan/concrete_graph.h"
#include "plan/plan_file.h"
#include "plan/plan_format.h"

namespace {

void make_plausible(std::vector<std::byte>& plan) {
  if (plan.size() < sizeof(tenon::PlanHeader)) return;
  tenon::PlanHeader header;
  std::memcpy(&header, plan.data(), sizeof(header));
  header.magic = tenon::kPlanMagic;
  header.format = tenon::kPlanFormat;
  header.file_size = plan.size();
  std::memcpy(plan.data(), &header, sizeof(header));
  header.checksum = tenon::plan_checksum(plan);
  std::memcpy(plan.data(), &header, sizeof(header));
}

/// The work of contexts with the shapes of a profile before kernels are made.
void lay_out(const tenon::Plan& plan, const tenon::Profile& profile) {
  std::map<std::string, tenon::Extents> shapes;
  for (const auto& [name, range] : profile) shapes[name] = range.opt;
  auto symbols = tenon::bind_inputs(*plan.graph, shapes);
  if (symbols.ok()) (void)tenon::ConcreteGraph::create(*plan.graph, std::move(*symbols)).ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> file(bytes, bytes + size);
  make_plausible(file);
  const auto plan = tenon::read_plan(file, nullptr);
  if (!plan.ok()) return 0;
  for (const tenon::Profile& profile : plan->profiles) lay_out(*plan, profile);
  const auto again = tenon::write_plan(*plan);
  if (again.ok() && !tenon::read_plan(*again, nullptr).ok()) std::abort();
  return 0;
}

#include "api/candidate_record.h"

#include "api/layer_description.h"

namespace tenon::api {

std::function<void(const Node&, std::span<const Candidate>)> CandidateRecord::recorder() {
  return [this](const Node& node, std::span<const Candidate> candidates) {
    layers_[node.name] = {candidates.begin(), candidates.end()};
  };
}

std::string CandidateRecord::text() const {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [layer, candidates] : layers_)
    for (const Candidate& candidate : candidates) {
      nlohmann::ordered_json entry = {{"kernel", candidate.tactic}};
      if (candidate.milliseconds >= 0) entry["ms"] = candidate.milliseconds;
      if (!candidate.reason.empty()) entry["reason"] = candidate.reason;
      json[layer].push_back(std::move(entry));
    }
  return json_text(json);
}

}  // namespace tenon::api

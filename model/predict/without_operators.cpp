#include "model/predict/without_operators.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "model/predict/predict.hpp"

namespace stallcast {

std::map<std::size_t, Prediction> without_each_operator(const Profile& profile, std::size_t most) {
  std::map<std::size_t, Prediction> without;
  const std::vector<Operator>& rows = profile.operators;
  if (rows.empty()) return without;
  auto predictor = Predictor::make(profile);
  if (!predictor) return without;
  for (std::size_t i = 0; i < rows.size() && without.size() < most; ++i) {
    if (rows[i].kind != "operator") continue;  // nothing can be trained on without decoding and collating
    const auto same =
        std::count_if(rows.begin(), rows.end(), [&](const Operator& x) { return x.name == rows[i].name; });
    const std::string& address = same > 1 && !rows[i].where.empty() ? rows[i].where : rows[i].name;
    Scenario scenario;
    if (!set_key(scenario, "operator", address + ":off")) continue;
    auto prediction = predictor.value().predict(scenario);
    if (prediction) without.emplace(i, std::move(prediction).value());
  }
  return without;
}

}  // namespace stallcast

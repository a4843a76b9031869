/// Questions to the model in the words of `whatif --set`, as tests ask them.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "model/predict/predict.hpp"

namespace stallcast::made {

inline Scenario ask(const std::vector<std::string>& settings) {
  auto scenario = parse_scenario(settings);
  REQUIRE(scenario.ok());
  return scenario.value();
}

inline Prediction answer(const Profile& profile, const std::vector<std::string>& settings) {
  auto prediction = predict(profile, ask(settings));
  REQUIRE(prediction.ok());
  return prediction.value();
}

/// Of the 90 % interval, as a share of the mean.
inline double half_width(const Prediction& p) {
  return (p.throughput.ci90_high - p.throughput.ci90_low) / p.throughput.mean / 2.0;
}

}  // namespace stallcast::made

/// What a change brings: one profile, any number of scenarios.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/profile/profile.hpp"
#include "core/result.hpp"
#include "model/scenario/prediction.hpp"
#include "model/scenario/scenario.hpp"

namespace stallcast {

/// How much faster: rate / rate before - 1, with the two-sided 90 % interval.
struct Gain {
  double mean = 0.0;
  double ci90_low = 0.0;
  double ci90_high = 0.0;
};

/// Whether a scenario key can be answered from a profile.
struct KeyAvailability {
  std::string key{};
  bool available = true;
  std::string reason{};       ///< why not
  std::string unlocked_by{};  ///< the measurement that would change that
};

/// What is to be simulated of a scenario.
struct SimulationAsk {
  int epochs = 3;  ///< from empty caches on
  std::uint64_t seed = 1;
  bool lose_node = false;  ///< a node's cache is lost when the last epoch begins
};

/// A profile made ready for questions: read once, calibrated once. Not to be shared between threads.
class Predictor {
 public:
  /// Errors as job_model(): too little was measured to predict anything.
  [[nodiscard]] static Result<Predictor> make(const Profile& profile);
  Predictor(Predictor&&) noexcept;
  Predictor& operator=(Predictor&&) noexcept;
  ~Predictor();

  /// By the loader recursion: for single scenarios. Errors: a key that this profile cannot answer.
  [[nodiscard]] Result<Prediction> predict(const Scenario& scenario);

  /// As predict(), with the job played batch by batch on its cluster beside it (Prediction::simulation). Takes up to
  /// half a minute. Errors also where the simulation would be too large or does not know what is asked; each says so.
  [[nodiscard]] Result<Prediction> predict_and_simulate(const Scenario& scenario, const SimulationAsk& ask);

  /// By the analytic form: for sweeps.
  [[nodiscard]] Result<Prediction> predict_closed_form(const Scenario& scenario);

  /// Samples per second of the whole job by the analytic form alone, without interval.
  [[nodiscard]] Result<double> closed_form_rate(const Scenario& scenario);

  /// What `scenario` brings over `base` (the empty scenario: the run as found), paired truth by truth, so that what
  /// both share cancels.
  [[nodiscard]] Result<Gain> gain(const Scenario& scenario, const Scenario& base);

  [[nodiscard]] std::vector<KeyAvailability> keys() const;

  /// What storage gives the whole job when it is kept busy, as far as the profile tells; empty if nothing was read from
  /// storage or its bytes are not known.
  [[nodiscard]] std::optional<BytesPerSecond> storage_ceiling() const;

  /// The measurement that would narrow the interval of `scenario` most, in words; empty if none stands out.
  [[nodiscard]] std::string narrowed_by(const Scenario& scenario);

  /// The rates that were predicted from the others, in words, one a line; empty without differential measurements.
  [[nodiscard]] std::vector<std::string> backtest_lines() const;

 private:
  struct State;
  explicit Predictor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// One question to one profile.
[[nodiscard]] Result<Prediction> predict(const Profile& profile, const Scenario& scenario);

/// Most scenarios that predict_all answers by the recursion; more are a sweep and take the analytic form.
inline constexpr std::size_t k_most_recursions = 64;

/// Several questions to one profile, in their order. Fails as a whole if one of them cannot be answered.
[[nodiscard]] Result<std::vector<Prediction>> predict_all(const Profile& profile, std::span<const Scenario> scenarios);

/// Likewise, with a simulation beside each; more than k_most_recursions are refused (usage).
[[nodiscard]] Result<std::vector<Prediction>> simulate_all(const Profile& profile, std::span<const Scenario> scenarios,
                                                           const SimulationAsk& ask);

}  // namespace stallcast

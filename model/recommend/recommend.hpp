/// What to change, from one profile: the loader's settings first, then what could be bought.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/predict/predict.hpp"

namespace stallcast {

struct LoaderChoice {
  int workers = 0;
  int prefetch = 2;
  bool persistent_workers = false;
  std::optional<bool> pin_memory{};  ///< empty where the job does not say

  bool operator==(const LoaderChoice&) const = default;
};

/// One change besides the loader's settings, on top of the recommended loader.
struct Remedy {
  std::string title{};
  std::string cost{};  ///< what it takes, in words
  Gain gain{};         ///< over the recommended loader
  Prediction prediction{};
};

struct Recommendation {
  bool change_loader = false;
  bool is_sure = false;       ///< that changing it helps: the whole interval of the gain says so
  std::string verdict{};      ///< one sentence
  std::string loader_line{};  ///< DataLoader(...) ready to paste, also where nothing changes
  LoaderChoice found{};
  LoaderChoice best{};
  Gain gain{};  ///< of the recommended loader over the one found
  Prediction as_found{};
  Prediction predicted{};
  std::vector<Remedy> remedies{};             ///< those that are worth something, the largest gain first
  std::vector<std::string> without_gain{};    ///< those that would change nothing
  std::vector<KeyAvailability> unanswered{};  ///< what this profile cannot say, and the measurement that would
  std::string narrowed_by{};                  ///< the measurement that would narrow these intervals most
  std::vector<std::string> notes{};
};

/// Recommends the knee, not the maximum: the fewest workers within 2 % of the best rate that memory allows. Errors as
/// Predictor::make.
[[nodiscard]] Result<Recommendation> recommend(const Profile& profile);

}  // namespace stallcast

/// Published results replayed through the model: what it gets right, and by how much it is off.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace stallcast {

/// What a row proves.
enum class RowKind {
  identity,   ///< true by construction: proves that the formula is the published one
  fitted,     ///< a parameter of the model was taken from this very row
  predicted,  ///< follows from inputs that were published apart from it: the only kind that headlines count
};

/// "identity", "fitted" or "predicted".
[[nodiscard]] const char* row_kind_name(RowKind kind);

/// Source of rows in more than one part of the ledger.
inline constexpr char k_nopfs[] =
    "Dryden et al., Clairvoyant Prefetching for Distributed Machine Learning I/O, SC 2021";

struct LedgerRow {
  std::string source{};
  std::string system{};  ///< what was run
  RowKind kind = RowKind::predicted;
  std::vector<std::pair<std::string, double>> inputs{};  ///< each key with its unit
  std::string quantity{};                                ///< what published and predicted are, with its unit
  double published = 0.0;
  double predicted = 0.0;
  bool control = false;  ///< a negative control: something that must not help
  /// How far the published figure itself may be off, as a share: read off a plot, or scatter of runs that should agree.
  double published_err_frac = 0.0;

  /// predicted / published - 1.
  [[nodiscard]] double err_frac() const { return predicted / published - 1.0; }

  /// The same against the nearest figure in published * (1 -+ published_err_frac): 0 within that range.
  [[nodiscard]] double err_beyond_reading_frac() const;
};

/// What a predicted row may be off.
inline constexpr double k_ledger_tolerance_frac = 0.05;

struct LedgerSummary {
  int rows = 0;
  int predicted_rows = 0;
  double median_err_frac = 0.0;  ///< of the absolute errors of predicted rows
  double worst_err_frac = 0.0;
  int within_tolerance = 0;          ///< predicted rows whose error is at most k_ledger_tolerance_frac
  int within_tolerance_as_read = 0;  ///< the same of err_beyond_reading_frac()
  bool controls_hold = true;         ///< every negative control within 1 %
};

/// Every published row that this version can compute honestly, in the order of their sources.
[[nodiscard]] std::vector<LedgerRow> replay_ledger();

[[nodiscard]] LedgerSummary summarize(const std::vector<LedgerRow>& rows);

/// Published results that are not replayed, and why.
[[nodiscard]] std::vector<std::string> not_replayed();

}  // namespace stallcast

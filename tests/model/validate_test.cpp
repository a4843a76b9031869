#include "model/validate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "model/prediction_json.hpp"

namespace stallcast {
namespace {

TEST_CASE(
    "published rows that are predicted are within five percent, those of clusters within ten or what was read off") {
  int predicted = 0;
  for (const LedgerRow& row : replay_ledger()) {
    CAPTURE(row.system);
    CAPTURE(row.published);
    CAPTURE(row.predicted);
    if (row.kind != RowKind::predicted) continue;
    ++predicted;
    const bool of_scaling = row.published_err_frac > 0.0 || row.system.starts_with("naive policy");
    const double most = of_scaling ? std::max(0.10, row.published_err_frac) : 0.05;
    CHECK(std::abs(row.err_frac()) <= most);
  }
  CHECK(predicted >= 44);
  CHECK(summarize(replay_ledger()).median_err_frac <= 0.05);
}

TEST_CASE("formulas that are the published ones agree with them, and what must not help does not") {
  int controls = 0;
  for (const LedgerRow& row : replay_ledger()) {
    CAPTURE(row.system);
    CAPTURE(row.quantity);
    CHECK(std::isfinite(row.predicted));
    if (row.kind == RowKind::identity) CHECK(std::abs(row.err_frac()) <= 0.01);
    controls += row.control ? 1 : 0;
  }
  CHECK(controls == 5);
  CHECK(summarize(replay_ledger()).controls_hold);
}

TEST_CASE("the headline counts predicted rows only") {
  std::vector<LedgerRow> rows(4);
  rows[0] = {"a", "b", RowKind::identity, {}, "q", 1.0, 3.0, false};
  rows[1] = {"a", "b", RowKind::predicted, {}, "q", 1.0, 1.1, false};
  rows[2] = {"a", "b", RowKind::predicted, {}, "q", 1.0, 0.7, false};
  rows[3] = {"a", "b", RowKind::fitted, {}, "q", 1.0, 9.0, false};
  const LedgerSummary summary = summarize(rows);
  CHECK(summary.rows == 4);
  CHECK(summary.predicted_rows == 2);
  CHECK(summary.median_err_frac == doctest::Approx(0.2));
  CHECK(summary.worst_err_frac == doctest::Approx(0.3));
  CHECK(summary.controls_hold);
  rows[0].control = true;
  CHECK_FALSE(summarize(rows).controls_hold);
  CHECK(summarize({}).predicted_rows == 0);
}

TEST_CASE("the ledger as JSON") {
  const auto rows = replay_ledger();
  const auto json = ledger_to_json(rows);
  REQUIRE(json["rows"].size() == rows.size());
  for (const auto& row : json["rows"]) {
    for (const char* key : {"source", "system", "kind", "inputs", "published", "predicted", "err_frac"}) {
      CHECK(row.contains(key));
    }
  }
  CHECK(json["summary"]["predicted_rows"].get<int>() == summarize(rows).predicted_rows);
  CHECK_FALSE(json["not_replayed"].empty());
}

}  // namespace
}  // namespace stallcast

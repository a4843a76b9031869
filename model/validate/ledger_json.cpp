#include "model/validate/ledger_json.hpp"

#include "model/predict/prediction_json.hpp"

namespace stallcast {
namespace {

using nlohmann::json;

json summary_to_json(const LedgerSummary& summary) {
  return {{"rows", summary.rows},
          {"predicted_rows", summary.predicted_rows},
          {"predicted_median_abs_err_frac", json_number(summary.median_err_frac)},
          {"predicted_worst_abs_err_frac", json_number(summary.worst_err_frac)},
          {"predicted_within_5_percent", summary.within_tolerance},
          {"predicted_within_5_percent_as_read", summary.within_tolerance_as_read},
          {"controls_hold", summary.controls_hold}};
}

}  // namespace

json ledger_to_json(std::span<const LedgerRow> rows) {
  json list = json::array();
  for (const LedgerRow& row : rows) {
    json inputs = json::object();
    for (const auto& [key, value] : row.inputs) inputs[key] = json_number(value);
    list.push_back({{"source", row.source},
                    {"system", row.system},
                    {"kind", row_kind_name(row.kind)},
                    {"inputs", std::move(inputs)},
                    {"quantity", row.quantity},
                    {"published", json_number(row.published)},
                    {"predicted", json_number(row.predicted)},
                    {"err_frac", json_number(row.err_frac())},
                    {"published_err_frac", json_number(row.published_err_frac)},
                    {"err_beyond_reading_frac", json_number(row.err_beyond_reading_frac())},
                    {"negative_control", row.control}});
  }
  return {{"schema_version", k_prediction_schema_version},
          {"rows", std::move(list)},
          {"summary", summary_to_json(summarize({rows.begin(), rows.end()}))},
          {"not_replayed", not_replayed()}};
}

}  // namespace stallcast

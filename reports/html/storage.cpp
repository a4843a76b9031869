#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "reports/html/parts.hpp"
#include "reports/html/sections.hpp"
#include "reports/words/escape.hpp"
#include "reports/words/format.hpp"
#include "reports/words/storage_words.hpp"

namespace stallcast::reports {
namespace {

constexpr double k_megabyte = 1e6;

}  // namespace

void add_storage(const ReportData& report, Tags& page) {
  const Storage& storage = report.profile.storage;
  Tags rows{Tags::type::list};
  for (const StorageRate& rate : storage.rates) {
    Tags row;
    row.set("in_flight", count(rate.in_flight));
    const auto* reads = usable(rate.rate);
    const auto* bytes = usable(rate.bandwidth);
    row.set("reads", reads != nullptr ? with_interval(reads->mean.value(), reads->ci95_low.value(),
                                                      reads->ci95_high.value(), Scale{1.0, "/s"})
                                      : not_measured(rate.rate.reason()));
    row.set("bandwidth", bytes != nullptr ? bandwidth_words(*bytes) : not_measured(rate.bandwidth.reason()));
    rows.push_back(row);
  }
  set_list(page, "storage", rows);
  page.set("storage_words", storage_words(storage));
  page.set("storage_read", std::string(storage.read == "whole_file" ? "whole files" : "blocks of 1 MiB"));
}

nlohmann::json storage_curve_json(const Storage& storage) {
  nlohmann::json points = nlohmann::json::array();
  for (const StorageRate& rate : storage.rates) {
    const auto* bytes = usable(rate.bandwidth);
    if (bytes == nullptr) continue;
    points.push_back({{"x", rate.in_flight},
                      {"mean", bytes->mean.value() / k_megabyte},
                      {"low", bytes->ci95_low.value() / k_megabyte},
                      {"high", bytes->ci95_high.value() / k_megabyte},
                      {"label", one_line(bandwidth_words(*bytes))}});
  }
  if (points.size() < 2) return nullptr;
  return {{"key", "storage"},
          {"x_title", "reads at once"},
          {"y_title", "MB/s, 95 % interval"},
          {"marks", nlohmann::json::array()},
          {"lines", {{{"name", "cold reads"}, {"tint", "fetch"}, {"points", std::move(points)}}}}};
}

}  // namespace stallcast::reports

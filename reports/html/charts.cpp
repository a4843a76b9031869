#include "reports/html/charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "reports/html/constants.hpp"
#include "reports/html/curves.hpp"
#include "reports/html/parts.hpp"
#include "reports/html/timeline.hpp"
#include "reports/html/whatif.hpp"
#include "reports/words/escape.hpp"
#include "reports/words/storage_words.hpp"

namespace stallcast::reports {
namespace {

struct Known {
  const char* key;
  const char* title;
};
constexpr std::array k_known = {Known{"sample_read_s", "Reading one sample"},
                                Known{"sample_prep_s", "Preparing one sample"},
                                Known{"batch_make_s", "Making one batch"},
                                Known{"batch_prep_s", "Making one batch, reads apart"},
                                Known{"step_s", "One step"},
                                Known{"wait_s", "Waiting of one step"},
                                Known{"compute_s", "Computing of one step"},
                                Known{"sample_bytes", "Bytes read for one sample"},
                                Known{"sample_metadata_s", "Opens and stats for one sample"},
                                Known{"sample_opens", "Files opened for one sample"},
                                Known{"sample_reads", "Read calls for one sample"}};

/// The unit is in the key's name: what ends neither in _s nor in _bytes is a number of things.
Scale distribution_scale(std::string_view key, double middle) {
  if (key.ends_with("_bytes")) return bytes_scale(middle);
  return key.ends_with("_s") ? time_scale(middle) : Scale{1.0, ""};
}

nlohmann::json histogram_json(const NamedDistribution& named) {
  const Distribution& d = *named.distribution;
  nlohmann::json labels = nlohmann::json::array();
  for (std::size_t i = 0; i < d.counts.size(); ++i) {
    const double edge =
        std::exp2((static_cast<double>(d.first_bin) + static_cast<double>(i)) / Distribution::k_bins_per_octave);
    labels.push_back(scaled(edge, named.scale));
  }
  const bool read = named.title == k_known[0].title;
  const bool prep = named.title == k_known[1].title;
  return {{"labels", std::move(labels)}, {"counts", d.counts}, {"tint", read ? "fetch" : prep ? "prep" : "compute"}};
}

}  // namespace

std::vector<NamedDistribution> distributions_of(const Profile& p) {
  std::vector<NamedDistribution> result;
  const auto add = [&](const std::string& title, const Distribution& d, std::string_view key) {
    if (d.n < 1 || d.counts.empty() || result.size() >= k_most_histograms) return;
    result.push_back({title, &d, distribution_scale(key, d.quantile(0.5))});
  };
  const auto& all = p.resources.distributions;
  for (const Known& known : k_known) {
    if (const auto found = all.find(known.key); found != all.end()) add(known.title, found->second, known.key);
  }
  if (p.dataset.file_size_bytes) add("File sizes", *p.dataset.file_size_bytes, "file_size_bytes");
  for (const auto& [key, distribution] : all) {
    const bool seen =
        std::any_of(k_known.begin(), k_known.end(), [&key = key](const Known& k) { return key == k.key; });
    if (!seen) add(key, distribution, key);
  }
  return result;
}

std::string chart_json(const ReportData& data) {
  nlohmann::json histograms = nlohmann::json::array();
  for (const NamedDistribution& named : distributions_of(data.profile)) histograms.push_back(histogram_json(named));
  nlohmann::json root = timeline_json(data.profile);
  root["distributions"] = std::move(histograms);
  root["curves"] = curves_json(data);
  if (auto storage = storage_curve_json(data.profile.storage); !storage.is_null()) {
    root["curves"].push_back(std::move(storage));
  }
  root["grid"] = grid_json(data);
  return script_json(root.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace stallcast::reports

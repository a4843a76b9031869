#include "cli/simulation_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/utf8.hpp"
#include "reports/findings/report_data.hpp"

namespace stallcast::cli {
namespace {

using namespace reports;

constexpr std::size_t k_columns = 80;
constexpr std::size_t k_most_rows = 12;  ///< of a table; epochs in the middle are left out

/// `text` behind `first`, in lines of k_columns that begin with blanks.
std::string wrapped(std::string_view first, const std::string& text) {
  std::string out(first);
  std::size_t column = first.size();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (column + 1 + (end - begin) > k_columns && column > first.size()) {
      out += "\n" + std::string(first.size(), ' ');
      column = first.size();
    } else if (column > first.size()) {
      out += ' ';
      ++column;
    }
    out += text.substr(begin, end - begin);
    column += end - begin;
    begin = end + 1;
  }
  return out + "\n";
}

std::string epoch_row(std::size_t number, const SimulatedEpoch& epoch) {
  return fmt::format("  {:>5} {:>9} {:>9} {:>9} {:>8} {:>7} {:>7} {:>7}  {}\n", number, duration(epoch.duration),
                     duration(epoch.step_p50), duration(epoch.step_p99), percent(epoch.waiting), percent(epoch.local),
                     percent(epoch.remote), percent(epoch.storage), epoch.bound);
}

std::string epochs_table(const SimulatedCluster& run) {
  std::string text = fmt::format("  {:>5} {:>9} {:>9} {:>9} {:>8} {:>7} {:>7} {:>7}  {}\n", "epoch", "takes",
                                 "step p50", "p99", "waiting", "memory", "nodes", "storage", "limit");
  const std::size_t all = run.epochs.size();
  for (std::size_t i = 0; i < all; ++i) {
    const bool shown = all <= k_most_rows || i < k_most_rows / 2 || i + k_most_rows / 2 >= all;
    if (shown) text += epoch_row(i + 1, run.epochs[i]);
    if (!shown && i == k_most_rows / 2) text += "    ...\n";
  }
  return text;
}

std::string compared(const Prediction& prediction) {
  const SimulatedCluster& run = *prediction.simulation;
  return fmt::format("{} in epoch {}, {} the closed form's {}", rate(run.throughput), run.judged + 1,
                     run.within_interval ? "within the interval of" : "OUTSIDE the interval of",
                     forecast_words(prediction));
}

std::string busy_words(const SimulatedCluster& run) {
  std::string words;
  for (const SimulatedLoad& load : run.loads) {
    std::string name = load.name;
    std::replace(name.begin(), name.end(), '_', ' ');
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", name, percent(load.busy));
  }
  return words;
}

std::string simulation_text(const Prediction& prediction) {
  const SimulatedCluster& run = *prediction.simulation;
  std::string text = fmt::format("\nSimulated: {}\n", scenario_words(prediction));
  text += fmt::format("  {} on {}, {} an epoch, seed {}, from empty caches\n", plural(run.ranks, "rank"),
                      plural(run.nodes, "node"), plural(run.steps, "step"), run.seed);
  text += epochs_table(run);
  text += wrapped("  rate    ", compared(prediction));
  text += wrapped("  busy    ", busy_words(run));
  if (run.nodes > 1) {
    text += wrapped("  nodes   ", fmt::format("wait {} to {}; one is the last in {} of the steps ({} if all are alike)",
                                              percent(run.least_waiting), percent(run.most_waiting),
                                              percent(run.most_last), percent(1.0 / run.nodes)));
  }
  for (const std::string& note : run.notes) text += wrapped("  - ", note);
  return text;
}

}  // namespace

std::string simulations_text(std::span<const Prediction> predictions) {
  std::string text;
  for (const Prediction& prediction : predictions) {
    if (prediction.simulation) text += simulation_text(prediction);
  }
  return valid_utf8(text);
}

}  // namespace stallcast::cli

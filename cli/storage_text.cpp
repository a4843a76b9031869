#include "cli/storage_text.hpp"

#include <fmt/format.h>

#include <map>

#include "reports/text/text_layout.hpp"
#include "reports/words/format.hpp"

namespace stallcast::cli {
namespace {

using namespace reports;

constexpr std::size_t k_label = 26;

const std::map<std::string, const char*> k_read_words{{"whole_file", "whole files"},
                                                      {"small_block", "random 4 KiB"},
                                                      {"large_block", "random 1 MiB"},
                                                      {"sequential", "sequential 1 MiB"}};

std::string words_of(const std::string& read) {
  const auto found = k_read_words.find(read);
  return found == k_read_words.end() ? read : found->second;
}

template <class Q>
std::string in_scale(const Estimate<Q>& e, const Scale& scale) {
  return with_interval(e.mean.value(), e.ci95_low.value(), e.ci95_high.value(), scale);
}

std::string shown(const MeasuredEstimate<Seconds>& value) {
  return value ? duration(*value) : not_measured(value.reason());
}

std::string shown(const MeasuredEstimate<BytesPerSecond>& value) {
  return value ? in_scale(*value, bandwidth_scale(value->mean.value())) : not_measured(value.reason());
}

std::string shown(const MeasuredEstimate<PerSecond>& value, const char* unit) {
  return value ? in_scale(*value, {1.0, unit}) : not_measured(value.reason());
}

void add_files(TextPage& page, const StorageProfile& profile) {
  const StorageFilesFacts& files = profile.files;
  std::string body = fmt::format("{}{}", files.complete ? "" : "at least ", plural(files.seen, "file"));
  if (files.total) body += fmt::format(", {}{}", files.complete ? "" : "about ", bytes(*files.total));
  if (!files.filesystem.empty()) body += fmt::format(", on {} ({})", files.filesystem, files.device);
  page.item("files", k_label, body);
  if (files.size_median && files.size_p10 && files.size_p90) {
    page.item("size of a file", k_label,
              fmt::format("median {}, 80 % between {} and {}; {} below 128 KiB", bytes(*files.size_median),
                          bytes(*files.size_p10), bytes(*files.size_p90), percent(files.small_files.value_or(0.0))));
  }
  page.item("in memory as found", k_label,
            files.resident_bytes ? percent(*files.resident_bytes) : not_measured(files.resident_bytes.reason()));
}

void add_row(TextPage& page, const StoragePoint& point) {
  const std::string name = padded(words_of(point.read), 17);
  const std::string in_flight = point.in_flight == 0 ? "" : std::to_string(point.in_flight);
  if (!point.rate || !point.bandwidth) {
    const std::string reason = point.rate ? point.bandwidth.reason() : point.rate.reason();
    page.item("  " + name + padded(in_flight, 9, true), 32, not_measured(reason), Paint::dim);
    return;
  }
  const auto half = (point.bandwidth->ci95_high - point.bandwidth->ci95_low).value() / 2.0;
  const double spread = point.bandwidth->mean.value() > 0.0 ? half / point.bandwidth->mean.value() : 0.0;
  page.line("  " + name + padded(in_flight, 9, true) + padded(scaled(point.rate->mean.value(), {1.0, "/s"}), 13, true) +
            padded(bandwidth(point.bandwidth->mean), 13, true) + padded("+- " + percent(spread), 11, true) +
            padded(point.latency ? duration(point.latency->mean) : "n/a", 11, true));
}

void add_points(TextPage& page, const StorageProfile& profile, const std::string& state, const char* title) {
  page.heading(title);
  bool header = false;
  for (const StoragePoint& point : profile.points) {
    if (point.state != state || point.read == "metadata") continue;
    if (point.in_flight == 0) {
      const std::string name = point.read == "whole_file" && !point.rate && profile.points.size() < 2 ? "" : point.read;
      page.item("  " + padded(words_of(name), 17), 32, not_measured(point.rate.reason()), Paint::dim);
      continue;
    }
    if (!point.rate && point.rate.reason().starts_with("not tried")) continue;  // the table shows where it went flat
    if (!header) {
      page.line("  " + padded("", 17) + padded("in flight", 9, true) + padded("reads", 13, true) +
                padded("bandwidth", 13, true) + padded("95 %", 11, true) + padded("latency", 11, true));
      header = true;
    }
    add_row(page, point);
  }
}

void add_fit(TextPage& page, const StorageFit& fit) {
  page.heading("What this storage can do");
  page.item("latency of a read", k_label, shown(fit.latency));
  page.item("bandwidth of a stream", k_label, shown(fit.stream_bandwidth));
  page.item("ceiling, bytes", k_label, shown(fit.ceiling_bytes));
  page.item("ceiling, files", k_label, shown(fit.ceiling_files, "files/s"));
  page.item("ceiling, 4 KiB reads", k_label, shown(fit.ceiling_reads, "reads/s"));
  page.item("ceiling, opens", k_label, shown(fit.ceiling_metadata, "files/s"));
  page.item("open after a stat", k_label, shown(fit.open));
  page.item("stat as found", k_label, shown(fit.stat));
  page.item("from memory, a read", k_label, shown(fit.resident_latency));
  page.item("from memory, a stream", k_label, shown(fit.resident_stream_bandwidth));
  page.item("from memory, ceiling", k_label, shown(fit.resident_ceiling_bytes));
  page.item("fit is off by", k_label,
            fit.residual_frac ? percent(*fit.residual_frac) : not_measured(fit.residual_frac.reason()));
}

}  // namespace

std::string storage_text(const StorageProfile& profile, bool color) {
  TextPage page(color);
  page.item("storage of", k_label, profile.path, Paint::bold);
  add_files(page, profile);
  add_fit(page, profile.fit);
  add_points(page, profile, "cold", "Reads from storage");
  add_points(page, profile, "resident", "Reads from memory");
  if (!profile.issues.empty()) page.heading("Notes");
  for (const DataIssue& issue : profile.issues) {
    page.item("  -", 4, issue.hint.empty() ? issue.detail : issue.detail + "; " + issue.hint);
  }
  return page.take();
}

}  // namespace stallcast::cli

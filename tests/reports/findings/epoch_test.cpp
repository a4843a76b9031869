/// What an epoch takes and costs: the intervals, what is absent and why, and that all formats say the same.
#include "reports/findings/epoch.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "reports/render.hpp"
#include "reports/words/format.hpp"
#include "tests/reports/sample_profiles.hpp"

namespace stallcast::reports {
namespace {

Epochs epochs(const Profile& p, const std::string& price = "") {
  return epochs_of(p, breakdowns_of(p), price.empty() ? std::nullopt : std::optional(parse_price(price).value()));
}

const EpochPart& part_of(const Epoch& epoch, const std::string& key) {
  for (const EpochPart& part : epoch.parts) {
    if (part.key == key) return part;
  }
  FAIL("no part " << key);
  return epoch.whole;
}

std::string report(const Profile& p, ReportFormat format, const std::string& price) {
  RenderOptions options;
  if (!price.empty()) options.price = parse_price(price).value();
  const auto text = render(p, {}, format, options);
  REQUIRE(text.ok());
  return text.value();
}

}  // namespace

TEST_CASE("a price is a number of something for an hour") {
  for (const char* text : {"32/h", "32USD/h", "32 USD/h", " 32.0 USD /h ", "$32/h", "32$/h", "3.2e1/ h"}) {
    INFO(text);
    const auto price = parse_price(text);
    REQUIRE(price.ok());
    CHECK(price.value().per_machine_hour == 32.0);
  }
  CHECK(parse_price("32/h").value().currency.empty());
  CHECK(parse_price("32EUR/h").value().currency == "EUR");
  CHECK(parse_price("\xE2\x82\xAC"
                    "32/h")
            .value()
            .currency == "\xE2\x82\xAC");
}

TEST_CASE("a bare number, another unit or a number that is none is told what to write") {
  for (const char* text : {"32", "", "USD/h", "32USD", "32/min", "-32/h", "0/h", "nan/h", "inf/h", "1e300/h", "32//h",
                           "32USD/h/h", "$32USD/h", "32<b>/h", "32ABCDEFGHIJ/h", "/h", "h"}) {
    INFO(text);
    const auto price = parse_price(text);
    REQUIRE_FALSE(price.ok());
    CHECK(price.error().code == ErrorCode::usage);
    CHECK(price.error().hint.find("32/h") != std::string::npos);
  }
}

TEST_CASE("an epoch is its samples over the rate; a part reaches as far as share and rate allow") {
  const Profile p = testing::multi_rank();
  const Epochs all = epochs(p, "32USD/h");
  REQUIRE(all.passes.size() == 2);
  const Epoch& cold = all.passes[0];
  CHECK(cold.state == "cold");
  CHECK(cold.whole.time.mean.value() == doctest::Approx(12000 / 548.0));
  CHECK(cold.whole.time.ci95_low.value() == doctest::Approx(12000 / 562.0));
  const EpochPart& fetch = part_of(cold, "fetch");
  CHECK(fetch.time.mean.value() == doctest::Approx(0.333 * 12000 / 548.0));
  CHECK(fetch.time.ci95_low.value() == doctest::Approx(0.312 * 12000 / 562.0));
  CHECK(fetch.time.ci95_high.value() == doctest::Approx(0.354 * 12000 / 534.0));
  CHECK(cold.lost->time.mean.value() == doctest::Approx(0.395 * 12000 / 548.0));
  // Two machines, each at 32 an hour.
  CHECK(fetch.cost->mean == doctest::Approx(fetch.time.mean.value() / 3600.0 * 64.0));
  CHECK(fetch.cost->ci95_high == doctest::Approx(fetch.time.ci95_high.value() / 3600.0 * 64.0));
  CHECK(price_words(all) == "at 32 USD an hour for each of 2 machines");
  double sum = 0.0;
  for (const EpochPart& part : cold.parts) sum += part.time.mean.value();
  CHECK(sum == doctest::Approx(cold.whole.time.mean.value()));
  CHECK_FALSE(epochs(p).passes[0].whole.cost);
}

TEST_CASE("what is not distinguishable from 0 costs at most something") {
  Profile p = testing::multi_rank();
  p.stalls.fetch = Estimate<Fraction>{0.004, -0.01, 0.018, 6};
  const Epochs all = epochs(p, "1000/h");
  const EpochPart& fetch = part_of(all.passes[0], "fetch");
  CHECK(epoch_time_words(fetch) == "0 (up to 404 ms)");
  CHECK(epoch_cost_words(fetch, all).starts_with("0 (up to 0.2"));
}

TEST_CASE("no amount comes without its interval") {
  for (const char* price : {"0.001/h", "32USD/h", "98765ABCDEFGH/h", "$1e8/h"}) {
    for (const auto& sample : testing::sample_profiles()) {
      const Profile& profile = sample.profile;
      const Epochs all = epochs(profile, price);
      for (const Epoch& epoch : all.passes) {
        for (const EpochPart& part : epoch.parts) {
          const std::string words = epoch_cost_words(part, all);
          INFO(price, " ", words);
          CHECK((words.find(" to ") != std::string::npos || words.find("up to") != std::string::npos));
          const std::string text = report(profile, ReportFormat::text, price);
          if (&epoch == &all.passes.front()) CHECK(text.find(words) != std::string::npos);
        }
      }
    }
  }
}

TEST_CASE("without a data set size, a rate or all ranks there is no epoch, and a reason") {
  const auto reason = [](const Profile& p) {
    const Epochs all = epochs(p, "32/h");
    CHECK(all.passes.empty());
    for (const ReportFormat format : {ReportFormat::text, ReportFormat::md, ReportFormat::html}) {
      CHECK(report(p, format, "32/h").find("lost to waiting") == std::string::npos);
    }
    const auto json = nlohmann::json::parse(report(p, ReportFormat::json, "32/h"));
    CHECK(json["epoch"]["passes"].empty());
    CHECK(json["epoch"]["absent"]["passes"] == all.absent);
    return all.absent;
  };
  Profile p = testing::prep_bound();
  p.job.dataset_samples = Measured<std::int64_t>::absent("an iterable data set has no length");
  CHECK(reason(p) == "the number of samples of the data set is not known: an iterable data set has no length");
  p = testing::prep_bound();
  p.rates.as_is = MeasuredEstimate<SamplesPerSecond>::absent("too few steps");
  CHECK(reason(p) == "the rate was not measured: too few steps");
  p = testing::prep_bound();
  p.rates.as_is.value().ci95_low = SamplesPerSecond(-1.0);
  CHECK(reason(p) == "the interval of the rate reaches down to 0");
  p = testing::prep_bound();
  p.rates.as_is.value().ci95_low = p.rates.as_is.value().ci95_high = p.rates.as_is->mean;
  CHECK(reason(p) == "the rate has no interval");
  p = testing::prep_bound();
  p.job.ranks_expected = 8;
  CHECK(reason(p) == "only 1 of 8 ranks were seen, so the rate of the whole job is not known");
}

TEST_CASE("what an epoch begins with is told beside its steps, where it is worth a word") {
  Profile p = testing::fetch_bound();
  CHECK(epoch_note(epochs(p)).find("On top") == std::string::npos);
  const double whole_s = epochs(p).passes.front().whole.time.mean.value();
  const auto pause = [](double seconds) {
    return Estimate<Seconds>{Seconds(seconds), Seconds(seconds * 0.9), Seconds(seconds * 1.1), 9};
  };
  p.stalls.epoch_pause = pause(0.005 * whole_s);
  CHECK_FALSE(epochs(p).pause.has_value());
  p.stalls.epoch_pause = pause(0.02 * whole_s);
  const Epochs longer = epochs(p);
  REQUIRE(longer.pause.has_value());
  CHECK(epoch_note(longer).find("On top come " + duration(*longer.pause) + " at the beginning") != std::string::npos);
  CHECK(report(p, ReportFormat::md, "").find("at the beginning of each epoch") != std::string::npos);
}

TEST_CASE("where copies to the GPU were traced, nothing says that they were not") {
  Profile p = testing::prep_bound();
  const auto says = [&](ReportFormat format) {
    return report(p, format, "").find("Copies to the GPU") != std::string::npos;
  };
  const auto absent = [&] { return nlohmann::json::parse(report(p, ReportFormat::json, ""))["epoch"]["absent"]; };
  CHECK(absent().contains("copy_to_device"));
  for (const auto format : {ReportFormat::text, ReportFormat::md, ReportFormat::html}) CHECK(says(format));
  p.gpu.exposed = Estimate<Fraction>{0.001, 0.0, 0.002, 100};
  CHECK_FALSE(absent().contains("copy_to_device"));
  for (const auto format : {ReportFormat::text, ReportFormat::md, ReportFormat::html}) CHECK_FALSE(says(format));
}

TEST_CASE("text, Markdown, HTML and JSON say the same of an epoch") {
  for (const Profile& p : {testing::compute_bound(), testing::prep_bound(), testing::multi_rank()}) {
    const Epochs all = epochs(p, "32USD/h");
    const EpochPart& lost = *all.passes.front().lost;
    const std::string time = epoch_time_words(lost);
    const std::string cost = epoch_cost_words(lost, all);
    for (const ReportFormat format : {ReportFormat::text, ReportFormat::md, ReportFormat::html}) {
      const std::string text = report(p, format, "32USD/h");
      CHECK(text.find(time) != std::string::npos);
      CHECK(text.find(cost) != std::string::npos);
      CHECK(text.find("not measured (they were not traced") != std::string::npos);
      CHECK(report(p, format, "").find("USD") == std::string::npos);
    }
    const auto root = nlohmann::json::parse(report(p, ReportFormat::json, "32USD/h"));
    const auto& told = root["epoch"]["passes"][0]["lost"];
    CHECK(told["time_s"]["mean"].get<double>() == lost.time.mean.value());
    CHECK(told["cost"]["ci95_high"].get<double>() == lost.cost->ci95_high);
    CHECK(root["epoch"]["currency"] == "USD");
    const auto without = nlohmann::json::parse(report(p, ReportFormat::json, ""));
    CHECK(without["epoch"]["passes"][0]["lost"]["cost"].is_null());
    CHECK(without["epoch"]["absent"]["cost"] == "no price was given (--price)");
  }
}

}  // namespace stallcast::reports

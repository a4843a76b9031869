#include "reports/words/format.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace stallcast::reports {
namespace {

Estimate<Fraction> share(double mean, double low, double high) {
  return {mean, low, high, 10};
}

}  // namespace

TEST_CASE("digits follow the interval") {
  CHECK(percent(share(0.3827, 0.361, 0.404)) == "38 % (36 to 40)");
  CHECK(percent(share(0.0412, 0.0405, 0.0419)) == "4.12 % (4.05 to 4.19)");
  CHECK(percent(share(0.3827, 0.3826, 0.3828)) == "38.3 %");
  CHECK(rate(Estimate<SamplesPerSecond>{SamplesPerSecond(412.34), SamplesPerSecond(405.1), SamplesPerSecond(419.6),
                                        9}) == "412 samples/s (405 to 420)");
  CHECK(duration(Estimate<Seconds>{Seconds(0.0842), Seconds(0.0839), Seconds(0.0845), 9}) == "84.2 ms (83.9 to 84.5)");
  CHECK(duration(Estimate<Seconds>{Seconds(2.0), Seconds(0.6), Seconds(3.4), 9}) == "2 s (1 to 3)");
}

TEST_CASE("an estimate whose interval has no width shows none") {
  CHECK(percent(share(0.25, 0.25, 0.25)) == "25.0 %");
  CHECK(percent(share(0.0, 0.0, 0.0)) == "0 %");
}

TEST_CASE("times, bytes and rates take the unit that fits them") {
  CHECK(duration(Seconds(0.0)) == "0 s");
  CHECK(duration(Seconds(2.5e-8)) == "25.0 ns");
  CHECK(duration(Seconds(0.00018)) == "180 us");
  CHECK(duration(Seconds(0.99961e-3)) == "1.00 ms");
  CHECK(duration(Seconds(90.6)) == "90.6 s");
  CHECK(duration(Seconds(600.0)) == "10.0 min");
  CHECK(duration(Seconds(7.0 * 3600.0)) == "7.00 h");
  CHECK(duration(Seconds(-0.0005)) == "-500 us");
  CHECK(bytes(Bytes(0.0)) == "0 B");
  CHECK(bytes(Bytes(1536.0)) == "1.50 KiB");
  CHECK(bytes(Bytes(8.0 * 1073741824.0)) == "8.00 GiB");
  CHECK(bandwidth(BytesPerSecond(13.6e6)) == "13.6 MB/s");
  CHECK(bandwidth(BytesPerSecond(530e6)) == "530 MB/s");
}

TEST_CASE("a time whose interval holds 0 has only an upper end") {
  const Estimate<SecondsPerSample> noisy{SecondsPerSample(262e-6), SecondsPerSample(-26e-6), SecondsPerSample(549e-6),
                                         9};
  CHECK(duration(noisy) == "at most 549 us");
}

TEST_CASE("plain percents") {
  CHECK(percent(0.38) == "38 %");
  CHECK(percent(0.0421) == "4.2 %");
  CHECK(percent(0.0011) == "0.11 %");
  CHECK(percent(0.0) == "0 %");
  CHECK(percent(-0.00001) == "0.00 %");
  CHECK(percent(1.18e-16) == "0 %");  // what rounding leaves of nothing
  CHECK(percent(share(1.18e-16, -1e-17, 1e-15)) == "0 %");
  CHECK(percent(1.0) == "100 %");
}

TEST_CASE("what is not distinguishable from 0 says so") {
  CHECK(percent_or_zero(share(0.001, -0.002, 0.0042)) == "not distinguishable from 0 (at most 0.42 %)");
  CHECK(percent_or_zero(share(0.0, 0.0, 0.0)) == "not distinguishable from 0");
  CHECK(percent_or_zero(share(0.003, 0.002, 0.004)) == "0.3 % (0.2 to 0.4)");
  CHECK(holds_zero(share(0.01, 0.0, 0.02)));
  CHECK_FALSE(holds_zero(share(0.01, 0.001, 0.02)));
  CHECK_FALSE(holds_zero(share(-0.02, -0.03, -0.01)));
}

TEST_CASE("no number is ever printed from what is not one") {
  const double nan = std::nan("");
  CHECK(percent(nan) == "n/a");
  CHECK(duration(Seconds(std::numeric_limits<double>::infinity())) == "n/a");
  CHECK(rate(Estimate<SamplesPerSecond>{SamplesPerSecond(nan), SamplesPerSecond(nan), SamplesPerSecond(nan), 0}) ==
        "n/a");
  const Measured<Estimate<Fraction>> broken = share(0.1, 0.0, std::numeric_limits<double>::infinity());
  CHECK(usable(broken) == nullptr);
  CHECK(usable(Measured<Estimate<Seconds>>::absent("why")) == nullptr);
  CHECK(usable(Measured<Estimate<Fraction>>(share(0.1, 0.0, 0.2))) != nullptr);
}

TEST_CASE("counts, cores and plurals") {
  CHECK(count(0) == "0");
  CHECK(count(999) == "999");
  CHECK(count(1281167) == "1,281,167");
  CHECK(count(-1234) == "-1,234");
  CHECK(count(std::numeric_limits<std::int64_t>::min()) == "-9,223,372,036,854,775,808");
  CHECK(cores(2.03) == "2");
  CHECK(cores(1.35) == "1.4");
  CHECK(cores(0.65) == "0.7");
  CHECK(cores(15.7) == "16");
  CHECK(plural(1, "worker") == "1 worker");
  CHECK(plural(2, "worker") == "2 workers");
  CHECK(number(331.0) == "331");
  CHECK(number(12345.6) == "12346");
}

}  // namespace stallcast::reports

// A profile that is passed on tells nothing of whose it is.
#include "analyzer/profile/redact.hpp"

#include <doctest/doctest.h>

#include "analyzer/profile/json.hpp"

using namespace stallcast;

namespace {

Profile of_ann() {
  Profile profile;
  profile.command = {"/home/ann/venv/bin/python", "train.py", "--data", "/data/cats and dogs", "--token=abc.def"};
  profile.host.name = "gpu17";
  profile.ranks = {Rank{0, "gpu17"}, Rank{1, "gpu18"}};
  profile.dataset.folder = "/data/cats and dogs";
  profile.dataset.example_path = "/data/cats and dogs/a.jpg";
  profile.dataset.format = "jpeg";
  profile.job.dataset_type = "ImageFolder";
  profile.rates.as_is =
      Estimate<SamplesPerSecond>{SamplesPerSecond(400.0), SamplesPerSecond(390.0), SamplesPerSecond(410.0), 100};
  profile.rates.cold = MeasuredEstimate<SamplesPerSecond>::absent(
      "of /data/cats and dogs, 3 files on gpu17 stay in memory (s3://bucket/secret; 12 MB/s; /proc/self/maps)");
  profile.outcome.words = "train.py ended as expected, with ~/out and out/ann/last.pt";
  return profile;
}

}  // namespace

TEST_CASE("a redacted profile holds no path, host or argument") {
  const auto result = redacted(of_ann());
  REQUIRE(result.ok());
  const std::string text = profile_text(to_json(result.value()));
  for (const char* secret : {"ann", "gpu1", "cats", "dogs", "token", "bucket", "secret", "train.py", "last.pt"}) {
    CAPTURE(secret);
    CHECK(text.find(secret) == std::string::npos);
  }
  CHECK(result.value().command == std::vector<std::string>{"python", "(arguments)"});
  CHECK(result.value().ranks.at(1).host == "host-2");
  CHECK(result.value().rates.cold.reason() ==
        "of (path), 3 files on host-1 stay in memory ((path); 12 MB/s; /proc/self/maps)");
}

TEST_CASE("numbers and what the job is stay as they were") {
  const Profile before = of_ann();
  const auto after = redacted(before);
  REQUIRE(after.ok());
  CHECK(after.value().rates.as_is->mean.value() == 400.0);
  CHECK(after.value().job.dataset_type == "ImageFolder");
  CHECK(after.value().dataset.format == "jpeg");
}

TEST_CASE("a profile without names is redacted too") {
  const auto result = redacted(Profile{});
  REQUIRE(result.ok());
  CHECK(result.value().command.empty());
}

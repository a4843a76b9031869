/// Scenarios of how the data lies: in shards, behind a snapshot of its metadata, on storage of so many requests a
/// second, staged on the nodes' own disks.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "model/job/job_model.hpp"
#include "model/predict/prediction_json.hpp"
#include "model/recommend/recommend.hpp"
#include "model/recommend/recommendation_json.hpp"
#include "tests/model/asking.hpp"
#include "tests/model/data_in_files.hpp"
#include "tests/model/made_profile.hpp"

namespace stallcast {
namespace {

using made::answer;
using made::ask;
using made::in_files;
using made::probe;
using made::TrueJob;
using Words = std::vector<std::string>;

/// Two workers that wait 4 ms for the first byte of each sample of 20 KB, and 0.1 ms for the rest of it.
TrueJob far_away() {
  TrueJob job;
  job.cores = 8.0;
  job.cpu_s = 0.0005;
  job.latency_s = 0.0041;
  job.miss = 1.0;
  job.device_s = 0.02;
  job.sample_bytes = 20e3;
  return job;
}

Profile far_profile() {
  Profile profile = in_files(far_away());
  probe(profile, 0.004, 200e6, 400e6);
  return profile;
}

/// Workers that read all the time from one disk of 500 samples of 110 KB a second.
TrueJob at_the_disk() {
  TrueJob job;
  job.cores = 8.0;
  job.cpu_s = 0.0005;
  job.disk_s = 0.002;
  job.miss = 1.0;
  job.device_s = 0.02;
  return job;
}

TrueJob compute_bound() {
  TrueJob job;
  job.cores = 8.0;
  job.cpu_s = 0.001;
  job.latency_s = 0.0005;
  job.miss = 0.8;
  job.device_s = 0.4;
  return job;
}

double rate(const Profile& profile, const Words& settings) {
  return answer(profile, settings).throughput.mean.value();
}

bool noted(const Prediction& prediction, const char* words) {
  return std::any_of(prediction.notes.begin(), prediction.notes.end(),
                     [&](const std::string& note) { return note.find(words) != std::string::npos; });
}

Error refused(const Profile& profile, const Words& settings) {
  const auto prediction = predict(profile, ask(settings));
  REQUIRE_FALSE(prediction.ok());
  return prediction.error();
}

bool says(const Error& error, const char* words) {
  return (error.what + " / " + error.hint).find(words) != std::string::npos;
}

TEST_CASE("what is as profiled changes nothing") {
  const Profile profile = far_profile();
  const double found = profile.rates.as_is->mean.value();
  for (const Words& as_is : {Words{"layout=files"}, Words{"metadata=remote"}, Words{"staging=none"},
                             Words{"layout=files", "metadata=remote", "staging=none"}}) {
    CHECK(rate(profile, as_is) == found);
    CHECK_FALSE(answer(profile, as_is).first_epoch.has_value());
  }
  CHECK(noted(answer(profile, {"local_disk=1TB"}), "staging=before or staging=overlap only"));
}

TEST_CASE("in shards a job waits for the stream, as the same job played says") {
  const Profile profile = far_profile();
  TrueJob truth = far_away();
  truth.latency_s = 0.004 * 20e3 / 4194304.0 + 20e3 / 200e6;  // first byte once a shard, then the stream
  const Prediction sharded = answer(profile, {"layout=shards:4MiB"});
  CHECK(sharded.throughput.mean.value() == doctest::Approx(made::play(truth).rate).epsilon(0.05));
  CHECK(sharded.throughput.mean.value() > 1.5 * profile.rates.as_is->mean.value());
  CHECK(sharded.extrapolated);
  CHECK(noted(sharded, "less random"));
  CHECK(noted(sharded, "about 209 samples"));
  // A latency that is given is that of a shard.
  const double given = rate(profile, {"layout=shards:2MB", "storage_latency=100ms"});
  CHECK(given == doctest::Approx(rate(profile, {"storage_latency=1ms"})).epsilon(0.01));
}

TEST_CASE("a disk that counts files gives shards what one stream gets, and no more than that is promised") {
  Profile profile = in_files(at_the_disk());
  probe(profile, 0.0018, 550e6, 55e6);  // 500 files of 110 KB; a stream alone ten times that
  TrueJob truth = at_the_disk();
  truth.disk_s = (0.0018 + 4194304.0 / 550e6) * 110e3 / 4194304.0;
  const double sharded = rate(profile, {"layout=shards:4MiB"});
  CHECK(sharded == doctest::Approx(made::play(truth).rate).epsilon(0.06));
  // A ceiling that is given is kept.
  CHECK(rate(profile, {"layout=shards:4MiB", "storage_bandwidth=55MB/s"}) ==
        doctest::Approx(made::play(at_the_disk()).rate).epsilon(0.06));
  // Where many readers get more than one does, bytes bind: shards bring nothing.
  probe(profile, 0.0001, 50e6, 55e6);
  CHECK(rate(profile, {"layout=shards:4MiB"}) == doctest::Approx(profile.rates.as_is->mean.value()).epsilon(0.05));
}

TEST_CASE("larger shards never lower the rate") {
  for (Profile profile : {far_profile(), in_files(at_the_disk())}) {
    if (profile.storage.path.empty()) probe(profile, 0.0018, 550e6, 55e6);
    double before = 0.99 * profile.rates.as_is->mean.value();
    for (const char* size : {"110KB", "200KB", "500KB", "1MB", "4MiB", "64MiB", "1GiB"}) {
      CAPTURE(size);
      const double now = rate(profile, {std::string("layout=shards:") + size});
      CHECK(now >= before * 0.99);
      before = std::max(before, now);
    }
  }
}

TEST_CASE("a snapshot takes away what opens and stats waited, and no more") {
  const Profile profile = far_profile();
  TrueJob truth = far_away();
  truth.latency_s *= 0.75;
  const Prediction snapshot = answer(profile, {"metadata=snapshot"});
  CHECK(snapshot.throughput.mean.value() == doctest::Approx(made::play(truth).rate).epsilon(0.04));
  CHECK(noted(snapshot, "does not change"));
  CHECK(noted(snapshot, "25 %"));
  double before = 0.0;
  for (const double share : {0.0, 0.2, 0.5, 0.9, 1.0}) {
    Profile other = in_files(far_away(), share);
    probe(other, 0.004, 200e6, 400e6);
    const double now = rate(other, {"metadata=snapshot"});
    CHECK(now >= before * 0.999);
    before = now;
  }
  // In shards there are few opens left to save.
  const double shards = rate(profile, {"layout=shards:4MiB"});
  CHECK(rate(profile, {"layout=shards:4MiB", "metadata=snapshot"}) == doctest::Approx(shards).epsilon(0.01));
  CHECK(noted(answer(profile, {"metadata=snapshot", "storage_latency=1ms"}), "changes nothing beside it"));
}

/// That job where each sample takes the disk so long.
double limited(double disk_s) {
  TrueJob truth = far_away();
  truth.disk_s = disk_s;
  return made::play(truth).rate;
}

TEST_CASE("so many requests a second are a ceiling beside the storage's own") {
  Profile profile = in_files(far_away());
  probe(profile, 0.004, 200e6, 400e6);
  // 20 KB in calls of 64 KiB: one request a sample.
  const double at_100 = limited(0.01);
  CHECK(at_100 < 100.0);
  CHECK(rate(profile, {"storage_iops=100/s"}) == doctest::Approx(at_100).epsilon(0.05));
  CHECK(answer(profile, {"storage_iops=100/s"}).bound == "fetch");
  const double found = profile.rates.as_is->mean.value();
  CHECK(rate(profile, {"storage_iops=1000k/s"}) == doctest::Approx(found).epsilon(0.02));
  double before = 0.0;
  for (const char* iops : {"10/s", "100/s", "300/s", "1k/s", "10k/s", "100k/s"}) {
    const double now = rate(profile, {std::string("storage_iops=") + iops});
    CHECK(now >= before * 0.995);
    before = now;
  }
  // Shards ask for 128 KiB at a time: 6.55 samples a request.
  CHECK(rate(profile, {"storage_iops=10/s", "layout=shards:4MiB"}) ==
        doctest::Approx(10.0 * 131072.0 / 20e3).epsilon(0.02));
  // Beside a bandwidth both bind: 10 MB/s are 500 samples/s, more than 100 requests.
  CHECK(rate(profile, {"storage_iops=100/s", "storage_bandwidth=10MB/s"}) == doctest::Approx(at_100).epsilon(0.05));
  CHECK(rate(profile, {"storage_iops=1000k/s", "storage_bandwidth=1MB/s"}) ==
        doctest::Approx(limited(0.02)).epsilon(0.05));
}

TEST_CASE("requests that the run itself counted are taken rather than those of the closed form") {
  Profile profile = in_files(far_away());
  profile.emulation.requests = 3000;
  profile.emulation.request_bytes = Bytes(1000 * 20e3);
  const auto job = job_model(profile);
  REQUIRE(job.ok());
  CHECK(*job.value().requests_per_sample == doctest::Approx(3.0));
  CHECK(rate(profile, {"storage_iops=300/s"}) == doctest::Approx(limited(0.01)).epsilon(0.05));
}

TEST_CASE("staged data is read from the node's own disk; the first epoch pays for it") {
  const Profile profile = far_profile();
  const double found = profile.rates.as_is->mean.value();
  TrueJob truth = far_away();
  truth.latency_s = 20e3 / 2e9;
  const Words overlap{"staging=overlap", "local_disk_bandwidth=2GB/s"};
  const Prediction staged = answer(profile, overlap);
  CHECK(staged.throughput.mean.value() == doctest::Approx(made::play(truth).rate).epsilon(0.05));
  REQUIRE(staged.first_epoch.has_value());
  REQUIRE(staged.first_epoch->has_value());
  // While it is staged it goes as it went before.
  CHECK((*staged.first_epoch)->value() == doctest::Approx(50'000.0 / found).epsilon(0.05));
  CHECK(staged.epoch->value() == doctest::Approx(50'000.0 / staged.throughput.mean.value()));
  // Before: 50,000 samples of 20 KB at 400 MB/s, then an epoch from the disk.
  const Prediction before = answer(profile, {"staging=before", "local_disk_bandwidth=2GB/s"});
  CHECK((*before.first_epoch)->value() ==
        doctest::Approx(50'000.0 * 20e3 / 400e6 + before.epoch->value()).epsilon(0.03));
  CHECK(noted(staged, "own disk holds the whole data set (1 GB)"));
  const auto json = to_json(staged);
  CHECK(json["first_epoch_s"].get<double>() == (*staged.first_epoch)->value());
  CHECK_FALSE(to_json(answer(profile, {"workers=4"})).contains("first_epoch_s"));
  Profile endless = profile;
  endless.job.dataset_samples = Measured<std::int64_t>::absent("a stream");
  const auto without = to_json(answer(endless, overlap));
  CHECK(without["first_epoch_s"].is_null());
  CHECK(without.contains("first_epoch_absent"));
}

TEST_CASE("a slow local disk is a ceiling, and a small one keeps a part") {
  const Profile profile = far_profile();
  CHECK(rate(profile, {"staging=overlap", "local_disk_bandwidth=2MB/s"}) == doctest::Approx(100.0).epsilon(0.02));
  double before = 0.0;
  for (const char* bandwidth : {"1MB/s", "10MB/s", "100MB/s", "1GB/s"}) {
    const double now = rate(profile, {"staging=before", std::string("local_disk_bandwidth=") + bandwidth});
    CHECK(now >= before * 0.995);
    before = now;
  }
  before = 0.0;
  for (const char* room : {"0B", "100MB", "500MB", "900MB", "1GB", "1TB"}) {
    CAPTURE(room);
    const Prediction part =
        answer(profile, {"staging=before", "local_disk_bandwidth=1GB/s", std::string("local_disk=") + room});
    CHECK(part.throughput.mean.value() >= before * 0.99);
    before = part.throughput.mean.value();
    CHECK((*part.first_epoch)->value() >= part.epoch->value());
  }
  const Prediction none = answer(profile, {"staging=before", "local_disk_bandwidth=1GB/s", "local_disk=0B"});
  CHECK(none.throughput.mean.value() == doctest::Approx(profile.rates.as_is->mean.value()).epsilon(0.03));
  CHECK(noted(none, "holds 0 % of the data"));
}

TEST_CASE("several nodes stage what each is dealt, from storage that they share") {
  const Profile profile = far_profile();
  const Words nodes{"nodes=4", "shared_storage_bandwidth=20MB/s", "network_bandwidth=1000GB/s", "gradients=1B"};
  const auto with = [&](const Words& more) {
    Words all = nodes;
    all.insert(all.end(), more.begin(), more.end());
    return answer(profile, all);
  };
  const Prediction direct = with({});
  constexpr double k_pages = 20480.0 / 20000.0;
  CHECK(direct.throughput.mean.value() == doctest::Approx(1000.0 / k_pages).epsilon(0.02));  // 20 MB/s of 20 KB
  const Prediction overlap = with({"staging=overlap", "local_disk_bandwidth=1GB/s"});
  CHECK(overlap.throughput.mean.value() > 2.0 * direct.throughput.mean.value());
  CHECK((*overlap.first_epoch)->value() == doctest::Approx(50.0 * k_pages).epsilon(0.02));
  CHECK(noted(overlap, "25 % in the first epoch, 95 % after 11"));
  // Each of the four copies all of it: 4 GB at 20 MB/s.
  const Prediction before = with({"staging=before", "local_disk_bandwidth=1GB/s"});
  CHECK((*before.first_epoch)->value() == doctest::Approx(200.0 * k_pages + before.epoch->value()).epsilon(0.02));
}

TEST_CASE("files a second of shared storage become shards a second") {
  const Profile profile = far_profile();
  const Words shared{"nodes=4", "shared_storage_files_per_s=500/s", "network_bandwidth=1000GB/s", "gradients=1B"};
  CHECK(rate(profile, shared) == doctest::Approx(500.0).epsilon(0.02));
  Words sharded = shared;
  sharded.emplace_back("layout=shards:40KB");
  CHECK(rate(profile, sharded) == doctest::Approx(1000.0).epsilon(0.02));
}

TEST_CASE("metadata servers are asked for every file that is opened, in memory or not") {
  const Profile profile = far_profile();
  const Words shared{"nodes=4", "shared_storage_metadata_per_s=500/s", "network_bandwidth=1000GB/s", "gradients=1B"};
  const auto with = [&](const char* more) {
    Words all = shared;
    all.emplace_back(more);
    return all;
  };
  CHECK(rate(profile, shared) == doctest::Approx(500.0).epsilon(0.02));
  // The page cache holds the bytes of a file, not the right to open it; a cache of the loader's own opens nothing.
  CHECK(rate(profile, with("cache=100%")) == doctest::Approx(500.0).epsilon(0.02));
  CHECK(noted(answer(profile, with("cache=100%")), "whether its bytes are in memory or not"));
  Words minio = with("cache=50%");
  minio.emplace_back("cache_policy=minio");
  CHECK(rate(profile, minio) == doctest::Approx(1000.0).epsilon(0.02));
  CHECK(rate(profile, with("layout=shards:40KB")) == doctest::Approx(1000.0).epsilon(0.02));
  const Words unlimited{"nodes=4", "network_bandwidth=1000GB/s", "gradients=1B", "metadata=snapshot"};
  CHECK_FALSE(noted(answer(profile, with("metadata=snapshot")), "files opened"));
  CHECK(rate(profile, with("metadata=snapshot")) == doctest::Approx(rate(profile, unlimited)).epsilon(0.001));
  // Two files for each sample: half as many samples.
  Profile twice = profile;
  twice.resources.distributions["sample_opens"] = made::all_of(2.0);
  CHECK(rate(twice, shared) == doctest::Approx(250.0).epsilon(0.02));
  twice.resources.distributions.erase("sample_opens");
  CHECK(refused(twice, shared).what.find("files opened per sample") != std::string::npos);
}

TEST_CASE("shared storage scales over nodes by the universal scalability law") {
  Profile profile = far_profile();
  probe(profile, 0.0004, 1e9, 20480.0 * 1000.0);  // one node alone: a thousand samples a second
  const auto at = [&](int nodes, const char* contention, const char* coherence) {
    return answer(profile,
                  {"nodes=" + std::to_string(nodes), "workers=64", "gpu_speedup=100", "cpus=1000",
                   "network_bandwidth=1000GB/s", "gradients=1B", std::string("shared_storage_contention=") + contention,
                   std::string("shared_storage_coherence=") + coherence});
  };
  const auto law = [](double n, double contention, double coherence) {
    return 1000.0 * n / (1.0 + contention * (n - 1.0) + coherence * n * (n - 1.0));
  };
  const double own = at(1, "0", "0").throughput.mean.value();
  REQUIRE(own > 900.0);
  CHECK(at(4, "20%", "0").throughput.mean.value() == doctest::Approx(law(4, 0.2, 0.0)).epsilon(0.03));
  CHECK(at(16, "0.2", "0").throughput.mean.value() == doctest::Approx(law(16, 0.2, 0.0)).epsilon(0.03));
  const Prediction past = at(32, "5%", "1%");
  CHECK(past.throughput.mean.value() == doctest::Approx(law(32, 0.05, 0.01)).epsilon(0.03));
  CHECK(past.bound == "fetch");
  CHECK(noted(past, "beyond 10 nodes"));
  CHECK(at(10, "5%", "1%").throughput.mean.value() > past.throughput.mean.value());
  CHECK_FALSE(noted(at(8, "5%", "1%"), "beyond"));
  profile.storage = {};
  CHECK(refused(profile, {"nodes=4", "shared_storage_contention=5%"}).hint.find("storage_bandwidth") !=
        std::string::npos);
}

TEST_CASE("a compute-bound job gains nothing from any of them") {
  Profile profile = in_files(compute_bound());
  probe(profile, 0.0004, 1e9, 4e8);
  auto predictor = Predictor::make(profile);
  REQUIRE(predictor.ok());
  for (const Words& settings : {Words{"layout=shards:4MiB"}, Words{"metadata=snapshot"}, Words{"storage_iops=1000k/s"},
                                Words{"staging=before", "local_disk_bandwidth=5GB/s"},
                                Words{"staging=overlap", "local_disk_bandwidth=5GB/s"}}) {
    CAPTURE(settings.front());
    const auto gain = predictor.value().gain(ask(settings), {});
    REQUIRE(gain.ok());
    CHECK(std::abs(gain.value().mean) < 0.01);
    CHECK(gain.value().ci90_high < 0.03);
  }
}

TEST_CASE("what was not measured is not guessed: the measurement that would tell is named") {
  const Profile bare = made::profile_of(far_away());
  CHECK(says(refused(bare, {"storage_iops=1k/s"}), "--emulate storage_iops"));
  CHECK(says(refused(bare, {"metadata=snapshot"}), "--phases as_is"));
  CHECK(says(refused(bare, {"layout=shards:4MiB"}), "files of their own"));
  CHECK(says(refused(bare, {"layout=files"}), "one file a sample"));
  const Profile files = in_files(far_away());
  CHECK(says(refused(files, {"layout=shards:4MiB"}), "storage_latency"));
  CHECK(says(refused(far_profile(), {"layout=shards:10KB"}), "does not hold one sample"));
  CHECK(says(refused(files, {"staging=before"}), "local_disk_bandwidth=2GB/s"));
  CHECK(refused(files, {"staging=before"}).code == ErrorCode::usage);
  TrueJob cached = far_away();
  cached.miss = 0.0;
  Profile phased = in_files(cached);  // from memory as found, so its opens tell nothing of the cold blocks
  TrueJob cold = far_away();
  for (const char* phase : {"cold", "cached"}) made::add_differential(phased, cold, phase, {});
  CHECK(says(refused(phased, {"cache=0%", "metadata=snapshot"}), "hardly anything came from storage"));
  const Profile memory = in_files(cached);
  for (const char* setting : {"layout=shards:4MiB", "metadata=snapshot", "storage_iops=1k/s"}) {
    CHECK(noted(answer(memory, {setting}), "everything is read from memory here"));
    CHECK(says(refused(memory, {"storage_latency=1ms", "cache=0%", setting}), "cost of reading from storage"));
  }
  CHECK(noted(answer(far_profile(), {"cache=100%", "layout=shards:4MiB"}), "layout does not matter"));
}

TEST_CASE("the remedies are ranked among the others, each once") {
  Profile profile = far_profile();
  profile.resources.worker_memory = Bytes(1e12);  // no room for more workers, which would do as well
  const auto recommendation = recommend(profile);
  REQUIRE(recommendation.ok());
  const auto count = [&](const char* key) {
    return std::count_if(
        recommendation.value().remedies.begin(), recommendation.value().remedies.end(), [&](const Remedy& remedy) {
          const auto& items = remedy.prediction.scenario;
          return std::any_of(items.begin(), items.end(), [&](const ScenarioItem& item) { return item.key == key; });
        });
  };
  CHECK(count("layout") == 1);
  CHECK(count("metadata") == 1);
  const auto& remedies = recommendation.value().remedies;
  CHECK(std::is_sorted(remedies.begin(), remedies.end(),
                       [](const Remedy& a, const Remedy& b) { return a.gain.mean > b.gain.mean; }));
}

}  // namespace
}  // namespace stallcast

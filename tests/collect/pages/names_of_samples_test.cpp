#include "probes/collect/pages/names_of_samples.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "probes/record/layout.hpp"

namespace stallcast::collect::testing {
namespace {

/// Samples 0, 3, 6, ... have read the file that `path_of` gives, as a whole.
template <class PathOf>
FilesOfSamples read_every_third(int samples, PathOf path_of) {
  Followed followed;
  for (int index = 0; index < 3 * samples; index += 3) {
    const auto id = static_cast<std::uint64_t>(index + 1);
    followed.touched.push_back({.header = {}, .index = index, .file_id = id, .offset = 0, .bytes = UINT64_MAX});
    followed.paths.push_back({id, 100, 0, path_of(index)});
  }
  FilesOfSamples files;
  files.take(followed);
  return files;
}

void give_all(NamesOfSamples& names) {
  for (int index = 0; index < 60; ++index) names.take_given({index});
}

std::string image(int index) {
  return "/data/train/" + std::string(1, static_cast<char>('a' + index % 5)) + "/" + std::to_string(7 * index) + ".jpg";
}

}  // namespace

TEST_CASE("names of samples: a table of paths tells the files of those that nobody has read") {
  NamesOfSamples names;
  for (int index = 0; index < 60; ++index) names.take(0, index, image(index));
  give_all(names);
  REQUIRE(names.learn(read_every_third(20, image)));
  CHECK(names.paths_of(1) == std::vector<std::string>{image(1)});
  CHECK_FALSE(names.paths_of(60).has_value());  // no entry
}

TEST_CASE("names of samples: entries may lack the folder and the ending") {
  NamesOfSamples names;
  for (int index = 0; index < 60; ++index) {
    names.take(0, index, "class " + std::to_string(index % 3));
    const std::string path = image(index);
    names.take(1, index, "./" + path.substr(12, path.size() - 16));
  }
  give_all(names);
  REQUIRE(names.learn(read_every_third(20, image)));
  CHECK(names.paths_of(2) == std::vector<std::string>{image(2)});
}

TEST_CASE("names of samples: files that are called by their number need no table of names") {
  const auto path_of = [](int index) {
    const std::string plain = std::to_string(index);
    return "/data/" + std::string(6 - plain.size(), '0') + plain + ".npy";
  };
  NamesOfSamples names;
  give_all(names);
  REQUIRE(names.learn(read_every_third(20, path_of)));
  CHECK(names.paths_of(41) == std::vector<std::string>{"/data/000041.npy"});
}

TEST_CASE("names of samples: an image and its mask") {
  FilesOfSamples files;
  Followed followed;
  NamesOfSamples names;
  for (int index = 0; index < 40; ++index) {
    const std::string name = "p" + std::to_string(index * 13 % 97);
    names.take(0, index, name);
    if (index % 2 != 0) continue;
    for (int kind = 0; kind < 2; ++kind) {
      const auto id = static_cast<std::uint64_t>(2 * index + kind + 1);
      followed.touched.push_back({.header = {}, .index = index, .file_id = id, .offset = 0, .bytes = UINT64_MAX});
      followed.paths.push_back({id, 9, 0, kind == 0 ? "/d/img/" + name + ".jpg" : "/d/mask/" + name + ".png"});
    }
  }
  files.take(followed);
  give_all(names);
  REQUIRE(names.learn(files));
  const auto paths = names.paths_of(1);
  REQUIRE(paths.has_value());
  CHECK(*paths == std::vector<std::string>{"/d/img/p13.jpg", "/d/mask/p13.png"});
}

/// Of 60 samples, those divisible by 3 are known: the rule learned of them gives the paths of all.
void check_learned(NamesOfSamples& names, std::string (*path_of)(int)) {
  give_all(names);
  REQUIRE(names.learn(read_every_third(20, path_of)));
  for (int index = 0; index < 60; ++index) CHECK(names.paths_of(index) == std::vector<std::string>{path_of(index)});
}

TEST_CASE("names of samples: folders that are parts of the name, as LibriSpeech has them") {
  const auto path_of = [](int index) {
    const std::string speaker = std::to_string(index / 7 * 31 + 19);
    const std::string chapter = std::to_string(index / 3 * 177 + 198);
    return "/speech/" + speaker + "/" + chapter + "/" + speaker + "-" + chapter + "-" + std::to_string(index % 3) +
           ".flac";
  };
  NamesOfSamples names;
  for (int index = 0; index < 60; ++index) {
    const std::string path = path_of(index);
    const std::size_t base = path.rfind('/') + 1;
    names.take(0, index, path.substr(base, path.size() - base - 5));
  }
  check_learned(names, path_of);
}

TEST_CASE("names of samples: two tables make one path, and what is rare among known samples counts") {
  const auto path_of = [](int index) {
    return std::string("/d/") + (index == 57 ? "rare" : "common") + "/image_" + std::string(index < 9 ? "000" : "00") +
           std::to_string(index + 1) + ".jpg";
  };
  NamesOfSamples names;
  for (int index = 0; index < 60; ++index) {
    names.take(0, index, index == 57 ? "rare" : "common");
    names.take(1, index, std::to_string(index % 5));
  }
  check_learned(names, path_of);
}

TEST_CASE("names of samples: labels beside images, as YOLO has them") {
  const auto image_of = [](int index) {
    return "/d/images/train/" + std::to_string(index % 4) + "/" + std::to_string(11 * index) + ".jpg";
  };
  const auto label_of = [](int index) {
    return "/d/labels/train/" + std::to_string(index % 4) + "/" + std::to_string(11 * index) + ".txt";
  };
  FilesOfSamples files;
  Followed followed;
  NamesOfSamples names;
  for (int index = 0; index < 40; ++index) {
    names.take(0, index, image_of(index));
    if (index % 2 != 0) continue;
    for (int kind = 0; kind < 2; ++kind) {
      const auto id = static_cast<std::uint64_t>(2 * index + kind + 1);
      followed.touched.push_back({.header = {}, .index = index, .file_id = id, .offset = 0, .bytes = UINT64_MAX});
      followed.paths.push_back({id, 9, 0, kind == 0 ? image_of(index) : label_of(index)});
    }
  }
  files.take(followed);
  give_all(names);
  REQUIRE(names.learn(files));
  CHECK(names.paths_of(9) == std::vector<std::string>{image_of(9), label_of(9)});
}

namespace {

/// Batches that are made at once: each sample has an image and a mask, called by an entry.
struct AtOnce {
  static std::string image_of(std::int64_t index) {
    return "/d/" + std::to_string(index % 4) + "/" + std::to_string(11 * index) + ".jpg";
  }
  static std::string mask_of(std::int64_t index) { return "/d/masks/" + std::to_string(11 * index) + ".png"; }

  AtOnce() {
    for (int index = 0; index < 60; ++index) names.take(0, index, image_of(index));
  }

  void read(std::int64_t index, std::uint64_t id, const std::string& path) {
    followed.touched.push_back({.header = {}, .index = index, .file_id = id, .offset = 0, .bytes = UINT64_MAX});
    followed.paths.push_back({id, 9, 0, path});
  }

  /// A batch of these samples is given, of which only the first `read_samples` were seen.
  std::int64_t give(const std::vector<std::int64_t>& indices, std::size_t read_samples) {
    record::AtOnceIndex together;
    for (const std::int64_t index : indices) together.add(index);
    names.take_given(indices);
    for (std::size_t i = 0; i < read_samples; ++i) {
      read(together.value(), static_cast<std::uint64_t>(2 * indices[i] + 1), image_of(indices[i]));
      read(together.value(), static_cast<std::uint64_t>(2 * indices[i] + 2), mask_of(indices[i]));
    }
    return together.value();
  }

  bool learn() {
    FilesOfSamples files;
    files.take(followed);
    CHECK(files.indices(10).empty());
    return names.learn(files);
  }

  NamesOfSamples names;
  Followed followed;
};

}  // namespace

TEST_CASE("names of samples: of batches that are made at once, files are known together") {
  AtOnce job;
  for (std::int64_t batch = 0; batch < 12; ++batch) {
    std::vector<std::int64_t> indices;
    for (std::int64_t sample = 0; sample < 4; ++sample) indices.push_back((batch + 12 * sample) * 7 % 48);
    if (batch == 3) indices[1] = indices[0];  // one comes twice
    job.give(indices, batch == 5 ? 3 : 4);    // one was seen half
  }
  REQUIRE(job.learn());
  auto paths = job.names.paths_of(59);
  REQUIRE(paths.has_value());
  std::sort(paths->begin(), paths->end());
  CHECK(*paths == std::vector<std::string>{AtOnce::image_of(59), AtOnce::mask_of(59)});
}

TEST_CASE(
    "names of samples: one batch that was made at once is too little, and so are files that it shares with others") {
  AtOnce one;
  one.give({0, 7, 14, 21, 28, 35, 42, 49}, 8);
  CHECK_FALSE(one.learn());
  AtOnce shared;
  for (std::int64_t batch = 0; batch < 4; ++batch) {
    const std::int64_t together = shared.give({batch, batch + 10, batch + 20, batch + 30}, 4);
    shared.read(together, 500, "/d/labels.h5");
    shared.followed.touched.back().bytes = 4096;
  }
  CHECK_FALSE(shared.learn());
  CHECK(shared.names.are_needed());
}

TEST_CASE(
    "names of samples: where what all known ones have in common stands in the path, another sample's is not known") {
  const auto path_of = [](int index) {
    return "/d/" + std::string(index < 58 ? "cat" : "dog") + "/" + std::to_string(3 * index) + ".jpg";
  };
  NamesOfSamples names;
  for (int index = 0; index < 60; ++index) {
    names.take(0, index, std::to_string(3 * index));
    names.take(1, index, index < 58 ? "cat" : "dog");
    names.take(2, index, index < 58 ? "first" : "second");  // stands in no path
    names.take(3, index, index < 30 ? "1" : "0");
  }
  give_all(names);
  REQUIRE(names.learn(read_every_third(20, path_of)));
  CHECK(names.paths_of(56) == std::vector<std::string>{path_of(56)});
  CHECK_FALSE(names.paths_of(59).has_value());
}

TEST_CASE("names of samples: labels and parts of words that stand in the path by chance bind nobody") {
  const auto path_of = [](int index) { return "/data1/2020/catalog/" + std::to_string(3 * index) + ".jpg"; };
  NamesOfSamples names;
  for (int index = 0; index < 60; ++index) {
    names.take(0, index, std::to_string(3 * index));
    names.take(1, index, index < 58 ? "1" : "0");
    names.take(2, index, index < 58 ? "cat" : "dog");
    names.take(3, index, index < 58 ? "2020" : "2021");
  }
  check_learned(names, path_of);
}

TEST_CASE("names of samples: no rule where the name does not tell the folder") {
  const auto path_of = [](int index) {
    return "/d/" + std::to_string(index * 7919 % 61) + "/" + std::to_string(index) + ".jpg";
  };
  NamesOfSamples names;
  for (int index = 0; index < 60; ++index) names.take(0, index, std::to_string(index) + ".jpg");
  give_all(names);
  CHECK_FALSE(names.learn(read_every_third(20, path_of)));
}

TEST_CASE("names of samples: no rule where one known sample is called otherwise, or too few are known") {
  NamesOfSamples names;
  for (int index = 0; index < 60; ++index) names.take(0, index, image(index));
  give_all(names);
  CHECK_FALSE(names.learn(read_every_third(7, image)));
  const auto odd = [](int index) { return index == 30 ? "/elsewhere/x.jpg" : image(index); };
  CHECK_FALSE(names.learn(read_every_third(20, odd)));
  CHECK_FALSE(names.paths_of(1).has_value());
}

TEST_CASE("names of samples: files that several lie in are not theirs to name") {
  Followed followed;
  NamesOfSamples names;
  for (int index = 0; index < 20; ++index) {
    names.take(0, index, "/data/all.bin");
    followed.touched.push_back({.header = {},
                                .index = index,
                                .file_id = 1,
                                .offset = 100ULL * static_cast<std::uint64_t>(index),
                                .bytes = 100});
  }
  followed.paths.push_back({1, 2000, 0, "/data/all.bin"});
  FilesOfSamples files;
  files.take(followed);
  give_all(names);
  CHECK_FALSE(names.learn(files));
  CHECK_FALSE(names.are_needed());
}

TEST_CASE("names of samples: a film of which a sample reads a part is its own") {
  Followed followed;
  NamesOfSamples names;
  for (int index = 0; index < 20; ++index) {
    const auto id = static_cast<std::uint64_t>(index + 1);
    names.take(0, index, image(index));
    if (index < 10)
      followed.touched.push_back({.header = {}, .index = index, .file_id = id, .offset = 64, .bytes = 100});
    followed.paths.push_back({id, 2000, 0, image(index)});
  }
  FilesOfSamples files;
  files.take(followed);
  give_all(names);
  CHECK(names.learn(files));
  CHECK(names.paths_of(15) == std::vector<std::string>{image(15)});
}

}  // namespace stallcast::collect::testing

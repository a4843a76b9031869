#include "analyzer/load/file_format.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace stallcast {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 38> k_formats{{
    {"jpg", "jpeg"},        {"jpeg", "jpeg"},   {"png", "png"},           {"webp", "webp"},
    {"bmp", "bmp"},         {"tif", "tiff"},    {"tiff", "tiff"},         {"dcm", "dicom"},
    {"nii", "nifti"},       {"mp4", "video"},   {"avi", "video"},         {"mkv", "video"},
    {"webm", "video"},      {"wav", "wav"},     {"flac", "flac"},         {"mp3", "mp3"},
    {"ogg", "ogg"},         {"opus", "opus"},   {"tar", "tar"},           {"zip", "zip"},
    {"h5", "hdf5"},         {"hdf5", "hdf5"},   {"mdb", "lmdb"},          {"lmdb", "lmdb"},
    {"npy", "npy"},         {"npz", "npz"},     {"bin", "raw bytes"},     {"mmap", "raw bytes"},
    {"pt", "torch"},        {"pth", "torch"},   {"tfrecord", "tfrecord"}, {"tfrecords", "tfrecord"},
    {"parquet", "parquet"}, {"arrow", "arrow"}, {"feather", "arrow"},     {"mds", "mds"},
    {"rec", "recordio"},    {"beton", "ffcv"},
}};
constexpr std::array<std::string_view, 6> k_compressions{"gz", "zst", "xz", "bz2", "lz4", "tgz"};

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

/// The part of `name` after its last dot, which is cut off with the dot; empty where there is none.
std::string take_ending(std::string_view& name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return "";
  std::string ending = lower(name.substr(dot + 1));
  name = name.substr(0, dot);
  return ending;
}

}  // namespace

std::string format_of(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  std::string ending = take_ending(name);
  std::string compressed;
  if (std::find(k_compressions.begin(), k_compressions.end(), ending) != k_compressions.end()) {
    compressed = ", compressed";
    ending = ending == "tgz" ? "tar" : take_ending(name);
  }
  const auto known =
      std::find_if(k_formats.begin(), k_formats.end(), [&](const auto& format) { return format.first == ending; });
  return known == k_formats.end() ? "" : std::string(known->second) + compressed;
}

}  // namespace stallcast

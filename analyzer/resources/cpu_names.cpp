#include "analyzer/resources/cpu_names.hpp"

#include <algorithm>
#include <string_view>

namespace stallcast {
namespace {

/// The first row that fits names the work.
struct Row {
  std::string_view library;   ///< with which its name begins
  std::string_view function;  ///< words of which the function holds one, between '|'; empty: any, and none
  const char* name;
};

constexpr Row k_rows[] = {
    {"[kernel]", "", "kernel (page faults, reads)"},
    {"[jit]", "", "code compiled at run time (JIT)"},
    {"[unknown]", "", "unknown"},
    {"[vdso]", "", "reading clocks"},
    {"libstallcast_", "", "stallcast's own recording"},
    // Images, video and audio.
    {"libjpeg", "", "JPEG decode"},
    {"libturbojpeg", "", "JPEG decode"},
    {"libnvjpeg", "", "JPEG decode"},
    {"libpng", "", "PNG decode"},
    {"libwebp", "", "WebP decode"},
    {"libsharpyuv", "", "WebP decode"},
    {"libtiff", "", "TIFF decode"},
    {"libopenjp2", "", "JPEG 2000 decode"},
    {"libavif", "", "AVIF decode"},
    {"libdav1d", "", "AVIF decode"},
    {"_imaging.", "Resample|resample|Resize|resize", "image resize"},
    {"_imaging.", "Jpeg", "JPEG decode"},
    {"_imaging.", "", "image operations (Pillow)"},
    {"libImaging", "", "image operations (Pillow)"},
    {"libopencv", "resize", "image resize"},
    {"libopencv", "", "OpenCV"},
    {"cv2.", "", "OpenCV"},
    {"libavcodec", "", "video decode"},
    {"libavformat", "", "video decode"},
    {"libavutil", "", "video decode"},
    {"libswscale", "", "video scaling"},
    {"libswresample", "", "audio resampling"},
    {"libsoxr", "", "audio resampling"},
    {"libsamplerate", "", "audio resampling"},
    {"libsndfile", "", "audio decode"},
    {"libFLAC", "", "FLAC decode"},
    {"libvorbis", "", "Vorbis decode"},
    {"libopus", "", "Opus decode"},
    {"libmpg123", "", "MP3 decode"},
    {"libmp3lame", "", "MP3 decode"},
    // Compression, storage formats.
    {"libz.", "", "zlib"},
    {"libz-", "", "zlib"},
    {"libdeflate", "", "zlib"},
    {"libisal", "", "zlib"},
    {"zlib.", "", "zlib"},
    {"libzstd", "", "Zstandard"},
    {"liblz4", "", "LZ4"},
    {"libsnappy", "", "Snappy"},
    {"liblzma", "", "LZMA"},
    {"libbz2", "", "bzip2"},
    {"libbrotli", "", "Brotli"},
    {"libblosc", "", "Blosc"},
    {"libhdf5", "", "HDF5"},
    {"liblmdb", "", "LMDB"},
    {"libarrow", "", "Arrow"},
    {"libparquet", "", "Parquet"},
    {"libcrypto", "", "hashing and encryption"},
    {"libssl", "", "hashing and encryption"},
    // The C library and what stands in for it.
    {"libc.", "memcpy|memmove|mempcpy", "memory copy"},
    {"libc-", "memcpy|memmove|mempcpy", "memory copy"},
    {"libc.", "memset", "memory fill"},
    {"libc-", "memset", "memory fill"},
    {"libc.", "alloc|free", "memory allocation"},
    {"libc-", "alloc|free", "memory allocation"},
    {"libc.", "", "C library"},
    {"libc-", "", "C library"},
    {"libpthread", "", "C library"},
    {"ld-linux", "", "dynamic linker"},
    {"ld-2", "", "dynamic linker"},
    {"libjemalloc", "", "memory allocation"},
    {"libtcmalloc", "", "memory allocation"},
    {"libmimalloc", "", "memory allocation"},
    {"libm.", "", "mathematics (libm)"},
    {"libm-", "", "mathematics (libm)"},
    {"libmvec", "", "mathematics (libm)"},
    {"libstdc++", "", "C++ library"},
    // Numbers and tensors.
    {"libopenblas", "", "linear algebra"},
    {"libscipy_openblas", "", "linear algebra"},
    {"libblas", "", "linear algebra"},
    {"libcblas", "", "linear algebra"},
    {"liblapack", "", "linear algebra"},
    {"libmkl", "", "linear algebra"},
    {"libblis", "", "linear algebra"},
    {"libgomp", "", "OpenMP (waiting, scheduling)"},
    {"libiomp", "", "OpenMP (waiting, scheduling)"},
    {"libomp", "", "OpenMP (waiting, scheduling)"},
    {"_multiarray_umath", "", "NumPy"},
    {"_pocketfft", "", "FFT"},
    {"libfftw", "", "FFT"},
    {"libdnnl", "", "convolution (oneDNN)"},
    {"libtorch_cpu", "gemm|addmm", "linear algebra"},
    {"libtorch_cpu", "dnnl|mkldnn|xnn|nnp_|conv", "convolution (torch)"},
    {"libtorch_cpu", "cat_|Cat|::cat|stack", "tensor cat (torch)"},
    {"libtorch_cpu", "copy|Copy", "tensor copy (torch)"},
    {"libtorch_cpu", "upsample|Upsample", "image resize"},
    {"libtorch_cpu", "", "torch"},
    {"libtorch", "", "torch"},
    {"libc10", "", "torch"},
    {"libshm", "", "torch"},
    {"libcuda", "", "CUDA"},
    {"libnvidia", "", "CUDA"},
    {"libcudnn", "", "CUDA"},
    {"python", "", "Python interpreter"},
    {"libpython", "", "Python interpreter"},
    {"_pickle.", "", "pickling"},
    {"_json.", "", "JSON"},
};

bool holds_one_of(std::string_view function, std::string_view words) {
  while (!words.empty()) {
    const std::size_t bar = std::min(words.find('|'), words.size());
    if (function.find(words.substr(0, bar)) != std::string_view::npos) return true;
    words.remove_prefix(std::min(bar + 1, words.size()));
  }
  return false;
}

}  // namespace

std::string bare_library_name(const std::string& library) {
  std::size_t end = std::min({library.find(".so"), library.find(".cpython"), library.find(".abi3"), library.size()});
  // "libfoo-1.2": the version begins with a digit; "libfoo-bar" has none.
  for (std::size_t at = library.find('-'); at < end; at = library.find('-', at + 1)) {
    if (at + 1 < end && library[at + 1] >= '0' && library[at + 1] <= '9') end = at;
  }
  return library.substr(0, std::max<std::size_t>(end, 1));
}

std::string cpu_work_name(const std::string& library, const std::string& function) {
  for (const Row& row : k_rows) {
    if (!std::string_view(library).starts_with(row.library)) continue;
    if (row.function.empty() || holds_one_of(function, row.function)) return row.name;
  }
  return library.empty() ? "unknown" : bare_library_name(library);
}

}  // namespace stallcast

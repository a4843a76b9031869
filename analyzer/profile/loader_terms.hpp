/// What a loader's settings are called in its own library: nobody is told to set num_workers of a loader that has none.
#pragma once

#include <string>
#include <string_view>

namespace stallcast {

struct LoaderTerms {
  std::string_view kind{};   ///< Job::loader_kind
  std::string_view title{};  ///< of the advice to have more made at a time
  std::string_view more{};   ///< what does that
  std::string_view line{};   ///< the setting as code; {W} stands for workers, {P} for batches made ahead of each
};

/// nullptr for torch's DataLoader, and for loaders that are not known.
[[nodiscard]] const LoaderTerms* terms_of(std::string_view loader_kind);

/// `terms.line` with its numbers.
[[nodiscard]] std::string line_of(const LoaderTerms& terms, int workers, int prefetch);

/// Likewise with "..." in their places: where it is not known what they are.
[[nodiscard]] std::string line_of(const LoaderTerms& terms);

/// Whether the framework ("jax", "tensorflow") takes NumPy's arrays: where a loop of its own is to be served by a
/// loader, that is Grain rather than torch's.
[[nodiscard]] bool trains_without_torch(std::string_view framework);

}  // namespace stallcast

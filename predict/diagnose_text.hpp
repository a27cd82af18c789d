// A diagnosis in words.
#pragma once

#include <string>

#include "predict/result.hpp"

namespace ddpx {

// The verdict with the number behind it, and the measurement to make next. `link` is empty where
// none was named, `parameters` 0 where they are not known.
struct DiagnosisWords {
  std::string verdict;
  std::string next;
};
[[nodiscard]] DiagnosisWords diagnosis_words(const DiagnosedRun& run, const std::string& link,
                                             double parameters);

// All of it, as ddpx-predict prints it.
[[nodiscard]] std::string diagnosis_text(const DiagnosedRun& run);

}  // namespace ddpx

#include "predict/by_flag.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace ddpx {

InputError by_flag(const InputError& error) {
  constexpr std::pair<std::string_view, std::string_view> kFlags[] = {
      {"link ", "--link"}, {"network ", "--network"}, {"machine ", "--machine"}};
  const std::string_view what = error.what();
  const std::size_t colon = what.find(": ");
  for (const auto& [word, flag] : kFlags) {
    if (!what.starts_with(word) || colon == std::string_view::npos || colon <= word.size())
      continue;
    return {flag, "'" + std::string(what.substr(word.size(), colon - word.size())) + "' " +
                      std::string(what.substr(colon + 2))};
  }
  return error;
}

}  // namespace ddpx

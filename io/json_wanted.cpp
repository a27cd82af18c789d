#include "io/json_wanted.hpp"

#include <string>

#include "io/nvbandwidth.hpp"
#include "io/topology_matrix.hpp"
#include "model/error.hpp"

namespace ddpx::io {

void want_json(std::string_view text, std::string_view place, std::string_view accepted) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const std::string_view body = text.starts_with(kByteOrderMark) ? text.substr(3) : text;
  const std::size_t begin = body.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos)
    throw InputError(place, "is empty; accepted: " + std::string(accepted));
  if (body[begin] == '{') return;
  std::string what =
      "is no JSON object and no nccl-tests log: no line \"size count type ... time algbw busbw\" "
      "in "
      "it and no row of such a table";
  if (looks_like_topology_matrix(text)) {
    what =
        "is a topology matrix of nvidia-smi, which has no times (ddpx-predict --check-link "
        "reads it)";
  } else if (looks_like_nvbandwidth(text)) {
    what =
        "holds copies of nvbandwidth, which are no all-reduce (ddpx-predict --check-link reads "
        "them)";
  }
  throw InputError(place, what + "; accepted: " + std::string(accepted));
}

}  // namespace ddpx::io

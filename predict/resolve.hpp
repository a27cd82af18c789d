// Names on the command line to machines, links and networks: shipped data, the user's own and
// files. This is where ddpx-predict's rooms are wired together; predict.cpp only calls it.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "io/nccl_tests.hpp"
#include "predict/check_link.hpp"
#include "predict/request.hpp"

namespace ddpx {

// What a name resolved to is said on `talk`, one line each. `talk` must outlive the result.
[[nodiscard]] Resolvers resolvers(std::ostream& talk);

// The answer to --check-link.
[[nodiscard]] LinkCheck check_link_file(const Options& options, const Resolvers& resolvers);

// The link of a log, with what is assumed of one: kAssumedChannels, and its topology by hosts and
// bandwidth.
[[nodiscard]] Link link_of_log(const io::NcclImport& import);

// The link in a file: one of ours ("FILE", or "FILE:NAME" where it holds several), a machine's, or
// an nccl-tests log, which is fitted. `place` is the flag that named it.
[[nodiscard]] Link link_from_file(const std::string& path, std::ostream& talk,
                                  std::string_view place = "--link");

}  // namespace ddpx

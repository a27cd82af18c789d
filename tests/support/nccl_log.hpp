// A log of all_reduce_perf as nccl-tests 2.13 to 2.19 prints one, with the rank lines of hosts.
#pragma once

#include <fmt/format.h>

#include <numeric>
#include <string>
#include <vector>

namespace ddpx::test {

// 1 MiB to 1 GiB at `gigabytes` per second of bus bandwidth, on as many ranks of each host as
// `ranks_on` says; without `rank_lines` nothing tells the hosts.
inline std::string nccl_log(const std::vector<int>& ranks_on, double gigabytes,
                            bool rank_lines = true) {
  std::string text;
  int rank = 0;
  for (std::size_t host = 0; rank_lines && host < ranks_on.size(); ++host) {
    for (int device = 0; device < ranks_on[host]; ++device)
      text +=
          fmt::format("#  Rank {:2} Group  0 Pid {} on secret-{} device {:2} [0000:01:00] GPU\n",
                      rank++, 1000 + device, host, device);
  }
  const int ranks = std::accumulate(ranks_on.begin(), ranks_on.end(), 0);
  const double factor = 2.0 * (ranks - 1) / ranks;  // of bus bandwidth (nccl-tests PERFORMANCE.md)
  text +=
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   algbw   busbw #wrong\n";
  for (double bytes = 1 << 20; bytes <= 1 << 30; bytes *= 4) {
    const double seconds = bytes * factor / (gigabytes * 1e9);
    const std::string half =
        fmt::format(" {:.3f} {:.4f} {:.4f} 0", seconds * 1e6, bytes / seconds / 1e9, gigabytes);
    text += fmt::format("{:.0f} {:.0f} float sum -1", bytes, bytes / 4) + half + half + "\n";
  }
  return text;
}

}  // namespace ddpx::test

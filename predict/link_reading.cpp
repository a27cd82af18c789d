#include "predict/link_reading.hpp"

#include <array>
#include <limits>
#include <vector>

#include "predict/text.hpp"

namespace ddpx {
namespace {

constexpr BytesPerSecond gb(double gigabytes) { return BytesPerSecond(gigabytes * 1e9); }

// Link::reach() of the table's; a test holds them to it.
constexpr int kOfBridge = 2;
constexpr int kOfPcie = 16;
constexpr int kOfNvlink = 72;
constexpr int kOfNetwork = std::numeric_limits<int>::max();

constexpr std::array<LinkKind, 17> kKinds{{
    {"TCP over 1 Gb/s Ethernet", kSlowestWorkingLink, gb(0.12), kOfNetwork},
    {"TCP over 10 Gb/s Ethernet", gb(0.9), gb(1.2), kOfNetwork},
    {"TCP over 25 Gb/s Ethernet", gb(1.6), gb(3.0), kOfNetwork},
    {"PCIe 4", gb(1.71), gb(24),
     kOfPcie},  // eight lanes through host memory to sixteen peer to peer
    {"PCIe 3", gb(1.8), gb(12.2), kOfPcie},
    {"one GPU's share of EFA at 400 Gb/s", gb(3.7), gb(5.9), kOfNetwork},
    {"TCP over 100 Gb/s Ethernet", gb(3.8), gb(6.2), kOfNetwork},
    {"RoCE or EFA at 100 Gb/s", gb(6.5), gb(12.5), kOfNetwork},
    {"PCIe 5", gb(10.125), gb(53), kOfPcie},
    {"InfiniBand HDR", gb(17), gb(25), kOfNetwork},
    {"a bridge of NVLink 2", gb(18), gb(24), kOfBridge},
    {"InfiniBand NDR, RoCE at 400 Gb/s or EFA at 3200", gb(28), gb(50), kOfNetwork},
    {"NVLink 2", gb(105), gb(139), kOfNvlink},
    {"a bridge of NVLink 4", gb(114), gb(210), kOfBridge},
    {"NVLink 3", gb(182), gb(208), kOfNvlink},
    {"NVLink 4", gb(298), gb(320), kOfNvlink},
    {"NVLink 5", gb(540), gb(680), kOfNvlink},
}};
constexpr BytesPerSecond kSlowestPcie = gb(1.71);
// Far below the slowest network no setting of a link is the cause.
constexpr BytesPerSecond kNoLink = gb(0.03);

std::string listed(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

// `rate` is in no band.
std::string between(BytesPerSecond rate, int gpus) {
  const LinkKind* below = nullptr;
  const LinkKind* above = nullptr;
  for (const LinkKind& kind : kKinds) {
    if (kind.most_gpus < gpus) continue;
    if (kind.high < rate && (below == nullptr || kind.high > below->high)) below = &kind;
    if (kind.low > rate && (above == nullptr || kind.low < above->low)) above = &kind;
  }
  const auto up_to = [&] {
    return std::string(below->words) + " (up to " + rate_text(below->high) + ")";
  };
  if (above == nullptr)
    return "faster than " + up_to() + std::string(", the fastest link known here") +
           (gpus > kOfNvlink ? " that joins so many GPUs" : "");
  return "between " + up_to() + " and " + std::string(above->words) + " (from " +
         rate_text(above->low) + ")";
}

}  // namespace

std::span<const LinkKind> link_kinds() { return kKinds; }

std::string reading_of(BytesPerSecond bandwidth, int gpus) {
  const bool slots = gpus <= kOfPcie;
  const std::string below = slots ? "below any working PCIe link and below " : "below ";
  if (bandwidth < kNoLink)
    return below +
           "1 Gb/s Ethernet: no working link explains this; look at the host, the loader or the "
           "placement of the ranks";
  if (bandwidth < kSlowestWorkingLink)
    return below + "TCP over 1 Gb/s Ethernet (from " + rate_text(kSlowestWorkingLink) +
           "): look for a fault (" + (slots ? "peer-to-peer blocked by IOMMU or ACS, " : "") +
           "a slower or shared network)";
  std::vector<std::string_view> alike;
  for (const LinkKind& kind : kKinds) {
    if (kind.low <= bandwidth && bandwidth <= kind.high && kind.most_gpus >= gpus)
      alike.push_back(kind.words);
  }
  const std::string reading = alike.empty() ? between(bandwidth, gpus) : "like " + listed(alike);
  return slots && bandwidth < kSlowestPcie ? reading + "; no sound PCIe link is this slow"
                                           : reading;
}

}  // namespace ddpx

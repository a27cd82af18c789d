#include "profiler/cpu/ring.hpp"

#include <algorithm>
#include <string>

#include "model/error.hpp"
#include "profiler/cpu/bfloat16.hpp"
#include "profiler/cpu/kernels.hpp"

namespace ddpx::cpu {
namespace {

constexpr int kTag = 1;
// Messages go in pieces of at most this, so that one that takes long shows that it goes on: two
// seconds at 16 Mb/s.
constexpr std::size_t kPiece = 4 << 20;

// Calls `start` for every piece; an empty message is one, too.
template <class T, class Start>
void in_pieces(std::span<T> message, Start start) {
  do {
    const std::size_t size = std::min(kPiece, message.size());
    start(message.first(size));
    message = message.subspan(size);
  } while (!message.empty());
}

template <class T>
std::span<T> as(std::span<std::byte> bytes) {
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

void add_parts(DType dtype, std::span<std::byte> from, std::span<std::byte> to) {
  switch (dtype) {
    case DType::fp32:
    case DType::tf32:
      add(std::span<const float>(as<float>(from)), as<float>(to));
      return;
    case DType::fp16:
      add(std::span<const Half>(as<Half>(from)), as<Half>(to));
      return;
    case DType::bf16:
      add(std::span<const Bfloat16>(as<Bfloat16>(from)), as<Bfloat16>(to));
      return;
  }
}

}  // namespace

Ring::Ring(const Communicator& communicator, const CollectiveBuffers& buffers,
           std::vector<std::byte>& scratch)
    : communicator_(communicator),
      buffers_(buffers),
      scratch_(scratch),
      ranks_(communicator.size()),
      steps_((buffers.kind == Collective::all_reduce ? 2 : 1) * (ranks_ - 1)) {
  if (buffers_.kind != Collective::all_reduce &&
      buffers_.shard.size() * static_cast<std::size_t>(ranks_) != buffers_.whole.size())
    throw DeviceError("CPU ring: " + std::to_string(ranks_) + " shards of " +
                      std::to_string(buffers_.shard.size()) + " bytes do not make " +
                      std::to_string(buffers_.whole.size()));
  const std::size_t largest = part(ranks_ - 1).size();  // the last part takes the remainder
  // Reduce-scatter keeps `whole` as it is: its partial sums need a place beside what is coming in.
  const std::size_t places = buffers_.kind == Collective::reduce_scatter ? 2 : 1;
  if (scratch_.size() < places * largest) scratch_.resize(places * largest);
  const std::span<std::byte> own = part(communicator_.rank());
  if (buffers_.kind == Collective::all_gather) std::ranges::copy(buffers_.shard, own.begin());
  if (buffers_.kind == Collective::reduce_scatter && ranks_ == 1)
    std::ranges::copy(own, buffers_.shard.begin());
}

std::span<std::byte> Ring::part(int index) const {
  const auto element = static_cast<std::size_t>(element_bytes(buffers_.dtype));
  const std::size_t elements = buffers_.whole.size() / element;
  const auto n = static_cast<std::size_t>(ranks_);
  const auto i = static_cast<std::size_t>(((index % ranks_) + ranks_) % ranks_);
  const std::size_t each = elements / n;
  const std::size_t count = i + 1 == n ? elements - i * each : each;
  return buffers_.whole.subspan(i * each * element, count * element);
}

bool Ring::gathering() const {
  return buffers_.kind == Collective::all_gather ||
         (buffers_.kind == Collective::all_reduce && step_ >= ranks_ - 1);
}

void Ring::post() {
  const int rank = communicator_.rank();
  const int next = (rank + 1) % ranks_;
  const int previous = (rank + ranks_ - 1) % ranks_;
  std::span<std::byte> outgoing;
  if (gathering()) {
    const int done = step_ % (ranks_ - 1);
    outgoing = part(rank - done);
    incoming_ = part(rank - done - 1);
  } else {
    const bool keeps_whole = buffers_.kind == Collective::reduce_scatter && step_ > 0;
    outgoing = keeps_whole ? partial_ : part(rank - step_ - 1);
    const std::size_t coming = part(rank - step_ - 2).size();
    // Of the two places in the scratch memory, the one that is not being sent.
    const bool second = buffers_.kind == Collective::reduce_scatter && step_ % 2 == 1;
    incoming_ = std::span(scratch_).subspan(second ? part(ranks_ - 1).size() : 0, coming);
  }
  in_pieces(incoming_, [&](std::span<std::byte> piece) {
    messages_.add(communicator_.start_receive(piece, previous, kTag));
  });
  in_pieces(outgoing, [&](std::span<std::byte> piece) {
    messages_.add(communicator_.start_send(piece, next, kTag));
  });
  posted_ = true;
}

void Ring::finish_step() {
  if (!gathering()) {
    const std::span<std::byte> own = part(communicator_.rank() - step_ - 2);
    if (buffers_.kind == Collective::all_reduce) {
      add_parts(buffers_.dtype, incoming_, own);
    } else {
      add_parts(buffers_.dtype, own, incoming_);
      partial_ = incoming_;
      if (step_ + 1 == steps_) std::ranges::copy(partial_, buffers_.shard.begin());
    }
  }
  ++step_;
  posted_ = false;
}

bool Ring::advance() {
  while (step_ < steps_) {
    if (!posted_) post();
    moved_ += messages_.test();
    if (!messages_.done()) return false;
    finish_step();
  }
  return true;
}

}  // namespace ddpx::cpu

// What a tree over hosts sends over their wires, and so how much more bus bandwidth than the wire's
// it may count. nccl-tests count 2(N-1)/N bytes for each byte of an all-reduce on N ranks, what a
// ring sends over every hop. NCCL splits the message over two binary trees in which a host is a
// leaf of one where it is inside the other (src/graph/trees.cc: ncclGetDtree), and every edge
// carries its half up and down. Of two hosts each sends the message once, of three the busiest one
// and a half times, from four on twice.
#pragma once

namespace ddpx {

// Bytes that the busiest host sends over its wire for each byte of the call. Throws InputError for
// fewer than two hosts.
[[nodiscard]] double tree_sends(int hosts);

// The most bus bandwidth that an all-reduce on `ranks`, on equal hosts, counts over one host's
// wire, by ring or tree: 2(N-1)/N over two hosts, 4(N-1)/(3N) over three, else 1, the ring's.
// Nothing is gained over two hosts of a rank each. Switches of the network that add up (SHARP) are
// left out.
[[nodiscard]] double most_over_wire(int hosts, int ranks);

}  // namespace ddpx

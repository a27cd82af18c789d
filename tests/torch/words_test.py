"""networks.py, strategy.py, transports.py: words become values, and everything else is refused in one line."""

import unittest

from support import Folder

from ddpx_torch.errors import InputError
from ddpx_torch.networks import parse_network, with_key
from ddpx_torch.strategy import MIB, parse_strategy
from ddpx_torch.transports import parse_transport


class Networks(Folder):
    def test_keys_left_out_have_the_values_of_the_native_engine(self):
        mlp = parse_network("mlp")
        self.assertEqual((mlp["width"], mlp["depth"], mlp["classes"]), (1024, 8, 64))
        gpt = parse_network("gpt:layers=2")
        self.assertEqual((gpt["layers"], gpt["hidden"], gpt["sequence"], gpt["vocabulary"]), (2, 768, 1024, 50257))

    def test_gpt_2_small_has_its_published_size(self):
        self.assertEqual(parse_network("gpt").parameters(), 124_439_808)  # Radford et al. 2019, tied head

    def test_a_sweep_sets_one_key(self):
        self.assertEqual(with_key("mlp:width=8,depth=2", "width", 16), "mlp:depth=2,width=16")
        with self.assertRaises(InputError):
            with_key("mlp", "hidden", 16)

    def test_wrong_words_are_named(self):
        for words, says in (
            ("cnn:depth=3", "not a network"),
            ("mlp:widht=3", "'widht=3'"),
            ("mlp:width=0", "from 1 to"),
            ("mlp:width=1e3", "whole number"),
            ("mlp:width=4,width=4", "twice"),
            ("mlp:width=99999999999999", "whole number"),
            ("mlp:", "not a key"),
            ("gpt:hidden=10,heads=3", "multiple"),
            ("resnet:depth=51", "one of"),
            ("a b:c", "not a network"),
            ("module:", "not a network"),
            ("none.json", "cannot be read"),
            ("x" * 5000, "not a network"),
        ):
            with self.subTest(words=words[:40]), self.assertRaises(InputError) as refused:
                parse_network(words)
            self.assertIn(says, str(refused.exception))
            self.assertLess(len(str(refused.exception)), 500)

    def test_a_captured_file_names_its_model(self):
        path = self.write("net.json", {"context": {"model": "mlp:width=32"}})
        network = parse_network(path)
        self.assertEqual((network.generator, network["width"]), ("mlp", 32))
        for content in ("{", "[]", '{"context": {"model": 3}}', '{"context": {"model": "other.json"}}', '{"a": NaN}', '{"a":1,"a":2}'):
            with self.subTest(content=content), self.assertRaises(InputError):
                parse_network(self.write("bad.json", content))


class Strategies(unittest.TestCase):
    def test_the_words_are_those_of_ddpx_predict_and_come_back(self):
        for words in (
            "ddp",
            "ddp,accumulate=8,compress=fp16,bucket=25MiB,bucket-view",
            "ddp,first-bucket=2MiB",
            "ddp,bucket=5MiB,first-bucket=1MiB,channels=8",
            "fsdp=unit",
            "fsdp=block,accumulate=2",
            "no-sync,accumulate=4",
        ):
            self.assertEqual(parse_strategy(words).describe(), words)
        self.assertEqual(parse_strategy("fsdp").describe(), "fsdp=unit")

    def test_an_explicit_cap_of_the_usual_size_is_told_from_the_default(self):
        self.assertIsNone(parse_strategy("ddp").bucket)
        self.assertEqual(parse_strategy("ddp,bucket=25MiB").bucket, 25 * MIB)

    def test_sizes_are_powers_of_ten_or_of_two(self):
        self.assertEqual(parse_strategy("ddp,bucket=5MB").bucket, 5_000_000)
        self.assertEqual(parse_strategy("ddp,bucket=1.5KiB").bucket, 1536)

    def test_wrong_words_are_named(self):
        for words in (
            "",
            "ddp,ddp",
            "fsdp=tree",
            "ddp,fsdp",
            "fsdp,bucket=1MiB",
            "no-sync,bucket-view",
            "ddp,accumulate=0",
            "ddp,accumulate=1.5",
            "ddp,accumulate=٣",
            "ddp,bucket=5",
            "ddp,bucket=-5MiB",
            "ddp,bucket=nanMiB",
            "ddp,bucket=1_0MiB",
            "ddp,compress=int8",
            "ddp,channels=0",
        ):
            with self.subTest(words=words), self.assertRaises(InputError):
                parse_strategy(words)


class Transports(unittest.TestCase):
    def test_kinds_set_nccl_s_switches_and_multicast_stays_off(self):
        base = {"NCCL_NVLS_ENABLE": "1"}
        self.assertEqual(parse_transport("host-memory=shm").environment(base)["NCCL_P2P_DISABLE"], "1")
        tcp = parse_transport("socket").environment(base)
        self.assertEqual((tcp["NCCL_SHM_DISABLE"], tcp["NCCL_NET"], tcp["NCCL_SOCKET_IFNAME"]), ("1", "Socket", "lo"))
        one = parse_transport("one=p2p,channels=1")
        self.assertEqual(one.environment(base)["NCCL_MAX_CTAS"], "1")
        self.assertEqual(one.environment(base, channels=4)["NCCL_MAX_CTAS"], "4")  # the strategy's own
        for transport in (one, parse_transport("auto")):
            self.assertEqual(transport.environment(base)["NCCL_NVLS_ENABLE"], "0")

    def test_wrong_words_are_named(self):
        for words in ("", "pigeon", "=p2p", "p2p,channels=0", "p2p,LD_PRELOAD=x", "p2p,NCCL_NET="):
            with self.subTest(words=words), self.assertRaises(InputError):
                parse_transport(words)


if __name__ == "__main__":
    unittest.main()

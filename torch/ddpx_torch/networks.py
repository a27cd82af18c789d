"""Networks in words: `mlp:width=4096,depth=8`, `gpt:layers=12,...`, `resnet:depth=50,...`, `module:function`, or a file
that `capture` wrote. The keys, ranges and standard values of mlp and gpt are those of model/network_spec.cpp."""

import os
from dataclasses import dataclass

from .errors import InputError, quoted
from .files import read_json

_MOST_LAYERS = 10**5
_MOST_FEATURES = 10**7

GENERATORS = {
    "mlp": {"width": (1024, _MOST_FEATURES), "depth": (8, _MOST_LAYERS), "classes": (64, _MOST_FEATURES)},
    "gpt": {
        "layers": (12, _MOST_LAYERS),
        "hidden": (768, _MOST_FEATURES),
        "heads": (12, _MOST_FEATURES),
        "sequence": (1024, _MOST_FEATURES),
        "vocabulary": (50257, _MOST_FEATURES),
    },
    "resnet": {
        "depth": (50, 152),
        "width": (64, 4096),
        "image": (224, 8192),
        "classes": (1000, _MOST_FEATURES),
    },
}
RESNET_DEPTHS = (10, 18, 34, 50, 101, 152)

ACCEPTED = (
    "accepted: mlp:width=W,depth=D,classes=C, gpt:layers=L,hidden=H,heads=A,sequence=T,vocabulary=V, "
    "resnet:depth=D,width=W,image=I,classes=C, module:function or a network file of capture"
)


@dataclass(frozen=True)
class Network:
    """`text` is what rows call it; `generator` is mlp, gpt, resnet or user; `target` the user's module:function."""

    text: str
    generator: str
    keys: tuple = ()
    target: str = ""

    def __getitem__(self, key):
        return dict(self.keys)[key]

    def parameters(self):
        """Known in advance, for generators of large models; None for the others."""
        if self.generator == "mlp":
            w, d, c = self["width"], self["depth"], self["classes"]
            return d * (w * w + w) + w * c + c
        if self.generator == "gpt":
            h = self["hidden"]
            block = 12 * h * h + 13 * h
            return self["layers"] * block + (self["sequence"] + self["vocabulary"]) * h + 2 * h
        return None


def _keys(generator, text, words, place):
    known = GENERATORS[generator]
    values = {key: standard for key, (standard, _) in known.items()}
    given = set()
    for word in words.split(",") if words is not None else ():
        key, _, value = word.partition("=")
        if key not in known:
            raise InputError(place, f"{quoted(word)} is not a key of {generator}; accepted: {', '.join(known)}")
        if key in given:
            raise InputError(place, f"{quoted(word)} is given twice")
        given.add(key)
        most = known[key][1]
        if not (value.isascii() and value.isdigit() and len(value) < 12 and 1 <= int(value) <= most):
            raise InputError(place, f"{quoted(word)} needs a whole number from 1 to {most} after '{key}='")
        values[key] = int(value)
    if generator == "gpt" and values["hidden"] % values["heads"]:
        raise InputError(place, "gpt: 'hidden' must be a multiple of 'heads': each head takes hidden/heads features")
    if generator == "resnet" and values["depth"] not in RESNET_DEPTHS:
        raise InputError(place, f"resnet: 'depth' is one of {', '.join(map(str, RESNET_DEPTHS))}")
    return Network(text, generator, tuple(values.items()))


def parse_network(text, place="--network"):
    name, colon, rest = text.partition(":")
    if name in GENERATORS:
        return _keys(name, text, rest if colon else None, place)
    if text.endswith(".json") or os.sep in text:
        context = read_json(text, "a network file of capture").get("context")
        target = context.get("model") if isinstance(context, dict) else None
        if not isinstance(target, str) or target.endswith(".json"):
            raise InputError(place, f"{quoted(text)} does not say what model it was captured from (context, \"model\")")
        model = parse_network(target, place)
        return Network(os.path.abspath(text), model.generator, model.keys, model.target)
    if colon and name and rest and all(part.isidentifier() for part in name.split(".")) and rest.isidentifier():
        return Network(text, "user", (), text)
    raise InputError(place, f"{quoted(text)} is not a network; {ACCEPTED}")


def with_key(text, key, value, place="--sweep"):
    """The same network with one key at another value."""
    network = parse_network(text, place)
    if network.generator == "user" or key not in dict(network.keys):
        raise InputError(place, f"{quoted(key)} is not a key of {quoted(text)}")
    name, _, rest = text.partition(":")
    words = [word for word in rest.split(",") if word and word.partition("=")[0] != key]
    return f"{name}:{','.join(words + [f'{key}={value}'])}"

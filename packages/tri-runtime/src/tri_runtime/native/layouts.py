"""The records that the launcher's code reads, field by field; :mod:`tri_runtime.native.records` fills them.

``CALL``, the items, ``PART``, ``CONDITION``, ``PAIR``, ``PROBE`` and ``STATE`` are this package's; ``TENSOR`` is DLPack's ``DLTensor``, and ``CONFIG`` what
a driver's launch function takes (``CUlaunchConfig``).
"""

from __future__ import annotations

from enum import IntEnum

from tri_runtime.schema import CType, Field, Record

__all__ = [
    "ARRAY_ITEM",
    "BOOL_ITEM",
    "CALL",
    "CONDITION",
    "CONFIG",
    "CONSTANT_ITEM",
    "INT_ITEM",
    "ITEM",
    "ITEM_VARIANTS",
    "OBJECT_ITEM",
    "PAIR",
    "PART",
    "PARTS_ITEM",
    "PROBE",
    "RECORDS",
    "STATE",
    "TENSOR",
    "ConditionKind",
    "ItemKind",
]

_I64, _POINTER, _U32 = CType.I64, CType.POINTER, CType.U32


class ItemKind(IntEnum):
    """Kind of value that an argument is compared with."""

    ARRAY = 0
    INT = 1
    FLOAT = 2
    BOOL = 3
    OBJECT = 4
    INT_CONSTANT = 5
    FLOAT_CONSTANT = 6
    TEXT = 7
    PARTS = 8
    ANY = 9


class ConditionKind(IntEnum):
    """Subject of a condition."""

    EMPTY_LIST = 0
    CONTEXT_VARIABLE = 1
    DICTIONARY_ENTRY = 2
    CELL = 3


STATE = Record(
    "state",
    (
        Field("count", _I64, "number of calls"),
        Field("calls", _POINTER, "their records"),
        Field("otherwise", _POINTER, "Python function that does what no call describes"),
        Field("none", _POINTER, "Python's None"),
    ),
)

CALL = Record(
    "call",
    (
        Field("positional", _I64, "positional arguments, without the grid"),
        Field("keywords", _I64, "keyword arguments"),
        Field("keyword_names", _POINTER, "their names, in order"),
        Field("items", _POINTER, "one for each argument, in the order of the last field"),
        Field("condition_count", _I64),
        Field("conditions", _POINTER),
        Field("owner", _POINTER, "Python object that keeps all of this alive"),
        Field("result", _POINTER, "Python object that a launch returns"),
        Field("note", _POINTER, "Python function called before each launch, or null"),
        Field("note_argument", _POINTER, "its argument"),
        Field("names", _POINTER, "of all arguments"),
        Field("defaults", _POINTER, "dictionary of arguments that were left out"),
        Field("start", _POINTER, "the driver's function: int start(config, kernel, parameters, extra)"),
        Field("function", _POINTER, "the driver's kernel"),
        Field("threads", _I64, "threads of a CTA"),
        Field("shared", _I64, "bytes of shared memory of a CTA"),
        Field("attributes", _POINTER, "launch attributes"),
        Field("attribute_count", _I64),
        Field("parameter_bytes", _I64),
        Field("parameter_values", _POINTER, "values of those that no argument decides"),
        Field("parameter_count", _I64),
        Field("parameter_offsets", _POINTER, "in bytes"),
        Field("current_stream", _POINTER, "int current_stream(device type, device, out)"),
        Field("device", _I64, "DLPack's device type, and the index in the upper 32 bits"),
        Field("max_ctas", _I64, "the most CTAs of a launch; 0: any number"),
        Field("resident", _I64, "resident CTAs of a persistent kernel; 0: it is not persistent"),
        Field("grid_offset", _I64, "offset of the grid among its parameters, in bytes"),
        Field("probe_count", _I64),
        Field("probes", _POINTER),
        Field("current_context", _POINTER, "int current_context(out), or null"),
        Field("context", _POINTER, "the context that has to be current"),
        Field("encode", _POINTER, "Python function that encodes descriptors, or null"),
        Field("argument_bytes", _I64, "bytes of the arguments that it takes"),
        Field("last_arguments", _POINTER, "those of the last call"),
        Field("descriptor_bytes", _I64),
        Field("descriptors", _POINTER, "those of the last call"),
        Field("descriptor_offset", _I64, "among the parameters, in bytes"),
        Field("cluster", _I64, "CTAs along x that run a program together"),
        Field("order", _POINTER, "the argument's index for each item"),
        Field("pair_count", _I64, "pairs of arrays that may not overlap"),
        Field("pairs", _POINTER),
    ),
)

_HEADER = (
    Field("kind", _I64, "an ItemKind"),
    Field("offset", _I64, "among the parameters, in bytes"),
    Field("size", _I64, "bytes of the parameter; 0: it is not passed"),
)
#: an item of an array of items; what stands behind the header depends on the kind
ITEM = Record("item", (*_HEADER, *(Field(f"payload{i}", _I64) for i in range(8))))
ARRAY_ITEM = Record(
    "array_item",
    (
        *_HEADER,
        Field("type", _POINTER, "class of the array"),
        Field("device", _I64, "as in a call"),
        Field("dtype", _I64, "DLPack's dtype"),
        Field("mask", _I64, "bits that are 0 in an aligned address"),
        Field("aligned", _I64, "1 where the address is aligned"),
        Field("read", _POINTER, "int read(object, DLTensor *)"),
        Field(
            "attribute", _POINTER, "name of an attribute and its value, for dtypes alike in DLPack; or null"
        ),
        Field("extent", _I64, "where its bytes are stored, behind the parameters; 0: nobody asks"),
    ),
)
INT_ITEM = Record(
    "int_item",
    (
        *_HEADER,
        Field("properties", _I64, "bits: is 1, within 32 bits, divisible by 16"),
        Field("care", _I64, "the bits that matter"),
        Field("low", _I64, "smallest value"),
        Field("high", _I64, "largest value"),
    ),
)
BOOL_ITEM = Record(
    "bool_item", (*_HEADER, Field("true", _POINTER, "Python's True"), Field("false", _POINTER, "and False"))
)
CONSTANT_ITEM = Record("constant_item", (*_HEADER, Field("bits", _I64, "an int, or the bits of a double")))
OBJECT_ITEM = Record("object_item", (*_HEADER, Field("object", _POINTER, "the object, or an equal string")))
PARTS_ITEM = Record(
    "parts_item",
    (
        *_HEADER,
        Field("type", _POINTER, "class of the object"),
        Field("count", _I64, "number of parts"),
        Field("parts", _POINTER),
    ),
)
ITEM_VARIANTS = (ARRAY_ITEM, INT_ITEM, BOOL_ITEM, CONSTANT_ITEM, OBJECT_ITEM, PARTS_ITEM)

PART = Record(
    "part",
    (
        Field("name", _POINTER, "of the attribute"),
        Field("sequence", _POINTER, "class of the sequence that it is, or null"),
        Field("count", _I64, "number of items"),
        Field("items", _POINTER),
    ),
)
CONDITION = Record(
    "condition",
    (
        Field("kind", _I64, "a ConditionKind"),
        Field("subject", _POINTER, "the list, context variable, dictionary or cell"),
        Field("key", _POINTER, "in a dictionary"),
        Field("value", _POINTER, "the object that has to be there"),
    ),
)
PAIR = Record(
    "pair",
    (
        Field("first", _I64, "offset of an array's address among the parameters"),
        Field("second", _I64, "of the other's"),
        Field("first_extent", _I64, "offset of an array's bytes behind them"),
        Field("second_extent", _I64, "of the other's"),
        Field("same", _I64, "1 where both may begin at one address"),
    ),
)
PROBE = Record(
    "probe",
    (
        Field("function", _POINTER, "int function(stream, uint64_t *out)"),
        Field("expected", _I64, "what it has to write"),
    ),
)
TENSOR = Record(
    "tensor",
    (
        Field("data", CType.U64, "address of the allocation"),
        Field("device", _I64, "device type, and the index in the upper 32 bits"),
        Field("ndim", CType.I32),
        Field("dtype", _U32, "code, bits, lanes"),
        Field("shape", _POINTER),
        Field("strides", _POINTER),
        Field("byte_offset", CType.U64, "of the first element"),
    ),
)
CONFIG = Record(
    "config",
    (
        *(Field(f"grid_{axis}", _U32, f"CTAs along {axis}") for axis in "xyz"),
        *(Field(f"block_{axis}", _U32, f"threads along {axis}") for axis in "xyz"),
        Field("shared", _U32, "bytes of dynamic shared memory"),
        Field("stream", _POINTER),
        Field("attributes", _POINTER, "launch attributes"),
        Field("attribute_count", _U32),
    ),
)

RECORDS = (STATE, CALL, ITEM, *ITEM_VARIANTS, PART, CONDITION, PAIR, PROBE, TENSOR, CONFIG)

"""The C library's structs and functions, as captrain.h has them."""

import ctypes
import os
from ctypes import POINTER, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path


class Common(ctypes.Structure):
    _fields_ = [("backend", c_char_p), ("threads", c_int)]


class Option(ctypes.Structure):
    _fields_ = [("key", c_char_p), ("value", c_char_p)]


LOG = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)


class ModelOpts(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("common", Common),
        ("at_once", c_int),
        ("batch", c_int64),
        ("option", POINTER(Option)),
        ("noptions", c_size_t),
        ("log", LOG),
        ("log_user", c_void_p),
    ]


class Description(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("task", c_char_p),
        ("model", c_char_p),
        ("backend", c_char_p),
        ("precision", c_char_p),
        ("size_rule", c_char_p),
        ("height", c_int),
        ("width", c_int),
        ("channels", c_int),
        ("clips", c_bool),
        ("positions", c_int),
        ("symbols", c_size_t),
        ("symbol", POINTER(c_char_p)),
    ]


class Picture(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("data", c_void_p),
        ("bytes", c_size_t),
        ("pixels", c_int),
        ("width", c_int),
        ("height", c_int),
        ("stride", c_size_t),
        ("path", c_char_p),
        ("name", c_char_p),
    ]


class PictureRow(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("picture", POINTER(Picture)), ("pictures", c_size_t), ("name", c_char_p)]


class Symbol(ctypes.Structure):
    _fields_ = [
        ("text", c_char_p),
        ("confidence", c_double),
        ("index", c_int),
        ("first", c_double),
        ("last", c_double),
    ]


class Point(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("x", c_double), ("y", c_double), ("confidence", c_double)]


class Reading(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("status", c_int),
        ("error", c_char_p),
        ("text", c_char_p),
        ("confidence", c_double),
        ("symbols", c_size_t),
        ("symbol", POINTER(POINTER(Symbol))),
        ("points", c_size_t),
        ("point", POINTER(POINTER(Point))),
        ("json", c_char_p),
    ]


class ReadOpts(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("option", POINTER(Option)), ("noptions", c_size_t), ("json", c_bool)]


#: Names of ct_status, for Error.code.
STATUS = (
    "OK",
    "ENOMEM",
    "EINVAL",
    "EIO",
    "EFORMAT",
    "ECONFIG",
    "EDATA",
    "EUNSUPPORTED",
    "EBACKEND",
    "ENUMERIC",
    "ESIGNAL",
    "EINTERNAL",
)
ENOMEM, EINVAL, EDATA = 1, 2, 6
GRAY, RGB, RGBA = 1, 3, 4

_FUNCTIONS = {
    "ct_version": (c_char_p, []),
    "ct_error_message": (c_char_p, []),
    "ct_model_open": (c_int, [c_char_p, POINTER(ModelOpts), POINTER(c_void_p)]),
    "ct_model_close": (None, [c_void_p]),
    "ct_model_describe": (c_int, [c_void_p, POINTER(Description)]),
    "ct_model_read": (c_int, [c_void_p, POINTER(Picture), c_size_t, POINTER(ReadOpts), POINTER(c_void_p)]),
    "ct_model_read_clips": (c_int, [c_void_p, POINTER(PictureRow), c_size_t, POINTER(ReadOpts), POINTER(c_void_p)]),
    "ct_readings_count": (c_size_t, [c_void_p]),
    "ct_readings_at": (POINTER(Reading), [c_void_p, c_size_t]),
    "ct_readings_free": (None, [c_void_p]),
}


def _load() -> ctypes.CDLL:
    # The library of the wheel lies beside this file. A distribution may leave it out and have the system's taken.
    named = os.environ.get("CAPTRAIN_LIBRARY")
    beside = Path(__file__).with_name("libcaptrain.so.1")
    path = named or (str(beside) if beside.exists() else "libcaptrain.so.1")
    try:
        library = ctypes.CDLL(path)
    except OSError as e:
        raise ImportError(
            f"captrain: {path} cannot be loaded: {e}. The library needs OpenBLAS, OpenMP (libgomp), libyaml, jansson, "
            "xxHash, protobuf-c, zlib, libpng, libjpeg, FreeType, utf8proc and, where it was built with them, libwebp and LMDB: "
            "on Debian and Ubuntu `apt-get install libopenblas0 libgomp1 libyaml-0-2 libjansson4 libxxhash0 libprotobuf-c1 "
            "zlib1g libpng16-16 libjpeg62-turbo libfreetype6 libutf8proc2 libwebp7 liblmdb0`"
        ) from e
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name, None)
        if function is None:
            raise ImportError(f"captrain: {path} has no function {name}: it is older than this module")
        function.restype = result
        function.argtypes = arguments
    return library


lib = _load()

"""Reads pictures with models that captrain has trained.

    import captrain

    model = captrain.Model("runs/quickstart")      # or a model file
    print(model.read("picture.png").text)

``read`` takes a path, the bytes of a PNG or JPEG file, a numpy array or a Pillow image. A model may be used from several threads at
once: reading lets go of the interpreter's lock.
"""

import ctypes
import json
import os
import threading
import weakref
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, List, Literal, Mapping, Optional, Sequence, Tuple, Union, overload

from . import _library as c

__all__ = ["Character", "Error", "Info", "Model", "Point", "Reading", "__version__"]

#: Version of the library.
__version__: str = c.lib.ct_version().decode()

#: What ``Model.read`` takes: a path, the bytes of a picture file, a numpy array (uint8, [H,W], [H,W,1], [H,W,3] or [H,W,4]; also any other
#: object with ``__array_interface__``), or a Pillow image.
Image = Any


class Error(Exception):
    """A call failed. Its text names the file, picture, option or tensor and says what to do.

    Attributes:
        code: what kind of failure it is, as the library calls it: "EIO", "EFORMAT", "EINVAL", "EDATA", ...
        index: of a picture in the list given to ``read_many``; None elsewhere.
    """

    def __init__(self, message: str, code: str = "EINTERNAL", index: Optional[int] = None) -> None:
        super().__init__(message)
        self.code = code
        self.index = index


@dataclass(frozen=True)
class Character:
    """A character of a text, or a gloss of a clip.

    ``span``: about where it stands, from column to column of the picture in pixels; None where the model does not tell (those that
    read a fixed number of positions, and clips).
    """

    text: str
    confidence: float
    span: Optional[Tuple[float, float]] = None


@dataclass(frozen=True)
class Point:
    """A place in a picture, in its pixels: "gap" or "slider" of a slider puzzle."""

    name: str
    x: float
    y: float
    confidence: float


@dataclass(frozen=True)
class Reading:
    """What was read of one picture or clip.

    ``text`` is "" and ``characters`` is empty where the task reads none; sliders have ``points`` instead. ``confidence`` is 0..1: of
    texts the product over the characters, of points the least. ``details`` is what ``captrain predict --json`` says (with
    ``details=True``), else empty.
    """

    text: str
    confidence: float
    characters: Tuple[Character, ...] = ()
    points: Tuple[Point, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """The text; where there is none the points: "gap 151.4 60.2, slider 33.5 60.2"."""
        return self.text or ", ".join(f"{p.name} {p.x:.1f} {p.y:.1f}" for p in self.points)


@dataclass(frozen=True)
class Info:
    """What a model is. Sizes are pixels; ``positions`` 0: readings of any length; ``symbols``: all that it can read, in class order."""

    task: str
    model: str
    backend: str
    precision: str
    size_rule: str
    height: int
    width: int
    channels: int
    clips: bool
    positions: int
    symbols: Tuple[str, ...]

    @property
    def charset(self) -> str:
        """The symbols in a row."""
        return "".join(self.symbols)


def _failure(status: int, index: Optional[int] = None, message: Optional[str] = None) -> Exception:
    text = message if message is not None else c.lib.ct_error_message().decode("utf-8", "replace")
    if status == c.ENOMEM:
        return MemoryError(text)
    code = c.STATUS[status] if 0 <= status < len(c.STATUS) else str(status)
    return Error(text, code, index)


def _options(options: Mapping[str, Any], keep: List[Any]) -> Tuple[Any, int]:
    """A list of ct_option; booleans are true and false, as on the command line."""
    if not options:
        return None, 0
    pairs = []
    for key, value in options.items():
        word = ("true" if value else "false") if isinstance(value, bool) else str(value)
        pairs.append(c.Option(key.encode(), word.encode()))
    array = (c.Option * len(pairs))(*pairs)
    keep.append(array)
    return array, len(pairs)


def _put_bytes(p: c.Picture, data: Any, keep: List[Any]) -> None:
    """Borrows the bytes of an object: of `bytes` without a copy."""
    if not isinstance(data, bytes):
        data = bytes(data)
    keep.append(data)
    p.data = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p)
    p.bytes = len(data)


def _put_array(p: c.Picture, image: Any, keep: List[Any]) -> None:
    """Points into an array where its pixels lie as the library reads them; others are copied by numpy, which they come from."""
    view = image.__array_interface__
    shape, strides = tuple(view["shape"]), view.get("strides")
    if view["typestr"] not in ("|u1", "<u1", ">u1"):
        raise Error(f"an array of type {view['typestr']}: pixels are uint8, 0 to 255", "EINVAL")
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] not in (1, 3, 4)):
        raise Error(f"an array of shape {shape}: pictures are [H,W], [H,W,1], [H,W,3] (RGB) or [H,W,4] (RGBA)", "EINVAL")
    if 0 in shape:
        raise Error(f"an array of shape {shape} has no pixels", "EINVAL")
    channels = shape[2] if len(shape) == 3 else 1
    row = shape[1] * channels
    data = view.get("data")
    plain = strides is None or (
        (len(shape) == 2 or strides[2] == 1) and strides[1] == channels and strides[0] >= row
    )
    if not plain or data is None:
        import numpy

        image = numpy.ascontiguousarray(image)
        return _put_array(p, image, keep)
    keep.append(image)
    p.data = data[0]
    p.width, p.height, p.pixels = shape[1], shape[0], channels
    p.stride = strides[0] if strides is not None else row
    p.bytes = (shape[0] - 1) * p.stride + row


def _put_pillow(p: c.Picture, image: Any, keep: List[Any]) -> None:
    if image.mode not in ("L", "RGB", "RGBA"):
        with_alpha = image.mode in ("LA", "PA", "La", "RGBa") or "transparency" in image.info
        image = image.convert("RGBA" if with_alpha else "L" if image.mode == "1" else "RGB")
    elif "transparency" in image.info:
        image = image.convert("RGBA")
    _put_bytes(p, image.tobytes(), keep)
    p.width, p.height = image.size
    p.pixels = {"L": c.GRAY, "RGB": c.RGB, "RGBA": c.RGBA}[image.mode]


def _put(p: c.Picture, image: Image, keep: List[Any]) -> None:
    """Fills in a ct_picture; what it points to goes into keep."""
    p.size = ctypes.sizeof(p)
    if isinstance(image, (str, os.PathLike)):
        path = os.fsencode(image)
        keep.append(path)
        p.path = path
    elif isinstance(image, (bytes, bytearray, memoryview)):
        _put_bytes(p, image, keep)
    elif hasattr(image, "tobytes") and hasattr(image, "mode") and hasattr(image, "convert"):
        _put_pillow(p, image, keep)
    elif hasattr(image, "__array_interface__"):
        _put_array(p, image, keep)
    else:
        raise Error(
            f"a {type(image).__name__} is no picture: give a path, the bytes of a picture file, a numpy array or a Pillow image",
            "EINVAL",
        )


def _span(s: c.Symbol) -> Optional[Tuple[float, float]]:
    return (s.first, s.last) if s.first == s.first else None  # NaN: not known


def _reading(r: c.Reading) -> Reading:
    symbols = [r.symbol[i].contents for i in range(r.symbols)]
    points = [r.point[i].contents for i in range(r.points)]
    return Reading(
        r.text.decode(),
        r.confidence,
        tuple(Character(s.text.decode(), s.confidence, _span(s)) for s in symbols),
        tuple(Point(p.name.decode(), p.x, p.y, p.confidence) for p in points),
        json.loads(r.json.decode()) if r.json else {},
    )


def _close(handle: Optional[int]) -> None:
    c.lib.ct_model_close(handle)


class Model:
    """A trained model, kept open.

    Args:
        path: a model file, or a run's folder: its best one.
        threads: that one read computes with.
        at_once: reads that compute at the same time, others wait; each takes a copy of the weights. 0: one for each core.
        backend: "auto", "cpu", "cuda".
        batch: pictures that ``read_many`` computes together, at most.
        log: called with (level, line) for what would be worth a line in a log: 0 error, 1 warning, 2 information, 3 debug.
        options: those of ``captrain predict`` for the model's task, such as ``decoder="beam", beam_width=20``.

    Raises:
        Error: the file cannot be read, is no model, or an option is none of its.
    """

    def __init__(
        self,
        path: Union[str, "os.PathLike[str]"],
        *,
        threads: int = 1,
        at_once: int = 0,
        backend: str = "auto",
        batch: int = 0,
        log: Optional[Callable[[int, str], None]] = None,
        **options: Any,
    ) -> None:
        self._lock = threading.Condition()
        self._reads = 0
        self._handle: Optional[int] = None
        keep: List[Any] = []
        o = c.ModelOpts()
        o.size = ctypes.sizeof(o)
        o.common.backend = backend.encode()
        o.common.threads, o.at_once, o.batch = threads, at_once, batch
        o.option, o.noptions = _options(options, keep)
        self._log = c.LOG(lambda _, level, line: log(level, line.decode("utf-8", "replace"))) if log else c.LOG()
        o.log = self._log
        handle = ctypes.c_void_p()
        status = c.lib.ct_model_open(os.fsencode(path), ctypes.byref(o), ctypes.byref(handle))
        if status != 0:
            raise _failure(status)
        self._handle = handle.value
        # Also when nobody closes it; the log function must live as long.
        self._finalizer = weakref.finalize(self, lambda h, _: _close(h), handle.value, self._log)
        self.info: Info = self._describe()

    def _describe(self) -> Info:
        d = c.Description()
        d.size = ctypes.sizeof(d)
        status = c.lib.ct_model_describe(self._handle, ctypes.byref(d))
        if status != 0:
            raise _failure(status)
        return Info(
            task=d.task.decode(),
            model=d.model.decode(),
            backend=d.backend.decode(),
            precision=d.precision.decode(),
            size_rule=d.size_rule.decode(),
            height=d.height,
            width=d.width,
            channels=d.channels,
            clips=d.clips,
            positions=d.positions,
            symbols=tuple(d.symbol[i].decode() for i in range(d.symbols)),
        )

    def read(self, image: Image, *, details: bool = False, **options: Any) -> Reading:
        """Reads one picture, or for a model of clips one clip: a list of pictures of one size.

        Args:
            image: a path, the bytes of a PNG or JPEG file, a numpy array (uint8 gray, RGB or RGBA) or a Pillow image.
            details: also all that ``captrain predict --json`` tells, in ``Reading.details``.
            options: over those of the model.

        Raises:
            Error: the picture cannot be read.
        """
        found: Union[Reading, Exception] = self._run([image], details, options)[0]
        if isinstance(found, Exception):
            raise found
        return found

    @overload
    def read_many(
        self, images: Iterable[Image], *, errors: Literal["raise"] = "raise", details: bool = False, **options: Any
    ) -> List[Reading]: ...

    @overload
    def read_many(
        self, images: Iterable[Image], *, errors: Literal["return"], details: bool = False, **options: Any
    ) -> List[Union[Reading, Error]]: ...

    def read_many(
        self, images: Iterable[Image], *, errors: str = "raise", details: bool = False, **options: Any
    ) -> Union[List[Reading], List[Union[Reading, Error]]]:
        """Reads several pictures, many of them at a time, which is faster than one by one.

        Args:
            images: what ``read`` takes, of any sizes and kinds.
            errors: "raise": the first picture that cannot be read is an exception, with its ``index``; "return": its Error stands in
                its place of the list.
        """
        if errors not in ("raise", "return"):
            raise ValueError('errors is "raise" or "return"')
        found = self._run(list(images), details, options)
        for f in found:
            if isinstance(f, Exception) and errors == "raise":
                raise f
        return found

    def _fill(self, images: Sequence[Image], keep: List[Any]) -> Any:
        """A list of ct_picture, or of clips ct_picture_row."""
        if not self.info.clips:
            pictures = (c.Picture * len(images))()
            for p, image in zip(pictures, images):
                _put(p, image, keep)
            return pictures
        rows = (c.PictureRow * len(images))()
        for row, clip in zip(rows, images):
            if isinstance(clip, (str, bytes, os.PathLike)):
                raise Error(f"{self.info.model} reads clips: give a list of pictures", "EINVAL")
            frames = list(clip)
            pictures = (c.Picture * len(frames))()
            for p, image in zip(pictures, frames):
                _put(p, image, keep)
            keep.append(pictures)
            row.size, row.picture, row.pictures = ctypes.sizeof(row), pictures, len(frames)
        return rows

    def _run(self, images: Sequence[Image], details: bool, options: Mapping[str, Any]) -> List[Any]:
        if not images:
            return []
        keep: List[Any] = []
        o = c.ReadOpts()
        o.size, o.json = ctypes.sizeof(o), details
        o.option, o.noptions = _options(options, keep)
        given = self._fill(images, keep)
        readings = ctypes.c_void_p()
        call = c.lib.ct_model_read_clips if self.info.clips else c.lib.ct_model_read
        with self._lock:
            if self._handle is None:
                raise Error("the model is closed", "EINVAL")
            self._reads += 1
        try:
            status = call(self._handle, given, len(images), ctypes.byref(o), ctypes.byref(readings))
            if status not in (0, c.EDATA) or not readings:
                raise _failure(status)
            return [self._result(readings, i) for i in range(c.lib.ct_readings_count(readings))]
        finally:
            c.lib.ct_readings_free(readings)
            with self._lock:
                self._reads -= 1
                self._lock.notify_all()

    @staticmethod
    def _result(readings: ctypes.c_void_p, i: int) -> Union[Reading, Exception]:
        r = c.lib.ct_readings_at(readings, i).contents
        return _reading(r) if r.status == 0 else _failure(r.status, i, r.error.decode("utf-8", "replace"))

    def close(self) -> None:
        """Gives the memory back, once the reads that go on in other threads have ended. Closing twice is fine."""
        with self._lock:
            self._handle = None  # nobody begins any more
            while self._reads > 0:
                self._lock.wait()
        self._finalizer()

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        i = self.info
        return f"<captrain.Model {i.model}: {i.task}, {i.width}x{i.height}x{i.channels}, {len(i.symbols)} symbols>"

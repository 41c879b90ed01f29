# The Python module: ctypes over the shared library, which its wheel holds. `make wheel` needs Python with setuptools and wheel, and
# no network; the result lies in python/dist.
EXTRA_DIST += python/README.md python/pyproject.toml python/setup.py \
	python/captrain/__init__.py python/captrain/_library.py python/captrain/py.typed

# Built in a copy: the source tree may not be writable. Plug-ins lie beside the library as they do where it is installed.
.PHONY: wheel
wheel: libcaptrain.la
	rm -rf python/build
	$(MKDIR_P) python/build/captrain python/dist
	cd $(srcdir)/python && cp README.md pyproject.toml setup.py $(abs_builddir)/python/build/
	cd $(srcdir)/python/captrain && cp __init__.py _library.py py.typed $(abs_builddir)/python/build/captrain/
	cp .libs/libcaptrain.so.1 python/build/captrain/
	$(STRIP) --strip-unneeded python/build/captrain/libcaptrain.so.1
	for p in .libs/captrain-*.so; do test ! -e $$p || { $(MKDIR_P) python/build/captrain/captrain && cp $$p python/build/captrain/captrain/; }; done
	cd python/build && CAPTRAIN_VERSION=$(PACKAGE_VERSION) $(PYTHON3) -m pip --disable-pip-version-check wheel --quiet --no-build-isolation \
		--no-deps --no-index --wheel-dir $(abs_builddir)/python/dist .
	rm -rf python/build
	@ls python/dist/captrain-$(PACKAGE_VERSION)-*.whl

PYTHON3 = python3

dist_check_SCRIPTS += tests/sh/python.sh
EXTRA_DIST += tests/python/module.py

python-clean:
	rm -rf python/build python/dist

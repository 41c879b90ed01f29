"""The wheel holds a shared library, so it is for one platform; which Python it is does not matter: ctypes."""

import os

from setuptools import setup
from setuptools.dist import Distribution

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel


class PlatformWheel(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class BinaryDistribution(Distribution):
    def has_ext_modules(self):
        return True


setup(
    version=os.environ.get("CAPTRAIN_VERSION", "0"),  # `make wheel` says it
    distclass=BinaryDistribution,
    cmdclass={"bdist_wheel": PlatformWheel},
)

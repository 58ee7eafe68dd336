"""Published weights in and out: one declarative map per model, strict both ways."""

from .folder import load, save
from .layouts import LAYOUTS, Layout, layout_of

__all__ = ["LAYOUTS", "Layout", "layout_of", "load", "save"]

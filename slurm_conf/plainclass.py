# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""dataclass() and field(), as far as the reports use them, also for Python 3.6."""

try:
    from dataclasses import dataclass, field
except ImportError:
    class field:    # pylint: disable=C0103,R0903
        """A member with a default of each instance's own."""

        def __init__(self, default_factory):
            self.default_factory = default_factory

    def dataclass(cls):
        """CLS with an __init__() that takes its annotated members, and equality by these."""
        names = list(cls.__annotations__)

        def __init__(self, *values, **named):
            named.update(zip(names, values))
            for name in names:
                default = cls.__dict__.get(name)
                if name not in named and name not in cls.__dict__:
                    raise TypeError("%s: no %s" % (cls.__name__, name))
                setattr(self, name, named.pop(name) if name in named else
                        default.default_factory() if isinstance(default, field) else default)
            if named or len(values) > len(names):
                raise TypeError("%s: unknown %s" % (cls.__name__, sorted(named)))

        cls.__init__ = __init__
        cls.__eq__ = lambda self, other: type(self) is type(other) and vars(self) == vars(other)
        cls.__hash__ = None
        cls.__repr__ = lambda self: "%s(%s)" % (cls.__name__, vars(self))
        return cls

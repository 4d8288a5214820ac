"""A name that tries to be code wherever it is shown."""

HOSTILE = '<img src=x onerror=alert(1)>"$x$[a](http://evil.example)'

"""``LoviaInstrumentor``: one line, or none, and an unchanged program is traced.

    LoviaInstrumentor().instrument()

or ``opentelemetry-instrument python app.py``, which finds it by its entry point. lovia from 1.0 on
records itself, so there is nothing to do; the 0.9 line is instrumented from outside, without a
change in what it does. Importing this module needs the extra ``lovia-otel[auto]``.
"""

from __future__ import annotations

import logging
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.instrumentation.instrumentor import (  # type: ignore[attr-defined]
    BaseInstrumentor,
)

from lovia_otel.prices.current import replace_prices, restore_prices, source_of
from lovia_otel.providers import Providers, restore_providers, set_providers

if TYPE_CHECKING:
    from collections.abc import Collection

    from lovia_otel.foreign.lovia09.patches import Patches
    from lovia_otel.prices.current import CurrentPrices

_PACKAGE: Final = "lovia"
_DEPENDENCIES: Final = ("lovia >= 0.9.0.dev0",)  # .dev0, so that releases to come count as well

_log = logging.getLogger("lovia_otel")


class LoviaInstrumentor(BaseInstrumentor):  # type: ignore[misc]  # its package is not typed
    """Instruments whichever lovia is installed; one for the process."""

    _patches: Patches | None = None
    _providers: Providers | None = None
    _previous: Providers | None = None
    _prices: tuple[CurrentPrices | None, CurrentPrices | None] | None = None  # mine, those before

    def instrumentation_dependencies(self) -> Collection[str]:
        """Return what has to be installed for this to have a point."""
        return _DEPENDENCIES

    def _instrument(self, **kwargs: Any) -> None:
        """Begin; ``tracer_provider`` and its kin are used instead of the process-wide ones.

        ``prices`` are those of :func:`~lovia_otel.set_prices`.
        """
        if kwargs.get("prices") is not None:
            self._prices = replace_prices(source_of(kwargs["prices"]))
        given = {key: kwargs.get(key) for key in Providers.__dataclass_fields__}
        if any(given.values()):
            self._providers = Providers(**given)
            self._previous = set_providers(self._providers)
        if not _records_itself():
            from lovia_otel.foreign.lovia09.install import install

            self._patches = install()

    def _uninstrument(self, **kwargs: Any) -> None:
        """End, and leave every class as it was found."""
        if self._patches is not None:
            self._patches.undo()
            self._patches = None
        if self._providers is not None and self._previous is not None:
            restore_providers(self._providers, self._previous)
            self._providers = self._previous = None
        if self._prices is not None:
            restore_prices(*self._prices)
            self._prices = None


def _records_itself() -> bool:
    """Is what is installed a lovia that opens scopes itself, or none at all?"""
    try:
        major = int(version(_PACKAGE).partition(".")[0])
    except (PackageNotFoundError, ValueError):
        _log.debug("no version of lovia is known here: nothing is instrumented")
        return True
    return major >= 1
